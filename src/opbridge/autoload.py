"""What `import torch` calls in programs that `opbridge twin run` started, as its way to bring others' devices."""

from __future__ import annotations

import sys


def cuda() -> None:
    """The twin's `cuda`, unless PyTorch has one."""
    # What calls this, and is not imported to its end.
    torch = sys.modules["torch"]
    if torch._C._has_cuda or torch.version.hip:
        if not torch.cuda.is_available():
            print(
                "opbridge: this PyTorch is built for GPUs; the CUDA twin stands in for them in its build for the CPU",
                file=sys.stderr,
            )
        return
    import opbridge.cuda_twin  # noqa: F401 - registers the device
