"""Find the line of a network that a graph node comes from."""

from __future__ import annotations

from pathlib import Path

import torch

_TORCH = f'"{Path(torch.__file__).parent}'


def user_line(node: torch.fx.Node) -> str:
    """Return the innermost line that PyTorch recorded for a node; a line of torch only if there is no other."""
    lines = [line.strip() for line in (node.meta.get("stack_trace") or "").splitlines()]
    files = [line for line in reversed(lines) if line.startswith("File ") and not line.startswith('File "<')]
    return next((line for line in files if _TORCH not in line), files[0] if files else "")
