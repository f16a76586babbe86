"""The part of a report on what kernels are predicted to cost."""

from __future__ import annotations

import re
from typing import Any

from opbridge.analysis.report.costs import section

CUDA: dict[str, Any] = {
    "name": "columns<float>",
    "launches": 2,
    "predicted_seconds": 3e-6,
    "bound": "cache",
    "bounds": {"launch": 2.5e-6, "cache": 5e-6},
    "lines": [
        {"place": "a.cu:4", "kind": "load", "space": "global", "requests": 4, "sectors": 128, "advice": "turn it & go"}
    ],
}
ASCEND: dict[str, Any] = {
    "name": "scaled",
    "launches": 1,
    "predicted_seconds": 1e-6,
    "bound": "MTE2",
    "pipes": {"V": {"busy_cycles": 112, "waited_cycles": {}}, "MTE2": {"busy_cycles": 400, "waited_cycles": {}}},
    "advice": ["give the queues two buffers"],
    "lines": [{"place": "a.cpp:4", "instruction": "Muls", "pipe": "V", "runs": 4, "cycles": 112}],
}


def test_bars_are_as_long_as_what_they_stand_for_and_the_longest_comes_first() -> None:
    made = section({"chip": "910b", "kernels": [ASCEND]})
    widths = [float(width) for width in re.findall(r'<rect [^>]*width="([\d.]+)"', made)]
    assert widths == [400.0, 112.0]
    assert re.findall(r'text-anchor="end">(\w+)<', made) == ["MTE2", "V"]
    assert "give the queues two buffers" in made


def test_what_was_read_from_a_file_is_text() -> None:
    made = section({"chip": "a100", "kernels": [CUDA]})
    assert "columns&lt;float&gt;" in made
    assert "global load, 4 requests, 128 sectors" in made
    assert "turn it &amp; go" in made


def test_nobody_takes_it_for_a_measurement() -> None:
    assert "nothing of it was measured" in section({"chip": "a100", "kernels": []})
