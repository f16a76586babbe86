"""Pictures: whatever the numbers are, they lie inside of the frame, and nothing is drawn of nothing."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st
from runs import measured, run_of

from opbridge.analysis.bench import LARGE
from opbridge.analysis.report import charts
from opbridge.analysis.report.axes import HEIGHT, WIDTH, Axes, Names, Powers
from opbridge.verify.check import Curve, Row, Status

POSITIVE = st.floats(1e-18, 1e18)


@given(st.lists(st.tuples(POSITIVE, POSITIVE), min_size=1), st.booleans())
def test_points_lie_inside_of_their_frame(points: list[tuple[float, float]], descending: bool) -> None:
    across, up = zip(*points, strict=True)
    axes = Axes(Powers.around(across), Powers.around(up), "x", "y", descending)
    for point in points:
        x, y = axes.at(point)
        assert 0 < x < WIDTH
        assert 0 < y < HEIGHT


@given(st.lists(POSITIVE, min_size=1))
def test_a_scale_has_few_marks_and_holds_its_numbers(values: list[float]) -> None:
    scale = Powers.around(values)
    assert scale.low <= min(values) * 1.000001
    assert scale.high >= max(values) * 0.999999
    assert 2 <= len(scale.ticks()) <= 9


def test_names_are_shortened_and_thinned_out() -> None:
    ticks = Names([f"a-very-long-name-{number}" for number in range(20)]).ticks()
    assert len(ticks) == 5
    assert ticks[0] == (0, "a-very-long…")


@given(st.lists(st.one_of(st.floats(0, 1e3), st.just(float("inf"))), min_size=3, max_size=20))
def test_a_gradients_error_may_be_anything(errors: list[float]) -> None:
    eps = tuple(10.0 ** (-place - 1) for place in range(len(errors)))
    row = Row("mine::op", "torch", "gradients", Status.PASSED, "fine", curves=(Curve("float64", eps, tuple(errors)),))
    drawn = charts.gradient("name", row) or ""
    assert bool(drawn) == (min(errors) < float("inf"))
    for x, y in re.findall(r"([\d.]+),([\d.]+)", "".join(re.findall(r'points="([^"]*)"', drawn))):
        assert 0 < float(x) < WIDTH
        assert 0 < float(y) < HEIGHT


def test_a_roofline_needs_a_flops_rule() -> None:
    point = measured(1e-2, extent=LARGE)
    assert charts.roofline("name", run_of(measured(1e-6))) is None
    drawn = charts.roofline("name", run_of(point))
    assert drawn is not None
    assert "mine::op in numpy: 6.40 GFLOP/s at 2 operations a byte" in drawn
    assert "copies 10.0 GB/s" in drawn


def test_history_needs_two_runs() -> None:
    run = run_of(measured(1e-6))
    assert charts.history("name", "mine::op", {"one": run}, "small") is None
    assert charts.history("name", "mine::other", {"one": run, "two": run}, "small") is None
    assert charts.history("name", "mine::op", {"one": run, "two": run}, "small") is not None
