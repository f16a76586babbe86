"""The entry point that `import torch` calls, for device backends, in programs started by `opbridge twin run`."""

from __future__ import annotations

import sys

from opbridge.base.errors import UnsupportedError


def cuda() -> None:
    """Register the `cuda` of the twin, unless PyTorch has its own."""
    # PyTorch calls this during its own import, so it is not fully imported yet.
    torch = sys.modules["torch"]
    if torch.cuda.is_available():
        return
    try:
        import opbridge.twins.cuda.torch_device  # noqa: F401 - registers the device
    except UnsupportedError as error:
        print(f"opbridge: {error}", file=sys.stderr)
