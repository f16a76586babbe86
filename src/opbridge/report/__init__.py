"""`opbridge report`: what checks and benchmarks found of a library, as one HTML file for people."""

from __future__ import annotations

from opbridge.report.document import MOST_BYTES
from opbridge.report.model import Contents, ReportedKernel, ReportedOperator, operators_of
from opbridge.report.page import page

__all__ = ["MOST_BYTES", "Contents", "ReportedKernel", "ReportedOperator", "operators_of", "page"]
