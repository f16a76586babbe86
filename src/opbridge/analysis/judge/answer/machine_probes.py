"""Find in the text of an answer what tells one machine from another: variables, files, folders, processors."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

_EVERYWHERE = "compute the same everywhere"
_PLACES = ("/proc/", "/sys/", "/dev/fd/", "/dev/nvidia")
"""Files that say where a process runs; the judge's own folders are not to be seen."""
_CLOCKS = ("process_time", "thread_time", "clock_gettime")
"""Clocks that do not go slowly in the process of an answer (`clocks`), as others do."""
_MACHINE = {
    "shutil": ("which",),
    "importlib": ("find_spec",),
    "importlib.util": ("find_spec",),
    "importlib.metadata": ("version", "distribution"),
    "os": ("getcwd", "listdir", "scandir", "getpid", "getppid", "uname", "cpu_count"),
    "socket": ("gethostname",),
    "threading": ("active_count", "enumerate"),
    "platform": ("node", "uname", "machine", "platform", "processor"),
    "torch": ("__config__",),
    "torch.__config__": ("show",),
}
"""Names by module that distinguish machines.  No model needs them; code that builds an extension may use them."""
_ENVIRONMENT = ("environ", "environb", "getenv", "getenvb")
NEEDED = (
    r"(?:(?:CUDA|TORCH|MAX_JOBS|OMP|MKL|CXX|CC|PATH|NVCC|HOME|PYTORCH|TMP|TEMP|XDG|LOCAL_RANK|RANK|WORLD_SIZE|NO_COLOR)"
    r"\w*|\w*(?:DEBUG|VERBOSE|LOG_?LEVEL|PROFIL|BENCHMARK|AUTOTUNE)\w*)"
)
"""Environment variables that building an extension needs, and those that ask a program for more messages."""


def probes(tree: ast.AST) -> Iterator[tuple[int, str, str, str]]:
    """Yield what tells one machine from another: variables, files, folders and processors."""
    allowed = {id(node) for node in ast.walk(tree) for node in _environments_used_well(node)}
    in_classes = {id(node) for part in ast.walk(tree) if isinstance(part, ast.ClassDef) for node in ast.walk(part)}
    for node in _run_by_others(tree):
        line = getattr(node, "lineno", 0)
        if _is_environment(node) and id(node) not in allowed:
            yield line, "environment", f"the environment, by {ast.unparse(node)}", _EVERYWHERE
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.startswith(_PLACES):
            yield line, "file", f"the machine, by {node.value}", _EVERYWHERE
        for whose, name, shown in named(node):
            if id(node) not in in_classes:
                continue
            if whose == "time" and name.removesuffix("_ns") in _CLOCKS:
                yield line, "machine", f"the clock, by {shown}", _EVERYWHERE
            if name in _MACHINE.get(whose, ()) or (name == "__file__" and whose not in ("", "torch")):
                yield line, "machine", f"the machine, by {shown}", _EVERYWHERE


def _run_by_others(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes of a file, except those of `if __name__ == "__main__"`, which nobody runs who imports it."""
    names = [node for node in ast.walk(tree) if isinstance(node, ast.Name) and node.id == "__name__"]
    for part in getattr(tree, "body", []):
        is_main = isinstance(part, ast.If) and ast.unparse(part.test) == "__name__ == '__main__'" and len(names) == 1
        yield from () if is_main else ast.walk(part)


def _is_environment(node: ast.AST) -> bool:
    """Return whether a node names the environment, or takes it under another name."""
    if isinstance(node, ast.alias):
        return node.asname is not None and node.name in _ENVIRONMENT
    return getattr(node, "attr", getattr(node, "id", None)) in _ENVIRONMENT


def _environments_used_well(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the mentions of the environment in a node that only changes it, or asks for a variable of compilers."""
    asked: ast.expr | None = None
    if isinstance(node, ast.Subscript):
        owner, asked, writes = node.value, node.slice, not isinstance(node.ctx, ast.Load)
    elif isinstance(node, ast.Call):
        asked = node.args[0] if node.args else None
        owner, writes = _asked_by(node.func)
    elif isinstance(node, ast.Compare):
        owner, asked, writes = node.comparators[0], node.left, False
    else:
        return
    is_needed = isinstance(asked, ast.Constant) and re.fullmatch(NEEDED, str(asked.value)) is not None
    if _is_environment(owner) and (writes or is_needed):
        yield owner


def _asked_by(function: ast.expr) -> tuple[ast.expr, bool]:
    """Return what a call asks, `os.environ` or `os.getenv`, and whether it only changes that."""
    if isinstance(function, ast.Attribute) and not _is_environment(function):
        return function.value, function.attr == "update"
    return function, False


def named(node: ast.AST) -> Iterator[tuple[str, str, str]]:
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
