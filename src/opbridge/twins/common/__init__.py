"""What the twins of several devices share."""

from __future__ import annotations

from pathlib import Path

__all__ = ["RUNTIME"]

RUNTIME = Path(__file__).parent / "runtime"
"""Sources that are part of each twin's library."""
