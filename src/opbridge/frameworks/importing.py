"""Runs something once a module is imported, for what must not be imported only to be told of operators."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType


def when_imported(name: str, then: Callable[[], None]) -> None:
    """Calls `then` now where the module is there, else behind its import."""
    if name in sys.modules:
        then()
        return
    waiting = next((finder for finder in sys.meta_path if isinstance(finder, _Waiting) and finder.name == name), None)
    if waiting is None:
        waiting = _Waiting(name)
        sys.meta_path.insert(0, waiting)
    waiting.then.append(then)


class _Waiting(MetaPathFinder):
    """Finds one module the way the others do, and notices that it has been imported."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.then: list[Callable[[], None]] = []

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != self.name:
            return None
        sys.meta_path.remove(self)
        spec = find_spec(fullname)
        if spec is None or spec.loader is None:
            return spec
        run = spec.loader.exec_module

        def run_and_tell(module: ModuleType) -> None:
            run(module)
            for then in self.then:
                then()

        spec.loader.exec_module = run_and_tell  # type: ignore[method-assign]
        return spec
