"""What `import torch` calls in programs that `opbridge twin run` started, as its way to bring others' devices."""

from __future__ import annotations

import sys

BUILT_FOR_GPUS = """this PyTorch is built for GPUs, whose kernels for them would stand in the simulated cuda's way
  use its build for the CPU: pip install torch --index-url https://download.pytorch.org/whl/cpu"""


def cuda() -> None:
    """The twin's `cuda`, unless PyTorch has one."""
    # What calls this, and is not imported to its end.
    torch = sys.modules["torch"]
    if torch._C._has_cuda or torch.version.hip:
        if not torch.cuda.is_available():
            print(f"opbridge: {BUILT_FOR_GPUS}", file=sys.stderr)
        return
    import opbridge.cuda_twin  # noqa: F401 - registers the device
