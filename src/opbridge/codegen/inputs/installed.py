"""The declarations that the installed PyTorch was generated from; it brings them for generators such as this one."""

from __future__ import annotations

import importlib.util
from pathlib import Path


def installed_functions() -> Path | None:
    """Its list of operators."""
    return _packaged("ATen", "native", "native_functions.yaml")


def installed_derivatives() -> Path | None:
    return _packaged("autograd", "derivatives.yaml")


def _packaged(*parts: str) -> Path | None:
    spec = importlib.util.find_spec("torchgen")
    if spec is None or spec.origin is None:
        return None
    path = Path(spec.origin).parent.joinpath("packaged", *parts)
    return path if path.is_file() else None
