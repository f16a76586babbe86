"""Modules by the names that they had before they moved into wings: what programs and pickles say keeps working.

Both names are of one module object.  It is imported when either is first asked for.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType

_WINGS = {
    "base": "errors excerpts floating_point names progress tracebacks",
    "waist": "formulas functions manifest op rules schema",
    "build": "cache cxx sources toolchains",
    "models": "conversion scan",
    "authoring": "compat doctor extensions loading wheel",
    "verify": "check",
    "analysis": "bench port report",
    "cli": "autoload notebook",
}
MOVED = {name: f"{wing}.{name}" for wing, names in _WINGS.items() for name in names.split()} | {
    "costs": "analysis.profile",
    "cuda_twin": "twins.cuda.torch_device",
    "judging": "analysis.judge",
    "judging.batch": "analysis.judge.many.batch",
    "judging.model": "analysis.judge.judgement",
    "judging.running": "analysis.judge.many.runners",
    "judging.service": "analysis.judge.many.service",
    "judging.submissions": "analysis.judge.answer.submissions",
    "npu": "twins.ascend.torch_device",
    "openings": "base.safe_open",
}
"""Former and present names after `opbridge.`; modules inside of these have moved along."""


class _Finder:
    """A finder before Python's own ones, which would import a module of a moved package a second time."""

    @staticmethod
    def find_spec(name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        package, _, rest = name.partition(".")
        former, inner = rest, ""
        while former and former not in MOVED:
            former, _, last = former.rpartition(".")
            inner = f".{last}{inner}"
        if package != "opbridge" or not former:
            return None
        loader = _Loader(f"opbridge.{MOVED[former]}{inner}")
        return ModuleSpec(name, loader)  # type: ignore[arg-type]  # no subclass: importlib.abc is not imported for it


class _Loader:
    def __init__(self, home: str) -> None:
        self._home = home

    def create_module(self, spec: ModuleSpec) -> None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        """Put the module itself in place of the empty one that Python has made for its former name."""
        sys.modules[module.__name__] = import_module(self._home)


def install() -> None:
    sys.meta_path.insert(0, _Finder)
