"""Write the tables of docs/ascend-support.md from the headers of the Ascend C twin.

They list functions, types, rejected names, and a comparison with the public reference.  Run it after a change to the
headers; a test compares the document.
"""

from __future__ import annotations

import re
import subprocess
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from opbridge.build.toolchains import host

ROOT = Path(__file__).parents[1]
GUIDE = ROOT / "docs" / "ascend-support.md"
INCLUDE = ROOT / "src" / "opbridge" / "twins" / "ascend" / "include"
REFERENCE = ROOT / "tools" / "ascend_reference.txt"
BEGIN, END = "<!-- Written by tools/ascend_apis.py -->\n", "<!-- Until here. -->\n"

GROUPS = {
    "copy": "copies",
    "fractal": "copies",
    "vector": "elements",
    "functions": "functions",
    "cast": "types",
    "compare": "comparisons",
    "select": "comparisons",
    "reduce": "reductions",
    "rows": "rows",
    "softmax": "softmax",
    "normalize": "normalization",
    "sort": "sorting",
    "gather": "moves",
    "shape": "shapes",
    "lanes": "masks",
    "scalar": "scalars",
    "dump": "text",
    "sync": "order",
    "cube": "matrices",
    "fixpipe": "matrices",
    "matmul": "matrices",
}
"""Headers, and what the functions of each are called in the document; of others, the header's name."""
WITHOUT_FUNCTIONS = {
    "tensor",
    "static_tensors",
    "pipe",
    "machine",
    "launch",
    "aot",
    "device",
    "tiling",
    "refused",
    "constants",
}
"""Headers of classes, which the document describes, and of what kernels do not call."""

_MARKER = re.compile(r'^# \d+ "([^"]+)"')
_FUNCTION = re.compile(r"\b(?:void|bool|float|half|bfloat16_t|u?int\d+_t|[TU]|\w+\*) ([A-Z]\w+)\(")
_TYPES = re.compile(r'((?:"[^"]*"\s*)+?)" takes elements of "\s*"([^"]*)"')
_PAIRS = re.compile(r'((?:"[^"]*"\s*)+?)" takes "\s*"([^"]*)"\s*", as destination')
_REFUSED = re.compile(r"^OPBRIDGE_ASCEND_REFUSED(?:_CLASS|_TEMPLATE)?\((\w+)", re.MULTILINE)
_CLASS = re.compile(r"\b(?:class|struct) ([A-Z]\w+)(?: final)?(?: :[^;{]*)?\s*{|\busing ([A-Z]\w+) =")
_OTHER = re.compile(r"\b(?:GM_ADDR|TPipe\*|constexpr \w+) ([A-Z]\w+)\(")
_MACRO = re.compile(r"^#define ([A-Z]\w+)\(", re.MULTILINE)


def _preprocessed() -> dict[str, str]:
    """Return the text of each header after preprocessing, as in a kernel that includes all of them."""
    command = [*host.find(), "-std=c++17", "-E", f"-I{INCLUDE}", f"-I{ROOT / 'src' / 'opbridge' / 'include'}"]
    source = '#include "kernel_operator.h"\n#include "tikicpulib.h"\n'
    done = subprocess.run([*command, "-xc++", "-"], input=source, capture_output=True, text=True, check=True)
    headers: dict[str, list[str]] = defaultdict(list)
    header = ""
    for line in done.stdout.splitlines():
        marker = _MARKER.match(line)
        if marker is None:
            headers[header].append(line)
        else:
            path = Path(marker[1])
            header = path.stem if path.parent == INCLUDE / "opbridge_ascend" else ""
    del headers[""]
    return {name: "\n".join(lines) for name, lines in headers.items()}


def _words(names: set[str]) -> str:
    return " ".join(f"`{name}`" for name in sorted(names))


def _rows(headers: dict[str, str]) -> Iterator[tuple[str, str]]:
    groups: dict[str, set[str]] = defaultdict(set)
    for header in (*GROUPS, *sorted(headers.keys() - GROUPS.keys() - WITHOUT_FUNCTIONS)):
        groups[GROUPS.get(header, header)].update(_FUNCTION.findall(headers.get(header, "")))
    yield from ((group, _words(names)) for group, names in groups.items() if names)
    texts = [path.read_text() for path in INCLUDE.rglob("*.h")]
    macros = {name for text in texts for name in _MACRO.findall(text) if not name.startswith("OPBRIDGE_")}
    yield "macros", _words(macros)
    yield "refused", _words({name for text in texts for name in _REFUSED.findall(text)})


def _reference(headers: dict[str, str]) -> Iterator[tuple[str, ...]]:
    """Return the names of the public reference, chapter by chapter."""
    files = [path.read_text() for path in INCLUDE.rglob("*.h")]
    refused = {name for text in files for name in _REFUSED.findall(text)}
    there = {name for text in files for name in _MACRO.findall(text)}
    there.update(name for text in files for names in _CLASS.findall(text) for name in names)
    for text in headers.values():
        there.update(_FUNCTION.findall(text), _OTHER.findall(text))
    there -= refused
    for line in REFERENCE.read_text().splitlines():
        chapter, _, named = line.partition(": ")
        if not line.startswith("#"):
            names = set(named.split())
            unknown = names - there - refused
            yield chapter, str(len(names & there)), _words(names & refused - there), _words(unknown)


def _types(headers: dict[str, str]) -> Iterator[tuple[str, str]]:
    """Yield each type with the functions that take it, from the messages of the compiler."""
    takers: dict[str, set[str]] = defaultdict(set)
    for text in headers.values():
        for pieces, types in _TYPES.findall(text):
            takers[types].add("".join(re.findall(r'"([^"]*)"', pieces)))
        for pieces, pairs in _PAIRS.findall(text):
            takers[pairs].add("".join(re.findall(r'"([^"]*)"', pieces)))
    for types in sorted(takers, key=lambda one: (len(one), one)):
        plain_names = {name for name in takers[types] if name.isidentifier()}
        if plain_names:
            yield _words(plain_names), ", ".join(f"`{one}`" for one in types.split(", "))


def _table(head: tuple[str, ...], rows: Iterator[tuple[str, ...]]) -> str:
    lines = (head, ("---",) * len(head), *rows)
    return "".join("| " + " | ".join(cells).replace("|  |", "| |") + " |\n" for cells in lines).replace("|  |", "| |")


def tables() -> str:
    headers = _preprocessed()
    there = _table(("group", "functions"), _rows(headers))
    types = _table(("functions", "element types on Atlas A2 and A3"), _types(headers))
    chapters = _table(("chapter of the public reference", "there", "refused", "unknown"), _reference(headers))
    return f"{BEGIN}{there}\n{types}\n{chapters}{END}"


def written(guide: str) -> str:
    """Return the document with its present tables."""
    before, _, rest = guide.partition(BEGIN)
    return f"{before}{tables()}{rest.partition(END)[2]}"


if __name__ == "__main__":
    GUIDE.write_text(written(GUIDE.read_text()))
