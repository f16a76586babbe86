"""Write the Python reference of the site from signatures and docstrings."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import opbridge
from opbridge.analysis import bench
from opbridge.base import errors
from opbridge.frameworks import FRAMEWORKS
from opbridge.verify import check
from opbridge.waist.rules.operator_rules import RuleFields

ROOT = Path(__file__).parents[1]
FUNCTIONS: dict[str, dict[str, str]] = {
    "Create operators": {
        "ob.formula": "formula",
        "ob.load": "manifest",
        "ob.inline": "kernel-header",
        "ob.aot": "attribute-block",
        "ob.tvm_ffi": "tvm-ffi",
        "ob.aten": "aten",
    },
    "Use PyTorch code": {"ob.extension": "extension", "ob.autograd": "autograd", "ob.module": "autograd"},
    "Convert and export": {"ob.convert": "convert", "ob.onnx_translations": "onnx"},
    "Verify and measure": {
        "opbridge.check.check": "check",
        "opbridge.bench.bench": "bench",
        "ob.profile": "profile",
        "ob.judge": "judge",
    },
}
"""Functions by group, by their public names, and the guide of each."""
CLASSES = {
    "Operators": (opbridge, ["Op", "OpLibrary"]),
    "Results of checks": (check, check.__all__),
    "Results of benchmarks": (bench, bench.__all__),
}
_SECTION = re.compile(r"^(Args|Returns|Raises|Example):\n((?:(?:    .*)?\n)+)", re.MULTILINE)
_ENTRY = re.compile(r"^(\w+): (.*(?:\n {4}.*)*)", re.MULTILINE)


def page() -> str:
    """Return the page in Markdown."""
    parts = ["# Python\n", "`import opbridge as ob`.  Names that start with an underscore are not public.\n"]
    for title, functions in FUNCTIONS.items():
        parts.append(f"## {title}\n")
        for name, guide in functions.items():
            parts += _function(name, guide)
    for title, (module, names) in CLASSES.items():
        parts.append(f"## {title}\n")
        parts += _classes(module, names)
    parts += ["## Errors\n", "[Errors](../errors.md) shows common messages and their fixes.\n"]
    parts += _classes(errors, [name for name in vars(errors) if name.endswith("Error")])
    return "\n".join(parts)


def named(name: str) -> Callable[..., Any]:
    """Return the function of a name in FUNCTIONS."""
    home, _, last = name.rpartition(".")
    module = {"ob": opbridge, "opbridge.check": check, "opbridge.bench": bench}[home]
    found: Callable[..., Any] = getattr(module, last)
    return found


def sections(text: str) -> tuple[str, dict[str, str]]:
    """Return the introduction of a docstring, and its sections without their indentation."""
    found = {head: inspect.cleandoc(body) for head, body in _SECTION.findall(text + "\n")}
    return _SECTION.sub("", text + "\n").strip(), found


def _function(name: str, guide: str) -> Iterator[str]:
    item = named(name)
    intro, found = sections(inspect.getdoc(item) or "")
    yield f"### {name}\n"
    yield f"```python\n{signature(name.rpartition('.')[2], item)}\n```\n"
    yield f"{intro}\n"
    yield from _table("parameter", "meaning", found.get("Args", ""))
    if "Returns" in found:
        yield f"**Returns**: {_line(found['Returns'])}\n"
    yield from _table("raises", "when", found.get("Raises", ""))
    yield f"```python\n{found['Example']}\n```\n"
    yield f"Guide: [{guide}](../{guide}.md).  Source: {source(item)}.\n"


def _table(left: str, right: str, text: str) -> Iterator[str]:
    if text:
        rows = [f"| `{name}` | {_line(meaning)} |" for name, meaning in _ENTRY.findall(text)]
        yield "\n".join([f"| {left} | {right} |", "|---|---|", *rows, ""])


def _line(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def source(item: Any) -> str:
    """Return the file of the repository and the line where an item is defined."""
    file, (_, line) = inspect.getsourcefile(item) or "", inspect.getsourcelines(item)
    return f"`{Path(file).relative_to(ROOT)}:{line}`"


def _classes(module: Any, names: list[str]) -> Iterator[str]:
    for name in names:
        item = getattr(module, name)
        if not inspect.isclass(item):
            continue
        yield f"### {name}\n"
        if _has_own_signature(item):
            yield f"```python\n{signature(name, item)}\n```\n"
        yield f"{inspect.getdoc(item) or ''}\n"
        yield from _members(item)
        if item is opbridge.Op:
            yield from (f"- `{row.name}`: {row.view}" for row in FRAMEWORKS.values())
            yield ""


def _has_own_signature(item: type) -> bool:
    return "__init__" in vars(item) and not issubclass(item, BaseException)


def _members(item: type) -> Iterator[str]:
    for name, member in vars(item).items():
        text = inspect.getdoc(member)
        if name.startswith("_") or not text or not (callable(member) or isinstance(member, property)):
            continue
        shown = name if isinstance(member, property) else signature(name, member)
        yield f"- `{' '.join(shown.split())}`: {' '.join(text.split())}"
    yield ""


def signature(name: str, item: Any) -> str:
    """Return a signature on one line, or with a line for each parameter if it is long."""
    try:
        found = inspect.signature(item)
    except (TypeError, ValueError):
        return name
    parameters = list(_parameters(found))
    end = "" if found.return_annotation is inspect.Signature.empty else f" -> {found.return_annotation}"
    flat = f"{name}({', '.join(parameters)}){end}"
    return flat if len(flat) < 100 else "\n".join([f"{name}(", *(f"    {one}," for one in parameters), f"){end}"])


def _parameters(found: inspect.Signature) -> Iterator[str]:
    """Yield the text of each parameter: annotations without their quotes, defaults with theirs."""
    starred = False
    for one in found.parameters.values():
        if one.kind in (one.KEYWORD_ONLY, one.VAR_KEYWORD) and not starred:
            starred = True
            yield "*"
        if one.annotation == f"Unpack[{RuleFields.__name__}]":
            yield "**rules"
            continue
        star = {one.VAR_POSITIONAL: "*", one.VAR_KEYWORD: "**"}.get(one.kind, "")
        starred = starred or one.kind is one.VAR_POSITIONAL
        kind = "" if one.annotation is one.empty else f": {one.annotation}"
        default = "" if one.default is one.empty else (f" = {_default(one.default)}" if kind else f"={one.default!r}")
        yield f"{star}{one.name}{kind}{default}"


def _default(value: object) -> str:
    if isinstance(value, str):
        return f'"{value}"'
    return "..." if callable(value) else repr(value)
