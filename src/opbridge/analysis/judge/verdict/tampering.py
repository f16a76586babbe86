"""Detect what an answer does besides computing: replacing functions, opening files, inspecting frames.

An answer that knows about these checks can evade them, because they run in its own process; other processes compare
its outputs. These checks name what would work if an answer and its judge shared a process.
"""

from __future__ import annotations

import ast
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

from opbridge.analysis.judge.judgement import Reason

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
_OF_THE_JUDGE = ("__main__", *_OWN, "opbridge.judging", "opbridge.check")
_TO_COMPUTE = "compute from the arguments alone"
_ABOUT_FRAMES = (
    "_getframe",
    "_current_frames",
    "currentframe",
    "stack",
    "getouterframes",
    "extract_stack",
    "walk_stack",
)
_SECRETS = {
    **dict.fromkeys(_ABOUT_FRAMES, ("call stack", _TO_COMPUTE)),
    "get_objects": ("objects of others", _TO_COMPUTE),
    "get_referrers": ("objects of others", _TO_COMPUTE),
    "settrace": ("call stack", "leave tracing to debuggers"),
    "setprofile": ("call stack", "leave profiling to profilers"),
}
_NEEDED = ("CUDA", "TORCH", "MAX_JOBS", "OMP", "CXX", "CC", "PATH", "NVCC", "HOME", "PYTORCH")
"""Prefixes of the environment variables that building an extension needs."""
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


def written(source: str, file: str) -> list[Reason]:
    """Return what the text of the answer alone reveals."""
    return [
        Reason(check, f"it looks at {what}", to_do, f"{file}:{line}")
        for line, check, what, to_do in _looks(ast.parse(source))
    ]


def _looks(tree: ast.AST) -> Iterator[tuple[int, str, str, str]]:
    for node in ast.walk(tree):
        if isinstance(node, (ast.Attribute, ast.Name)):
            name = node.attr if isinstance(node, ast.Attribute) else node.id
            whose = ast.unparse(node.value) if isinstance(node, ast.Attribute) else ""
            if name in _SECRETS and (name != "stack" or whose == "inspect"):
                check, to_do = _SECRETS[name]
                yield node.lineno, check, f"the {check}, by {ast.unparse(node)}", to_do
        for name in _imported(node):
            if name.startswith(_OF_THE_JUDGE):
                yield getattr(node, "lineno", 0), "judge", f"the judge, by importing {name}", _TO_COMPUTE
        if isinstance(node, (ast.Call, ast.Subscript, ast.Compare)) and (name := _variable(node)):
            yield node.lineno, "environment", f"the environment's {name}", "compute the same everywhere"


def _imported(node: ast.AST) -> list[str]:
    """Return the modules that a statement imports."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    return [f"{node.module}.{alias.name}" for alias in node.names] if isinstance(node, ast.ImportFrom) else []


def _variable(node: ast.Call | ast.Subscript | ast.Compare) -> str:
    """Return the environment variable that a node reads; empty if it reads none, or one for compilers."""
    text = ast.unparse(node)
    if isinstance(node, ast.Call):
        reads, asked = text.startswith(("os.getenv(", "os.environ.get(")), node.args[0] if node.args else None
    elif isinstance(node, ast.Subscript):
        reads, asked = text.startswith("os.environ[") and isinstance(node.ctx, ast.Load), node.slice
    else:
        reads, asked = text.endswith("os.environ"), node.left
    if not reads or not isinstance(asked, ast.Constant):
        return ""
    name = str(asked.value)
    return "" if name.startswith(_NEEDED) else name


class Watch:
    """Observe an answer in its folder, from before it is loaded; `findings` returns what it did."""

    def __init__(self, folder: str, allowed: tuple[str, ...]) -> None:
        self._folder = os.path.join(folder, "")
        self._allowed = (folder, *allowed)
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
        self._seen.setdefault(f"{event}{what}", Reason(kind, text, _TO_COMPUTE, place))

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
