"""Find text in an answer that inspects its judge or switches off its recorders."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from opbridge.analysis.judge.answer.machine_probes import NEEDED, named, probes
from opbridge.analysis.judge.judgement import TO_COMPUTE, Reason

_OF_THE_JUDGE = ("__main__", "opbridge.analysis.judge", "opbridge.verify.check", "opbridge.judging", "opbridge.check")
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
    r"|DisableRecordFunctionGuard|enableRecordFunction|set_record_function_tls_"
    r"|clear(?:Global|ThreadLocal)?Callbacks|(?:remove|disable)Callback|_*no_sanitize\w*"
    r"|at::(?:cpu|native|meta|compositeexplicit\w*)::|PyEval_\w*Frame\w*|PyThreadState_\w*Frame"
    r"|dlv?sym|dlm?open|dladdr|dl_iterate_phdr"
    r"|__rdtscp?|__(?:x86_64|amd64|i386|aarch64|arm)__|_M_(?:X64|IX86|ARM64))\b"
    r'|"/proc/|(?<![.\w])(?:secure_)?getenv\(\\?"(?!' + NEEDED + r'\\?")'
)
"""C++ names that switch off a recorder or checks, inspect callers, or distinguish machines."""
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_SECRETS = {
    **dict.fromkeys(_ABOUT_FRAMES, ("call stack", TO_COMPUTE)),
    **dict.fromkeys(("__globals__", "__code__", "__closure__"), ("functions of others", TO_COMPUTE)),
    "get_objects": ("objects of others", TO_COMPUTE),
    "get_referrers": ("objects of others", TO_COMPUTE),
    "settrace": ("call stack", "leave tracing to debuggers"),
    "setprofile": ("call stack", "leave profiling to profilers"),
    **dict.fromkeys(("pythonapi", "py_object", "from_address", "memmove", "PyDLL"), ("memory of others", TO_COMPUTE)),
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
        Reason(
            "judge",
            f"it reaches for what records it or tells machines apart, by {found[0]}",
            TO_COMPUTE,
            f"{file}:{_line(blank, found)}",
        )
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
        for name in _imported(node):
            if name.startswith(_OF_THE_JUDGE):
                yield getattr(node, "lineno", 0), "judge", f"the judge, by importing {name}", TO_COMPUTE
    for line, what in _modules_looked_at(tree):
        yield line, "judge", f"the modules of its process, by {what}", TO_COMPUTE
    yield from probes(tree)


def _imported(node: ast.AST) -> list[str]:
    """Return the modules that a statement imports."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    return [f"{node.module}.{alias.name}" for alias in node.names] if isinstance(node, ast.ImportFrom) else []


def _modules_looked_at(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield the places that look at `sys.modules`, except for the module of the answer itself."""
    own = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Subscript) and _is_own_name(node.slice)}
    for node in ast.walk(tree):
        is_named = isinstance(node, ast.Attribute) and ast.unparse(node) in ("sys.modules", "sys.__dict__")
        is_all = isinstance(node, ast.Call) and ast.unparse(node) == "vars(sys)"
        is_imported = isinstance(node, ast.ImportFrom) and node.module == "sys" and "modules" in _imported_names(node)
        if (is_named or is_all or is_imported) and id(node) not in own:
            yield getattr(node, "lineno", 0), ast.unparse(node)


def _is_own_name(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id == "__name__"


def _imported_names(node: ast.ImportFrom) -> list[str]:
    return [alias.name for alias in node.names]
