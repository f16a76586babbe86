"""A replacement for nvcc: the same command line, implemented with the host compiler and the CUDA twin.

`words` parses the command line with the table in `options`, and `steps` executes it. `toolkit` writes the
folder that build systems accept as an installed CUDA.
"""

from __future__ import annotations

from opbridge.twins.cuda.nvcc.command_steps import run
from opbridge.twins.cuda.nvcc.toolkit import RELEASE, write

__all__ = ["RELEASE", "run", "write"]
