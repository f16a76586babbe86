"""What all answers share, built before the first of them: the device and the headers."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from opbridge.errors import ToolchainError

_WARM = """
import opbridge.cuda_twin
from torch.utils.cpp_extension import load_inline
load_inline(
    name="opbridge_warm",
    cpp_sources="torch::Tensor warm(torch::Tensor x);",
    cuda_sources="__global__ void k() {}\\ntorch::Tensor warm(torch::Tensor x) { k<<<1, 1>>>(); return x; }",
    functions=["warm"],
)
"""


@contextmanager
def warming() -> Iterator[None]:
    """Beside the caller's work; builds nothing where everything is in the cache."""
    command = [sys.executable, "-c", _WARM]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
        yield
        _, said = process.communicate()
    if process.returncode:
        raise ToolchainError(f"the CUDA twin cannot be built for PyTorch:\n{said.decode(errors='replace')[-2000:]}")
