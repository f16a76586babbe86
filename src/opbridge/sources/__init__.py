"""Where kernels come from: source files that are built, and libraries that somebody already built."""

from __future__ import annotations

from opbridge.sources.store import KernelStore

__all__ = ["KernelStore"]
