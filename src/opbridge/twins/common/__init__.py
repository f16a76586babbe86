"""Code that the twins of all devices share."""

from __future__ import annotations

from pathlib import Path

__all__ = ["RUNTIME"]

RUNTIME = Path(__file__).parent / "runtime"
"""The folder of sources that are compiled into the library of each twin."""
