"""docs/ascend-support.md lists what the headers have, no more and no less."""

from __future__ import annotations

import runpy
from pathlib import Path

TOOL = runpy.run_path(str(Path(__file__).parents[3] / "tools" / "ascend_apis.py"))


def test_the_tables_are_those_of_the_headers() -> None:
    guide = TOOL["GUIDE"].read_text()
    assert guide == TOOL["written"](guide), "run tools/ascend_apis.py"


def test_what_the_public_reference_names_is_there_or_refused_with_a_sentence() -> None:
    rows = list(TOOL["_reference"](TOOL["_preprocessed"]()))
    assert sum(int(there) for _, there, _, _ in rows) > 150
    # Classes of names that kernels have for their own: to refuse them would make those ambiguous.
    assert [unknown for _, _, _, unknown in rows if unknown] == ["`Coordinate` `Layout`"]
