"""A stand-in for nvcc: its command line, with the host's compiler and the CUDA twin behind it.

`words` reads the command line by the table in `options`, `steps` does what it asks for, `toolkit` writes the folder
that build systems take for an installed CUDA.
"""

from __future__ import annotations

from opbridge.toolchains.twin_nvcc.steps import run
from opbridge.toolchains.twin_nvcc.toolkit import RELEASE, write

__all__ = ["RELEASE", "run", "write"]
