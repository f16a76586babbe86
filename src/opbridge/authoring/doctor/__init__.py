"""The diagnosis of a library or a machine by reading: nothing that is examined is loaded or run."""

from __future__ import annotations

from opbridge.authoring.doctor.library import examine
from opbridge.authoring.doctor.report import EntryPoint, LibraryReport, Problem

__all__ = ["EntryPoint", "LibraryReport", "Problem", "examine"]
