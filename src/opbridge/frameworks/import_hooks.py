"""Run something after a module is imported, for modules that must not be imported just to register operators."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType


def when_imported(name: str, then: Callable[[], None]) -> None:
    """Call `then` now if the module is imported, otherwise right after its import."""
    if name in sys.modules:
        then()
        return
    waiting = next((finder for finder in sys.meta_path if isinstance(finder, _Waiting) and finder.name == name), None)
    if waiting is None:
        waiting = _Waiting(name)
        sys.meta_path.insert(0, waiting)
    waiting.actions.append(then)


class _Waiting(MetaPathFinder):
    """A finder before all others until the module is imported; merely looking for the module does not count."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.actions: list[Callable[[], None]] = []

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        if name != self.name:
            return None
        others = [finder for finder in sys.meta_path if finder is not self]
        found = (finder.find_spec(name, path, target) for finder in others)
        spec = next((spec for spec in found if spec is not None), None)
        if spec is not None and spec.loader is not None:
            execute = spec.loader.exec_module

            def execute_then_act(module: ModuleType) -> None:
                execute(module)
                self._act()

            spec.loader.exec_module = execute_then_act  # type: ignore[method-assign]
        return spec

    def _act(self) -> None:
        # Replace the list: another thread may be iterating over it.
        sys.meta_path = [finder for finder in sys.meta_path if finder is not self]
        while self.actions:
            self.actions.pop(0)()
