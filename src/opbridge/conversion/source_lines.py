"""Where a network does what a graph of PyTorch's says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

_TORCH = f'"{Path(torch.__file__).parent}'


def user_line(node: Any) -> str:
    """The innermost line that PyTorch remembers of a node: of its own modules only where there is no other."""
    lines = [line.strip() for line in (node.meta.get("stack_trace") or "").splitlines()]
    files = [line for line in reversed(lines) if line.startswith("File ") and not line.startswith('File "<')]
    return next((line for line in files if _TORCH not in line), files[0] if files else "")
