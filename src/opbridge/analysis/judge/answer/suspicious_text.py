"""Find text in an answer that inspects its judge or switches off its recorders."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from opbridge.analysis.judge.answer.machine_probes import named, probes
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
    r"|DisableRecordFunctionGuard|enableRecordFunction|at::(?:cpu|native|meta|compositeexplicit\w*)::|PyEval_\w*Frame\w*|PyThreadState_\w*Frame)\b"
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
        for whose, name, shown in named(node):
            if name in _SECRETS and (name != "stack" or whose == "inspect"):
                check, to_do = _SECRETS[name]
                yield getattr(node, "lineno", 0), check, f"the {check}, by {shown}", to_do
        if what := _modules_looked_at(node):
            yield getattr(node, "lineno", 0), "judge", f"the modules of its process, by {what}", _TO_COMPUTE
        for name in _imported(node):
            if name.startswith(_OF_THE_JUDGE):
                yield getattr(node, "lineno", 0), "judge", f"the judge, by importing {name}", _TO_COMPUTE
    yield from probes(tree)


def _imported(node: ast.AST) -> list[str]:
    """Return the modules that a statement imports."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    return [f"{node.module}.{alias.name}" for alias in node.names] if isinstance(node, ast.ImportFrom) else []


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
