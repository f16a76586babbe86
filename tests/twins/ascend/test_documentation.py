"""docs/ascend.md lists what the headers have, no more and no less."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
INCLUDE = ROOT / "src" / "opbridge" / "twins" / "ascend" / "include"
GUIDE = (ROOT / "docs" / "ascend.md").read_text()

FUNCTION = re.compile(r"^(?:inline )?(?:void|[TU]|int64_t|TPipe\*|GM_ADDR) ([A-Z]\w+)\(", re.MULTILINE)
LISTED = re.compile(r"^OPBRIDGE_ASCEND_(?:BINARY|SCALAR|UNARY)\((\w+)", re.MULTILINE)
EXTREME = re.compile(r"^OPBRIDGE_ASCEND_EXTREME\((\w+)", re.MULTILINE)
REFUSED = re.compile(r"^OPBRIDGE_ASCEND_REFUSED\((\w+)", re.MULTILINE)
MACRO = re.compile(r"^#define ([A-Z]\w+)\(", re.MULTILINE)


def functions_of(header: str) -> set[str]:
    text = (INCLUDE / "opbridge_ascend" / f"{header}.h").read_text()
    extremes = {f"{kind}Reduce{which}" for which in EXTREME.findall(text) for kind in ("", "Whole", "Block")}
    return {*FUNCTION.findall(text), *LISTED.findall(text), *extremes}


def listed(row: str) -> set[str]:
    (cells,) = re.findall(rf"^\| {row} \| (.*) \|$", GUIDE, re.MULTILINE)
    return set(re.findall(r"`(\w+)`", cells))


@pytest.mark.parametrize(
    ("row", "headers"),
    [
        ("copies", ["copy"]),
        ("elements", ["vector"]),
        ("types", ["cast"]),
        ("comparisons", ["compare"]),
        ("reductions", ["reduce"]),
        ("moves", ["gather"]),
        ("masks", ["lanes"]),
        ("order", ["sync"]),
    ],
)
def test_every_function_is_listed(row: str, headers: list[str]) -> None:
    assert listed(row) == {name for header in headers for name in functions_of(header)}


def test_every_macro_is_listed() -> None:
    macros = {name for header in INCLUDE.rglob("*.h") for name in MACRO.findall(header.read_text())}
    ours = {name for name in macros if name.startswith("OPBRIDGE_")}
    assert listed("macros") == macros - ours


def test_what_is_refused_is_listed() -> None:
    text = (INCLUDE / "opbridge_ascend" / "refused.h").read_text()
    assert listed("refused") == set(REFUSED.findall(text))
