"""Detect what an answer does besides computing: replacing functions, opening files, inspecting frames.

An answer that knows about these checks can evade them, because they run in its own process; other processes compare
its outputs. These checks name what would work if an answer and its judge shared a process.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

from opbridge.analysis.judge.answer.native_imports import check_imports
from opbridge.analysis.judge.judgement import TO_COMPUTE, Reason

_GUARDED = (
    *("builtins", "time", "random", "math", "os", "inspect", "sys", "gc", "json", "pickle"),
    *("numpy", "numpy.testing", "torch", "torch.Tensor", "torch.nn.functional", "torch.cuda", "torch.cuda.Event"),
    *(
        "torch.testing",
        "torch.autograd",
        "torch.random",
        "torch.backends",
        "torch.utils.cpp_extension",
        "torch.nn.Module",
    ),
)
_OWN = ("opbridge.analysis.judge", "opbridge.verify.check")
_OPBRIDGE = str(Path(__file__).parents[3])
_EVENTS = {
    "open": "file",
    "os.listdir": "file",
    "os.scandir": "file",
    "socket.connect": "network",
    "socket.getaddrinfo": "network",
    "subprocess.Popen": "process",
    "os.system": "process",
    "os.fork": "process",
    "os.exec": "process",
    "os.posix_spawn": "process",
    "os.kill": "process",
    "ctypes.dlopen": "memory of others",
    "sys.settrace": "call stack",
    "sys.setprofile": "call stack",
}

_LOADING = {"import": 1, "ctypes.dlopen": 0}
"""The events before a native library is loaded, and which argument is its path."""
_SYSTEM = ("/usr", "/lib", "/lib32", "/lib64", "/libx32")
"""The folders of the system, which no answer can write to."""


class Watch:
    """Observe an answer in its folder, from before it is loaded; `findings` returns what it did."""

    def __init__(self, folder: str, allowed: tuple[str, ...], may_find_by_name: bool = False) -> None:
        """Begin; C++ of the answer may find functions by name if its device keeps no records in its process."""
        self._folder = os.path.join(folder, "")
        self._allowed = (folder, *allowed)
        self._may_find_by_name = may_find_by_name
        self._installed = tuple(f"{place}{os.sep}" for place in (sys.prefix, sys.base_prefix, _OPBRIDGE, *_SYSTEM))
        self._before = dict(_functions())
        self._seen: dict[str, Reason] = {}
        sys.addaudithook(self._heard)

    def findings(self) -> list[Reason]:
        """Return what the answer did so far besides computing."""
        replaced = [
            Reason("monkeypatching", f"it replaces {name}", "leave the functions of others as they are")
            for name, function in _functions()
            if name in self._before and self._before[name] != function and not self._is_wrapped(name, function)
        ]
        return [*self._seen.values(), *replaced]

    def _is_wrapped(self, name: str, function: Any) -> bool:
        """Return whether PyTorch itself wrapped the function, as it does with some functions on first use."""
        code = getattr(function, "__code__", None)
        is_own = code is None or code.co_filename.startswith(self._folder)
        return not is_own and getattr(function, "__wrapped__", None) is self._before[name]

    def _heard(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event in _LOADING:
            self._check_library(event, arguments)
        kind = _EVENTS.get(event)
        if kind is None:
            return
        place = self._place(sys._getframe(1))
        if place is None:
            return
        what = os.fsdecode(arguments[0]) if arguments and isinstance(arguments[0], (str, bytes)) else event
        if kind == "file" and os.path.abspath(what).startswith(self._allowed):
            return
        text = f"it opens {what}" if kind == "file" else f"it reaches out by {event}"
        self._seen.setdefault(f"{event}{what}", Reason(kind, text, TO_COMPUTE, place))

    def _check_library(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Raise RefusedCodeError before a library of the answer is loaded that may not be."""
        path = arguments[_LOADING[event]] if len(arguments) > _LOADING[event] else None
        if isinstance(path, (str, bytes)) and not os.path.abspath(os.fsdecode(path)).startswith(self._installed):
            check_imports(os.fsdecode(path), self._may_find_by_name)

    def _place(self, frame: FrameType | None) -> str | None:
        """Return the place in the answer that did this, directly or by the standard library; None if others did."""
        while frame is not None:
            code: CodeType = frame.f_code
            if code.co_filename.startswith(self._folder):
                return f"{os.path.basename(code.co_filename)}:{frame.f_lineno}"
            # Imports may read files anywhere: the reference cannot be imported.
            if code.co_filename.startswith((_OPBRIDGE, "<frozen importlib")) or "site-packages" in code.co_filename:
                return None
            frame = frame.f_back
        return None


def _functions() -> Iterator[tuple[str, Any]]:
    yield from _own_functions()
    for path in _GUARDED:
        owner = _named(path)
        for name in dir(owner) if owner is not None else ():
            if not name.startswith("__") or path == "torch.Tensor" or name in ("__import__",):
                value = getattr(type(owner) if name == "__class__" else owner, name, None)
                if callable(value):
                    yield f"{path}.{name}", getattr(value, "__func__", value)


def _own_functions() -> Iterator[tuple[str, Any]]:
    """Yield the functions and methods of the judge itself, which runs as `__main__`."""
    for path, module in [*sys.modules.items()]:
        if path != "__main__" and not path.startswith(_OWN):
            continue
        for name, value in [*vars(module).items()]:
            if callable(value) and getattr(value, "__module__", None) == path:
                yield f"{path}.{name}", value
            if isinstance(value, type) and value.__module__ == path:
                methods = [each for each in vars(value).items() if callable(each[1])]
                yield from ((f"{path}.{name}.{method}", function) for method, function in methods)


def _named(path: str) -> Any:
    first, *rest = path.split(".")
    owner = sys.modules.get(first)
    for name in rest:
        owner = getattr(owner, name, None)
    return owner
