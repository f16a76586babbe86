"""Acts once another package has been imported, without importing it oneself."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

_finders: dict[str, _AfterImport] = {}


def run_after_import(module: str, action: Callable[[], None]) -> None:
    """For a module that is not imported yet."""
    if module not in _finders:
        _finders[module] = _AfterImport(module)
        sys.meta_path.insert(0, _finders[module])
    _finders[module].actions.append(action)


class _AfterImport(MetaPathFinder):
    """Stands before the other finders for good, as a module may be looked for without being imported."""

    def __init__(self, module: str) -> None:
        self._module = module
        self.actions: list[Callable[[], None]] = []

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        if name != self._module:
            return None
        others = [finder for finder in sys.meta_path if finder is not self]
        found = (finder.find_spec(name, path, target) for finder in others)
        spec = next((spec for spec in found if spec is not None), None)
        if spec is not None and spec.loader is not None:
            execute = spec.loader.exec_module

            def execute_then_act(module: ModuleType) -> None:
                execute(module)
                while self.actions:
                    self.actions.pop(0)()

            spec.loader.exec_module = execute_then_act  # type: ignore[method-assign]
        return spec
