"""Right outputs that no call computes: what comes from memory or from the host."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from opbridge.analysis.judge.process.jobs import Trial
from opbridge.analysis.judge.process.record_channel import Record, Records
from opbridge.analysis.judge.task.shapes import SHRUNK, Plan
from opbridge.analysis.judge.values import Array, save
from opbridge.analysis.judge.verdict.kept_results import by_host, is_kept

TRIAL = Trial(0, Plan(SHRUNK), 1, "float32[256]", ())
_BYTES = 1024


def array(*numbers: float, dtype: str = "float32") -> Array:
    return Array(dtype, (len(numbers),), np.array(numbers, dtype).tobytes())


@pytest.mark.parametrize(
    ("record", "is_by_host"),
    [
        (Record(TRIAL.record, to_host=_BYTES, to_device=_BYTES), True),
        (Record(TRIAL.record, to_host=_BYTES // 4, to_device=_BYTES // 4), True),
        (Record(TRIAL.record, to_host=4, to_device=_BYTES), False),  # a number is read, and a table is made
        (Record(TRIAL.record, to_host=_BYTES), False),
        (Record(TRIAL.writes_record, to_host=_BYTES, to_device=_BYTES), False),  # weights that are prepared
        (Record(TRIAL.writes_record, by_host=_BYTES), True),
        (Record(TRIAL.writes_record, by_host=4), False),
    ],
)
def test_what_passes_the_host(tmp_path: Path, record: Record, is_by_host: bool) -> None:
    save(tmp_path / TRIAL.inputs_file, [array(*range(256))])
    save(tmp_path / TRIAL.rounded_file, array(*range(256)))
    found = by_host(Records((record,)), [TRIAL], tmp_path)
    assert (found is not None and found.check == "host") is is_by_host


NUMBERS = [float(i) for i in range(1, 101)]


@pytest.mark.parametrize(
    ("twice", "kept"),
    [
        (NUMBERS, False),
        ([one * (1 + 1e-4) for one in NUMBERS], False),  # another order of adding
        ([float("nan")] * 100, True),
        ([1.0] * 100, True),
        ([float("nan")] * 5 + NUMBERS[5:], False),
    ],
)
def test_what_is_another_output_without_memory_of_it(tmp_path: Path, twice: list[float], kept: bool) -> None:
    assert is_kept([TRIAL], tmp_path) is None, "devices that cannot take memory back"
    save(tmp_path / TRIAL.once_file, array(*NUMBERS))
    save(tmp_path / TRIAL.twice_file, array(*twice))
    found = is_kept([TRIAL], tmp_path)
    assert (found is not None and found.check == "cache") is kept
