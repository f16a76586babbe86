"""What `import torch` calls in programs that `opbridge twin run` started, as its way to bring others' devices."""

from __future__ import annotations

import sys

from opbridge.errors import UnsupportedError


def cuda() -> None:
    """The twin's `cuda`, unless PyTorch has one."""
    # What calls this, and is not imported to its end.
    torch = sys.modules["torch"]
    if torch.cuda.is_available():
        return
    try:
        import opbridge.cuda_twin  # noqa: F401 - registers the device
    except UnsupportedError as error:
        print(f"opbridge: {error}", file=sys.stderr)
