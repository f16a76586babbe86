"""torch.utils.cpp_extension, whose functions and classes become opbridge's: they compile for the twin."""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import sys
from collections.abc import Sequence
from types import ModuleType

from opbridge.compat import cpp_extension

_NAME = "torch.utils.cpp_extension"


def install() -> None:
    """Now where it is imported, and as soon as it is where not: it takes long, and most programs do without."""
    if _NAME in sys.modules:
        _replace(sys.modules[_NAME])
    else:
        sys.meta_path.insert(0, _WhenImported())


def _replace(module: ModuleType) -> None:
    for name in cpp_extension.__all__:
        setattr(module, name, getattr(cpp_extension, name))
    # Programs look whether there is a compiler.
    module.CUDA_HOME = module.CUDA_HOME or _home()  # type: ignore[attr-defined]


def _home() -> str:
    from opbridge.cache import Cache
    from opbridge.toolchains import twin_nvcc

    return str(twin_nvcc.write(Cache().root / "cuda"))


class _WhenImported(importlib.abc.MetaPathFinder):
    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if name != _NAME:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader)
        return spec


class _Loader(importlib.abc.Loader):
    def __init__(self, plain: importlib.abc.Loader) -> None:
        self._plain = plain

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        return self._plain.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        self._plain.exec_module(module)
        _replace(module)
