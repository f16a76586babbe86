"""The origins of kernels: source files that opbridge builds, and libraries that are already built."""

from __future__ import annotations

from opbridge.build.sources.store import KernelStore

__all__ = ["KernelStore"]
