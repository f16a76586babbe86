"""tools/charts.py draws the charts of the documentation from its tables."""

from __future__ import annotations

import json
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TOOL = runpy.run_path(str(ROOT / "tools" / "charts.py"))


@pytest.mark.parametrize("name", TOOL["CHARTS"])
def test_the_chart_is_drawn_from_the_tables_of_today(name: str) -> None:
    shown = (ROOT / "docs" / "pictures" / f"{name}.svg").read_text()
    assert shown == TOOL["CHARTS"][name](), "run `python tools/charts.py`"


def test_charts_are_drawn_from_the_json_of_a_run(tmp_path: Path) -> None:
    what, peer = TOOL["CALLS"][0]
    ours, theirs, ratio = ({"median": value, "low": value, "high": value} for value in (6e-7, 1.2e-6, 0.5))
    row = {"what": what, "ours": ours, "unit": "s", "against": peer, "theirs": theirs, "ratio": ratio}
    results = tmp_path / "bench.json"
    results.write_text(json.dumps({"rows": [{**row, "reach": "3/2", "missing": ""}]}))
    assert [(value, note) for _, value, note in TOOL["calls"](results)] == [(0.5, "600 ns / 1.20 µs")]
    assert [name for name, _ in TOOL["measured"](results)] == ["calls"]


@pytest.mark.parametrize(
    ("cell", "value"), [("0.57x (0.54x to 0.58x)", 0.57), ("1/2.5 (1/3 to 1/2)", 0.4), ("40x", 40)]
)
def test_a_ratio_is_read_in_every_notation(cell: str, value: float) -> None:
    assert TOOL["ratio"](cell) == value
