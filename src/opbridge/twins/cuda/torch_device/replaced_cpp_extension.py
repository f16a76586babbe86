"""The replacement of torch.utils.cpp_extension by opbridge functions and classes, which compile for the twin."""

from __future__ import annotations

import importlib

from opbridge.authoring.compat.cpp_extension import THEIRS
from opbridge.authoring.compat.replaced_cpp_extension import take_over
from opbridge.frameworks.import_hooks import when_imported


def install() -> None:
    """Replace torch.utils.cpp_extension now or when it is imported."""
    take_over()
    when_imported(THEIRS, _name_a_toolkit)


def _name_a_toolkit() -> None:
    """Set CUDA_HOME if it is None, because programs check for a compiler before they build."""
    module = importlib.import_module(THEIRS)
    if module.CUDA_HOME is None:
        from opbridge.build.cache import Cache
        from opbridge.twins.cuda import nvcc as twin_nvcc

        module.CUDA_HOME = str(twin_nvcc.write(Cache().root / "cuda"))  # type: ignore[attr-defined]
