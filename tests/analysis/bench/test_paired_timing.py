"""Races are fair, and spreads are what they say."""

from __future__ import annotations

import time

from hypothesis import given
from hypothesis import strategies as st

from opbridge.analysis.bench.paired_timing import Spread, burst, race, ratios
from opbridge.analysis.bench.tables import amount, percent, seconds

TIMES = st.lists(st.floats(1e-9, 1e3), min_size=1, max_size=50)


@given(TIMES)
def test_half_of_the_numbers_lie_between_the_quartiles(values: list[float]) -> None:
    spread = Spread.of(values)
    assert min(values) <= spread.low <= spread.median <= spread.high <= max(values)


def test_every_round_starts_with_another_one() -> None:
    order: list[str] = []

    def contestant(name: str) -> float:
        order.append(name)
        return float(len(order))

    times = race({name: lambda name=name: contestant(name) for name in "abc"}, rounds=3)
    assert "".join(order) == "abcbcacab"
    assert times["a"] == [1.0, 6.0, 8.0]


def test_a_ratio_is_of_pairs() -> None:
    """A machine that is ten times slower in one round is so for both."""
    assert ratios([1.0, 10.0, 1.0], [2.0, 20.0, 2.0]) == Spread(0.5, 0.5, 0.5)


def test_a_burst_counts_the_wait_for_what_it_started() -> None:
    assert burst("pass", finish=lambda: time.sleep(0.01))() > burst("pass")()


def test_numbers_have_three_digits_and_a_unit() -> None:
    assert [seconds(value) for value in (2.5e-8, 3.14159e-7, 0.0421, 12.3, 0.0)] == [
        "25.0 ns",
        "314 ns",
        "42.1 ms",
        "12.3 s",
        "0.00 ns",
    ]
    assert [percent(part) for part in (0.582, 0.0123, 0.0042)] == ["58%", "1%", "0.4%"]
    assert [amount(value, "B/s") for value in (12, 1.29e10, 2.15e12)] == ["12.0 B/s", "12.9 GB/s", "2.15 TB/s"]
