"""Find text in an answer that inspects its judge or switches off its recorders."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from opbridge.analysis.judge.judgement import Reason

_OF_THE_JUDGE = ("__main__", "opbridge.analysis.judge", "opbridge.verify.check", "opbridge.judging", "opbridge.check")
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
_ABOUT_DISPATCH = (
    "_disable_current_modes",
    "_DisableTorchDispatch",
    "no_dispatch",
    "_pop_mode",
    "_pop_mode_temporarily",
    "_pop_torch_dispatch_stack",
    "_get_current_dispatch_mode",
    "_get_current_dispatch_mode_stack",
    "_len_torch_dispatch_stack",
    "_ExcludeDispatchKeyGuard",
)
_IN_CPP = re.compile(
    r"\b(?:ob_twin_\w+|ob_ascend_\w+|opbridge_twin|(?:Exclude|Include|ForceDispatch)DispatchKeyGuard|ForceDispatchKeyGuard"
    r"|TorchDispatchModeTLS|DispatchKey::Python\w*|PythonTLSSnapshot|DisableTorchDispatch|RecordFunctionGuard"
    r"|DisableRecordFunctionGuard|PyEval_\w*Frame\w*|PyThreadState_\w*Frame)\b"
)
"""What C++ calls to switch off a recorder, or to look at who calls."""
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_SECRETS = {
    **dict.fromkeys(_ABOUT_FRAMES, ("call stack", _TO_COMPUTE)),
    "get_objects": ("objects of others", _TO_COMPUTE),
    "get_referrers": ("objects of others", _TO_COMPUTE),
    "settrace": ("call stack", "leave tracing to debuggers"),
    "setprofile": ("call stack", "leave profiling to profilers"),
    **dict.fromkeys(("pythonapi", "py_object", "from_address", "memmove", "PyDLL"), ("memory of others", _TO_COMPUTE)),
    **dict.fromkeys(_ABOUT_DISPATCH, ("dispatch of operators", "call operators as they are")),
}
_NEEDED = ("CUDA", "TORCH", "MAX_JOBS", "OMP", "CXX", "CC", "PATH", "NVCC", "HOME", "PYTORCH")
"""Prefixes of the environment variables that building an extension needs."""


def written(source: str, file: str) -> list[Reason]:
    """Return what the Python text of an answer alone reveals."""
    return [
        Reason(check, f"it looks at {what}", to_do, f"{file}:{line}")
        for line, check, what, to_do in _looks(ast.parse(source))
    ]


def written_in_cpp(source: str, file: str) -> list[Reason]:
    """Return what the C++ of an answer reveals, which may stand in the text of another language."""
    blank = _COMMENT.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), source)
    return [
        Reason("judge", f"it reaches for what records it, by {found[0]}", _TO_COMPUTE, f"{file}:{_line(blank, found)}")
        for found in _IN_CPP.finditer(blank)
    ]


def _line(text: str, found: re.Match[str]) -> int:
    return text.count("\n", 0, found.start()) + 1


def _looks(tree: ast.AST) -> Iterator[tuple[int, str, str, str]]:
    for node in ast.walk(tree):
        for whose, name, shown in _named(node):
            if name in _SECRETS and (name != "stack" or whose == "inspect"):
                check, to_do = _SECRETS[name]
                yield getattr(node, "lineno", 0), check, f"the {check}, by {shown}", to_do
        if what := _modules_looked_at(node):
            yield getattr(node, "lineno", 0), "judge", f"the modules of its process, by {what}", _TO_COMPUTE
        for name in _imported(node):
            if name.startswith(_OF_THE_JUDGE):
                yield getattr(node, "lineno", 0), "judge", f"the judge, by importing {name}", _TO_COMPUTE
        if isinstance(node, (ast.Call, ast.Subscript, ast.Compare)) and (name := _variable(node)):
            yield node.lineno, "environment", f"the environment's {name}", "compute the same everywhere"


def _named(node: ast.AST) -> Iterator[tuple[str, str, str]]:
    """Yield each name that a node refers to: whose it is, the name, and both as they are written."""
    if isinstance(node, ast.Attribute):
        yield ast.unparse(node.value), node.attr, ast.unparse(node)
    elif isinstance(node, ast.Name):
        yield "", node.id, node.id
    elif isinstance(node, ast.ImportFrom):
        yield from ((node.module or "", alias.name, f"{node.module}.{alias.name}") for alias in node.names)
    elif isinstance(node, ast.Call) and ast.unparse(node.func) == "getattr":
        asked = [one.value for one in node.args[1:2] if isinstance(one, ast.Constant)]
        yield from ((ast.unparse(node.args[0]), str(name), ast.unparse(node)) for name in asked)


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


def _modules_looked_at(node: ast.AST) -> str:
    """Return the expression by which a node searches `sys.modules`; empty if it does not."""
    asked: list[ast.expr] = []
    if isinstance(node, ast.Compare):
        asked = node.comparators
    elif isinstance(node, ast.Call):
        asked = [*node.args, *([node.func.value] if isinstance(node.func, ast.Attribute) else [])]
    elif isinstance(node, (ast.For, ast.comprehension)):
        asked = [node.iter]
    return next((ast.unparse(one) for one in asked if ast.unparse(one) == "sys.modules"), "")
