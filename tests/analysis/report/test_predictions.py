"""What was predicted stands beside what was measured, and is told from it."""

from __future__ import annotations

from dataclasses import replace

from runs import measured

from opbridge.analysis.bench.tables import PREDICTED
from opbridge.analysis.report.markup import joined
from opbridge.analysis.report.operator_section import times

MEASURED = measured(4e-3)
FORESEEN = replace(MEASURED, chip="h100", predicted=2.5e-6)


def test_a_prediction_names_its_chip_and_the_words_say_that_nothing_ran_there() -> None:
    shown = joined(times("Times", (FORESEEN,), None))
    assert "2.50 µs on h100" in shown
    assert "4.00 ms" in shown
    assert PREDICTED in shown


def test_times_alone_have_neither_the_column_nor_the_words() -> None:
    shown = joined(times("Times", (MEASURED,), None))
    assert "redicted" not in shown
