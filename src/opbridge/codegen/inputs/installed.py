"""Find the declarations that the installed PyTorch was generated from; it includes them for generators such as this."""

from __future__ import annotations

import importlib.util
from pathlib import Path


def installed_functions() -> Path | None:
    """Return the path of PyTorch's list of operators, or None."""
    return _packaged("ATen", "native", "native_functions.yaml")


def installed_derivatives() -> Path | None:
    """Return the path of PyTorch's list of derivatives, or None."""
    return _packaged("autograd", "derivatives.yaml")


def _packaged(*parts: str) -> Path | None:
    spec = importlib.util.find_spec("torchgen")
    if spec is None or spec.origin is None:
        return None
    path = Path(spec.origin).parent.joinpath("packaged", *parts)
    return path if path.is_file() else None
