"""Show the results of checks and benchmarks of a library as one HTML file: `opbridge report`."""

from __future__ import annotations

from opbridge.analysis.report.contents import Contents, ReportedKernel, ReportedOperator, operators_of
from opbridge.analysis.report.document import MOST_BYTES
from opbridge.analysis.report.page import page

__all__ = ["MOST_BYTES", "Contents", "ReportedKernel", "ReportedOperator", "operators_of", "page"]
