"""The pages about the CUDA twin and what it has, side by side."""

from __future__ import annotations

import importlib.util
import re
import subprocess
from pathlib import Path
from typing import Any

from opbridge.build.toolchains.interface import INCLUDE as OPBRIDGE_INCLUDE
from opbridge.twins.cuda import INCLUDE
from opbridge.twins.cuda.missing_headers import HEADERS
from opbridge.twins.cuda.nvcc.toolkit import NAMES_OF_LIBRARIES
from opbridge.twins.cuda.rewriting.assembly import INSTRUCTIONS

DOCS = Path(__file__).parents[3] / "docs"
PAGE = (DOCS / "cuda-support.md").read_text()
LIBRARIES = (DOCS / "cuda-libraries.md").read_text()
TESTED = (DOCS / "evidence" / "cuda-tests.md").read_text()
HEADER_TEXT = "\n".join(path.read_text() for path in sorted(INCLUDE.rglob("*.h")))
C_AND_CXX = {"__restrict__", "malloc", "printf", "assert"}
REWRITTEN = {"__shared__", "__noinline__"}


def section(title: str) -> str:
    return PAGE.partition(f"## {title}\n")[2].partition("\n## ")[0]


def test_every_name_that_is_promised_is_in_the_headers() -> None:
    table = "\n".join(line for line in section("Supported features").splitlines() if line.startswith("| "))
    names = set(re.findall(r"`(\w+)`", table)) - C_AND_CXX - REWRITTEN
    assert names >= INSTRUCTIONS
    names -= INSTRUCTIONS
    assert len(names) > 100
    # Some are made by macros from a part of the name.
    made = re.compile(r"_(?:rz|rn|ru|rd|block|system|[su](?:16x2|32))$|^make_|\d$|f$")
    parts = {name: {made.sub("", name), name.removeprefix("cublas")} for name in names}
    missing = {name for name in names if not re.search(rf"\b(?:{'|'.join(parts[name])})", HEADER_TEXT)}
    assert not missing


def test_every_header_is_named() -> None:
    named = set(re.findall(r"`([\w/]+\.h)`", section("Supported features")))
    there = {path.relative_to(INCLUDE).as_posix() for path in INCLUDE.rglob("*.h")}
    assert named - {"math.h"} == {name for name in there if not name.startswith("opbridge_twin/")}


def functions_of(header: str) -> int:
    """Those that a header of a library declares, of which macros make one for each type."""
    code = subprocess.run(
        ["g++", "-std=c++17", "-E", "-P", "-x", "c++", f"-isystem{INCLUDE}", f"-isystem{OPBRIDGE_INCLUDE}", header],
        capture_output=True,
        text=True,
        check=True,
        cwd=INCLUDE,
    ).stdout
    prefix = header.removesuffix("_v2.h").removesuffix(".h")
    longer = "(?!Lt)" if prefix == "cublas" else ""
    return len(set(re.findall(rf"\b({prefix}{longer}[A-Z]\w+) ?\([^;{{}}]*\);", code)))


def test_the_table_of_libraries_is_what_their_headers_have() -> None:
    rows = re.findall(r"^\| `-l(\w+)`(?:, `-l\w+`)* \| `(\w+\.h)` \| (\d+) \|", LIBRARIES, re.MULTILINE)
    assert {(header, int(count)) for _, header, count in rows} == {
        (header, functions_of(header)) for _, header, _ in rows
    }
    assert {library for library, _, _ in rows} == NAMES_OF_LIBRARIES.keys()


def test_every_refusal_is_named() -> None:
    table = section("Unsupported features")
    refused = re.findall(r'_REFUSED_FUNCTION\(\w+, "(.+)"\)|"([^"]+): not supported', HEADER_TEXT)
    sources = "".join(file.read_text() for file in (INCLUDE.parent / "rewriting").glob("*.py"))
    compile_errors = re.findall(r'compile_error\(\s*"(.+)"\s*\)', sources)
    assert compile_errors
    features = {first or second for first, second in refused} | set(HEADERS) | set(compile_errors)
    assert len(features) > 15
    assert not {feature for feature in features if feature not in table}


def cuda_table() -> Any:
    spec = importlib.util.spec_from_file_location("cuda_table", Path(__file__).parents[3] / "tools" / "cuda_table.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_table_of_what_is_tested_is_that_of_today() -> None:
    made = cuda_table()
    assert made.table() in TESTED, "run python tools/cuda_table.py"
    here = {path.relative_to(made.TESTS).as_posix() for path in Path(__file__).parent.glob("test_*.py")}
    in_table = set(made.PARTS.values())
    assert here <= in_table | made.OF_THE_INSIDE, "say in tools/cuda_table.py what it is for"
    assert not in_table & made.OF_THE_INSIDE
