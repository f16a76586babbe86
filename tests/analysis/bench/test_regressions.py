"""What counts as slower than an earlier run, and which runs cannot be compared."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from runs import MACHINE, measured, run_of

from opbridge.analysis.bench.regressions import changes, require_comparable
from opbridge.base.errors import InputError


@given(st.floats(1e-7, 1.0), st.floats(0.2, 5.0), st.floats(0.01, 1.0))
def test_slower_is_past_the_threshold_and_outside_of_the_noise(before: float, times: float, threshold: float) -> None:
    (change,) = changes(run_of(measured(before * times)), run_of(measured(before)), "then")
    assert change.part == pytest.approx(times - 1)
    if change.is_slower(threshold):
        assert times > 1 + threshold * 0.999
    if times > 1 + threshold * 1.001 and times > 1.03:
        assert change.is_slower(threshold)


def test_noise_is_not_slower() -> None:
    (change,) = changes(run_of(measured(1.3, noise=0.5)), run_of(measured(1.0, noise=0.5)), "then")
    assert change.part == pytest.approx(0.3)
    assert not change.is_slower(0.1)


def test_a_busy_machine_is_not_slower_where_both_raced_one_reference() -> None:
    now, before = run_of(measured(2.0, ratio=0.5)), run_of(measured(1.0, ratio=0.5))
    (change,) = changes(now, before, "then")
    assert (change.by, change.part) == ("reference", pytest.approx(0.0))
    (other,) = changes(now, run_of(measured(1.0, ratio=0.5, reference="aten::sub")), "then")
    assert other.by == "time"


def test_another_machine_is_refused() -> None:
    require_comparable(MACHINE, run_of(measured(1.0)), "then")
    with pytest.raises(InputError, match=r"another machine \(processor a processor, cores 64\)"):
        require_comparable(MACHINE, run_of(measured(1.0), cores="64"), "then")


def test_other_inputs_are_refused() -> None:
    with pytest.raises(InputError, match=r"x=float32\[8\], and now x=float32\[4\]"):
        changes(run_of(measured(1.0)), run_of(measured(1.0, input="x=float32[8]")), "then")


def test_runs_without_anything_in_common_are_refused() -> None:
    with pytest.raises(InputError, match="none of these operators"):
        changes(run_of(measured(1.0)), run_of(measured(1.0, framework="jax")), "then")
