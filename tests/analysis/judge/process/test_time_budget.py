"""Calls that are left out."""

from __future__ import annotations

from opbridge.analysis.judge.process.jobs import Trial
from opbridge.analysis.judge.process.run_record import Run
from opbridge.analysis.judge.process.time_budget import Pace
from opbridge.analysis.judge.task.input_numbers import LARGE, OF_BOTH_SIGNS
from opbridge.analysis.judge.task.shapes import LONG, SHRUNK, Plan

SMALL, LENGTHY = Plan(SHRUNK, (("n", 64),)), Plan(LONG, (("n", 3072),))
TRIALS = (
    Trial(0, SMALL, 1, "", (), elements=1_000),
    Trial(1, SMALL, 2, "", (), elements=1_000),
    Trial(2, SMALL, 2, "", (), elements=1_000, numbers=OF_BOTH_SIGNS),
    Trial(3, SMALL, 2, "", (), elements=1_000, numbers=LARGE),
    Trial(4, LENGTHY, 1, "", (), elements=48_000),
)


def left_out_where_each_takes(seconds: float) -> list[int]:
    pace, left_out = Pace(TRIALS), []
    for trial in TRIALS:
        if pace.has_time_for(trial):
            pace.has_run(trial, seconds)
        else:
            left_out.append(trial.number)
    return left_out


def test_all_is_called_where_it_takes_little() -> None:
    assert left_out_where_each_takes(0.1) == []


def test_a_long_size_that_would_take_minutes_leaves_what_is_known_of_others() -> None:
    assert left_out_where_each_takes(1.0) == [4]


def test_numbers_of_both_signs_are_enough_where_each_call_takes_long() -> None:
    assert left_out_where_each_takes(12.0) == [1, 3, 4]


def test_what_was_ended_for_its_time_is_not_called_with_as_many_elements_again() -> None:
    pace = Pace(TRIALS)
    pace.has_failed(TRIALS[0], "cuda-twin: kernel: two threads race [global-race]")
    assert all(map(pace.has_time_for, TRIALS))
    pace.has_failed(TRIALS[0], "cuda-twin: kernel: the launch has run for longer than it may [endless]")
    assert not any(map(pace.has_time_for, TRIALS))
    assert pace.has_time_for(Trial(5, Plan(SHRUNK), 1, "", (), elements=125))


def test_what_was_left_out_is_not_weighed() -> None:
    run = Run(left_out={4})
    assert [trial.number for trial in run.called(TRIALS)] == [0, 1, 2, 3]


def test_the_judge_itself_measures_how_long_calls_take() -> None:
    """The answer is asked for nothing but which trial comes next; it cannot say that one takes too long."""
    pace = Pace(TRIALS)
    assert pace.allows(0, used=3.0)
    assert pace.allows(1, used=4.0), "the first took one second"
    assert not pace.allows(4, used=5.0)
    assert pace.allows(2, used=5.0)
