"""From what happened to a verdict; nothing is compiled or run here."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from opbridge.analysis.judge.judgement import Judgement, Verdict
from opbridge.analysis.judge.process.jobs import MUTED, Trial, telling
from opbridge.analysis.judge.process.record_channel import Record, Records
from opbridge.analysis.judge.process.run_record import Run
from opbridge.analysis.judge.task.input_numbers import LARGE
from opbridge.analysis.judge.task.shapes import LOOSE, ODD, PUBLISHED, SHRUNK, Plan
from opbridge.analysis.judge.values import Array, save
from opbridge.analysis.judge.verdict.verdict_from_runs import decide
from opbridge.verify.check.process_limits import TOO_MUCH_MEMORY

OPERATORS = ("relu", "mul")
FOUND = """CUDA error: an illegal memory access was encountered
cuda-twin: kernel: read of 4 bytes out of bounds [out-of-bounds]
  where   cuda.cu:6, thread (232, 0, 0) of block (3, 0, 0)
  hint    compare the index with the number of elements"""


def array(*numbers: float, dtype: str = "float32") -> Array:
    return Array(dtype, (len(numbers),), np.array(numbers, dtype).tobytes())


class Case:
    """Calls of which each is right, until something else is said."""

    def __init__(self, folder: Path, *kinds: str, is_relied_on: bool = False) -> None:
        self.expected, self.own = folder / "expected", folder / "own"
        self.expected.mkdir()
        self.own.mkdir()
        self.run = Run(built=True, done=True)
        plans = {kind: Plan(kind, (("widths", [64, 128]),), is_relied_on=is_relied_on) for kind in kinds}
        self.trials = tuple(Trial(i, plans[kind], i + 1, f"float32[{i}]", OPERATORS) for i, kind in enumerate(kinds))
        for trial in self.trials:
            right = (1.0 + trial.number, 2.0)
            save(self.expected / trial.exact_file, array(*right, dtype="float64"))
            save(self.expected / trial.rounded_file, array(*right))
            save(self.expected / trial.inputs_file, [array(5.0, 5.0)])
            self.gives(trial.number, *right)
            self.run.hear({"ran": trial.number, "operators": [], "changed": [], "operations": 0.0, "calls": 2})

    def gives(self, number: int, *values: float, again: tuple[float, ...] = ()) -> None:
        save(self.own / self.trials[number].output_file, array(*values))
        save(self.own / self.trials[number].again_file, array(*(again or values)))

    def fails(self, number: int, message: str, **fields: Any) -> None:
        self.run.ran.pop(number)
        self.run.hear({"failed": number, "kind": "RuntimeError", "message": message, "place": "answer.py:9", **fields})

    def decided(self) -> Judgement:
        return decide(self.run, self.trials, self.expected, self.own, ("published: too large",))


def test_what_is_right_of_a_wrong_answer_is_graded(tmp_path: Path) -> None:
    case = Case(tmp_path, SHRUNK, PUBLISHED)
    case.gives(0, 1.0, 7.0)
    case.gives(1, 7.0, 7.0)
    found = case.decided()
    assert found.verdict is Verdict.WRONG
    assert found.shares == (("float32[0]", 0.5), ("float32[1]", 0.0))
    assert found.compiled
    assert Judgement.parse(found.to_json()) == found


def test_right_everywhere(tmp_path: Path) -> None:
    found = Case(tmp_path, SHRUNK, SHRUNK, PUBLISHED, ODD).decided()
    assert (found.verdict, found.holds_for) == (Verdict.RIGHT, "all shapes")


@pytest.mark.parametrize(
    ("kinds", "bad", "verdict"),
    [
        ((SHRUNK, PUBLISHED, ODD), 2, Verdict.RIGHT),
        ((SHRUNK, PUBLISHED, ODD), 0, Verdict.RIGHT),
        ((SHRUNK, PUBLISHED, ODD), 1, Verdict.WRONG),
        ((SHRUNK, ODD), 0, Verdict.WRONG),
        ((LOOSE, LOOSE), 0, Verdict.UNDECIDED),
        ((ODD,), 0, Verdict.UNDECIDED),
    ],
)
def test_an_answer_may_rely_on_published_sizes(
    tmp_path: Path, kinds: tuple[str, ...], bad: int, verdict: Verdict
) -> None:
    case = Case(tmp_path, *kinds, is_relied_on=LOOSE in kinds)
    case.gives(bad, 7.0, 7.0)
    found = case.decided()
    assert found.verdict is verdict
    assert found.reasons[0].check == "values"
    assert found.reasons[0].shape == f"float32[{bad}]"
    if verdict is Verdict.RIGHT:
        assert found.holds_for == "published shapes"
    assert found.wants_larger_sizes is (verdict is Verdict.UNDECIDED)


@pytest.mark.parametrize(("kind", "verdict"), [(SHRUNK, Verdict.WRONG), (ODD, Verdict.RIGHT)])
def test_no_published_size_excuses_a_later_call(tmp_path: Path, kind: str, verdict: Verdict) -> None:
    case = Case(tmp_path, SHRUNK, PUBLISHED, ODD)
    number = 0 if kind == SHRUNK else 2
    case.gives(number, 1.0 + number, 2.0, again=(7.0, 7.0))
    found = case.decided()
    assert (found.verdict, found.reasons[0].check) == (verdict, "second call")


@pytest.mark.parametrize(
    ("bad", "holds_for", "shape"),
    [
        ((1,), "published numbers", "float32[1] up to 16"),
        ((1, 3), "published shapes", "float32[3]"),
        ((0, 1), "published shapes", "float32[0]"),
    ],
)
def test_an_answer_may_rely_on_numbers_as_its_task_draws_them(
    tmp_path: Path, bad: tuple[int, ...], holds_for: str, shape: str
) -> None:
    case = Case(tmp_path, SHRUNK, SHRUNK, PUBLISHED, ODD)
    case.trials = tuple(replace(trial, numbers=LARGE) if trial.number == 1 else trial for trial in case.trials)
    for number in bad:
        case.gives(number, 7.0, 7.0)
    found = case.decided()
    assert (found.verdict, found.holds_for) == (Verdict.RIGHT, holds_for)
    assert found.reasons[0].shape == (
        "float32[1] up to 16" if bad == (1,) else f"float32[{bad[-1] if 3 in bad else 0}]"
    )


def test_large_numbers_are_no_excuse_for_what_no_kernel_may_do(tmp_path: Path) -> None:
    case = Case(tmp_path, SHRUNK, SHRUNK, PUBLISHED)
    case.trials = (case.trials[0], replace(case.trials[1], numbers=LARGE), case.trials[2])
    case.fails(1, FOUND)
    found = case.decided()
    assert (found.verdict, found.reasons[0].check) == (Verdict.WRONG, "out-of-bounds")


def test_who_names_nothing_that_divides_the_published_sizes_relies_on_none(tmp_path: Path) -> None:
    case = Case(tmp_path, LOOSE, LOOSE)
    case.gives(0, 7.0, 7.0)
    assert case.decided().verdict is Verdict.WRONG


@pytest.mark.parametrize("drawn", [(0.5, 8.0, 7.0), (0.25, 0.75, 0.5)])
def test_other_parameters_are_wrong_at_any_size(tmp_path: Path, drawn: tuple[float, ...]) -> None:
    """Those of the same numbers in another order may be right at the sizes that the task publishes."""
    case = Case(tmp_path, LOOSE, LOOSE, is_relied_on=True)
    case.gives(0, 7.0, 7.0)
    save(case.expected / case.trials[0].parameters_file, [array(0.25, 0.5), array(0.75)])
    save(case.own / case.trials[0].parameters_file, [array(*drawn)])
    found = case.decided()
    of_the_reference = {0.25, 0.5, 0.75} == set(drawn)
    assert found.verdict is (Verdict.UNDECIDED if of_the_reference else Verdict.WRONG)
    assert found.reasons[0].check == ("values" if of_the_reference else "parameters")


@pytest.mark.parametrize(("kind", "verdict"), [("TypeError", Verdict.BROKEN), ("RuntimeError", Verdict.UNDECIDED)])
def test_a_call_that_no_size_makes_right_needs_no_larger_ones(tmp_path: Path, kind: str, verdict: Verdict) -> None:
    case = Case(tmp_path, LOOSE, is_relied_on=True)
    case.fails(0, "incompatible function arguments", kind=kind)
    assert case.decided().verdict is verdict


def test_no_answer_is_broken_for_tools_of_ours(tmp_path: Path) -> None:
    case = Case(tmp_path, SHRUNK)
    case.run.raised = {
        "kind": "OSError",
        "message": "[Errno 116] Stale file handle",
        "place": "answer.py:3",
        "tools": True,
    }
    found = case.decided()
    assert (found.verdict, found.reasons[0].check) == (Verdict.UNDECIDED, "machine")


@pytest.mark.parametrize(("kind", "verdict"), [(SHRUNK, Verdict.WRONG), (PUBLISHED, Verdict.UNDECIDED)])
def test_what_takes_long_need_not_be_endless(tmp_path: Path, kind: str, verdict: Verdict) -> None:
    case = Case(tmp_path, kind)
    case.fails(0, FOUND.replace("out-of-bounds", "endless"))
    assert case.decided().verdict is verdict


def test_what_the_twin_finds_has_its_line(tmp_path: Path) -> None:
    case = Case(tmp_path, SHRUNK)
    case.fails(0, FOUND)
    found = case.decided()
    (reason,) = found.reasons
    assert (found.verdict, reason.check, reason.place) == (Verdict.WRONG, "out-of-bounds", "cuda.cu:6")
    assert reason.to_do == "compare the index with the number of elements"


@pytest.mark.parametrize(
    ("message", "build", "verdict", "place"),
    [
        ("cuda.cu:3:5: error: 'f' was not declared\n", True, Verdict.BROKEN, "cuda.cu:3"),
        ("cuda.cu:1:10: fatal error: cublas_v2.h: No such file or directory", True, Verdict.UNDECIDED, "answer.py:9"),
        ("#error cuDNN: not supported by the CUDA twin", True, Verdict.UNDECIDED, "answer.py:9"),
        ("compiling a.cu did not finish: Killed signal terminated program cc1plus", True, Verdict.UNDECIDED, ""),
        (
            "add.cpp:1:10: fatal error: catlass/catlass.hpp: No such file or directory",
            True,
            Verdict.UNDECIDED,
            "answer.py:9",
        ),
        ("aclnnAdd is of no operator in lib.so, and CANN's own are not here", False, Verdict.UNDECIDED, "answer.py:9"),
        ("ImportError: undefined symbol: cudnnCreate", False, Verdict.UNDECIDED, "answer.py:9"),
        ("expected a tensor", False, Verdict.BROKEN, "answer.py:9"),
    ],
)
def test_what_does_not_build(tmp_path: Path, message: str, build: bool, verdict: Verdict, place: str) -> None:
    case = Case(tmp_path)
    case.run = Run(raised={"kind": "Error", "message": message, "place": "answer.py:9", "build": build})
    found = case.decided()
    assert (found.verdict, found.reasons[0].place) == (verdict, place)


@pytest.mark.parametrize(
    ("end", "timed_out", "verdict"),
    [
        ("the process dies of SIGSEGV", False, Verdict.BROKEN),
        ("the process dies of SIGKILL", False, Verdict.UNDECIDED),
        ("no answer in 60 s", True, Verdict.UNDECIDED),
    ],
)
def test_who_ends_early(tmp_path: Path, end: str, timed_out: bool, verdict: Verdict) -> None:
    case = Case(tmp_path, SHRUNK)
    case.run = Run(built=True, at=0, end=end, timed_out=timed_out)
    found = case.decided()
    assert found.verdict is verdict
    assert end in found.reasons[0].message


def test_what_needs_more_memory_than_there_is_may_be_right_at_smaller_sizes(tmp_path: Path) -> None:
    case = Case(tmp_path, SHRUNK)
    for at in (0, MUTED):
        case.run = Run(built=True, at=at, end=TOO_MUCH_MEMORY)
        found = case.decided()
        assert (found.verdict, found.wants_smaller_sizes) == (Verdict.UNDECIDED, True)
    case.run.at = "building"
    assert not case.decided().wants_smaller_sizes


def test_a_second_call_gives_the_same(tmp_path: Path) -> None:
    case = Case(tmp_path, SHRUNK)
    case.gives(0, 1.0, 2.0, again=(1.0, 3.0))
    assert case.decided().reasons[0].check == "second call"


def test_inputs_stay(tmp_path: Path) -> None:
    case = Case(tmp_path, SHRUNK)
    case.run.ran[0]["changed"] = [1]
    assert "its input 1" in case.decided().reasons[0].message


def test_outputs_that_are_none(tmp_path: Path) -> None:
    case = Case(tmp_path, SHRUNK)
    (case.own / case.trials[0].output_file).write_bytes(b"harm")
    assert case.decided().verdict is Verdict.BROKEN


@pytest.mark.parametrize(("operators", "is_cheating"), [(["relu"], False), (["mul", "relu", "copy"], True)])
def test_some_kernel_stands_for_some_operator(tmp_path: Path, operators: list[str], is_cheating: bool) -> None:
    case = Case(tmp_path, SHRUNK)
    case.run.ran[0]["operators"] = operators
    assert (case.decided().verdict is Verdict.CHEATING) == is_cheating


@pytest.mark.parametrize(("muted", "is_cheating"), [((2.0, 2.0), True), ((2.0, float("nan")), False)])
def test_kernels_are_what_computes(tmp_path: Path, muted: tuple[float, ...], is_cheating: bool) -> None:
    case = Case(tmp_path, SHRUNK, SHRUNK, PUBLISHED)
    assert telling(case.trials).number == 1
    save(case.own / telling(case.trials).muted_file, array(*muted))
    case.run.hear({"muted": True})
    assert (case.decided().verdict is Verdict.CHEATING) == is_cheating


@pytest.mark.parametrize(
    ("others", "is_cheating"),
    [
        ([array(0.0, 0.0), array(2.0, 3.0)], True),
        ([array(2.0, 3.0, dtype="float64")], True),
        ([array(2.0, float("nan")), array(5.0, 5.0), array(2.0)], False),
        ([], False),
    ],
)
def test_what_others_compute_is_not_made_an_own_one_by_a_kernel_that_copies_it(
    tmp_path: Path, others: list[Array], is_cheating: bool
) -> None:
    """While kernels do nothing, a copy is not made, but what it copies is there."""
    case = Case(tmp_path, SHRUNK, SHRUNK, PUBLISHED)
    first = telling(case.trials)
    save(case.expected / first.exact_file, array(2.0, 3.0, dtype="float64"))
    save(case.expected / first.rounded_file, array(2.0, 3.0))
    case.gives(first.number, 2.0, 3.0)
    save(case.own / first.muted_file, array(float("nan"), float("nan")))
    save(case.own / first.others_file, others)
    case.run.hear({"muted": True})
    found = case.decided()
    assert (found.verdict is Verdict.CHEATING) == is_cheating
    assert not is_cheating or found.reasons[0].check == "kernels"


def test_outputs_of_two_calls_are_in_memory_of_their_own(tmp_path: Path) -> None:
    case = Case(tmp_path, SHRUNK)
    save(case.own / case.trials[0].kept_file, array(1.0, 2.0))
    assert case.decided().verdict is Verdict.RIGHT
    save(case.own / case.trials[0].kept_file, array(1.0, 3.0))
    found = case.decided()
    assert (found.verdict, found.reasons[0].check) == (Verdict.WRONG, "second call")


def test_who_talks_out_of_turn_is_not_believed(tmp_path: Path) -> None:
    case = Case(tmp_path, SHRUNK)
    case.run.nonsense = "it repeats a message that may come once: built"
    found = case.decided()
    assert (found.verdict, found.reasons[0].check) == (Verdict.BROKEN, "protocol")


def test_a_task_that_gives_the_same_for_all_inputs_is_said_to_be_one(tmp_path: Path) -> None:
    case = Case(tmp_path, PUBLISHED, PUBLISHED)
    case.trials = tuple(replace(trial, is_constant=True) for trial in case.trials)
    # As zeros do that a kernel adds nothing to.
    save(case.own / telling(case.trials).muted_file, array(2.0, 2.0))
    case.run.hear({"muted": True})
    found = case.decided()
    assert (found.verdict, [reason.check for reason in found.reasons]) == (Verdict.RIGHT, ["constant"])
    case.gives(1, 0.5, 2.0)
    assert case.decided().verdict is Verdict.WRONG


def test_how_many_tensors_are_returned_depends_on_no_sizes(tmp_path: Path) -> None:
    case = Case(tmp_path, LOOSE, is_relied_on=True)
    save(case.own / case.trials[0].output_file, [array(1.0, 2.0), array(1.0)])
    found = case.decided()
    assert (found.verdict, found.reasons[0].check) == (Verdict.WRONG, "outputs")
    assert found.reasons[0].message == "it returns 2 tensors instead of 1"


def test_where_smaller_sizes_make_the_output_the_same_for_all_inputs_another_one_is_wrong(tmp_path: Path) -> None:
    case = Case(tmp_path, SHRUNK, SHRUNK)
    case.trials = tuple(replace(trial, is_constant=True) for trial in case.trials)
    case.gives(1, 2.0, 2.005)
    assert case.decided().verdict is Verdict.UNDECIDED, "float32 may lose all digits of a mean of what is normed"
    case.gives(1, 2.0, 3.0)
    found = case.decided()
    assert (found.verdict, found.reasons[0].check) == (Verdict.WRONG, "values")
    assert "where all inputs give the same" in found.reasons[0].message


def test_outputs_of_earlier_inputs(tmp_path: Path) -> None:
    case = Case(tmp_path, SHRUNK, SHRUNK)
    case.gives(1, 1.0, 2.0)
    found = case.decided()
    assert (found.verdict, found.reasons[0].check) == (Verdict.CHEATING, "cache")


def test_no_sizes_small_enough(tmp_path: Path) -> None:
    found = Case(tmp_path).decided()
    assert (found.verdict, found.reasons[0].check) == (Verdict.UNDECIDED, "sizes")
    assert "too large" in found.reasons[0].message


def test_what_pytorch_itself_accesses_is_no_fault_of_the_answer(tmp_path: Path) -> None:
    case = Case(tmp_path, SHRUNK)
    case.fails(0, "cuda-twin: a framework: write of 40960 bytes beyond an allocation [copy-size]\n  hint    look")
    found = case.decided()
    assert (found.verdict, found.reasons[0].check) == (Verdict.UNDECIDED, "twin")


@pytest.mark.parametrize(
    ("first", "second", "verdict"),
    [
        ((1, 1), (1, 1), Verdict.RIGHT),
        ((1, 0), (1, 0), Verdict.CHEATING),
        ((6, 6), (6, 2), Verdict.CHEATING),
        ((3, 1), (1, 1), Verdict.RIGHT),  # it prepares its weights in the first call
    ],
)
def test_a_call_that_launches_less_for_the_same_inputs_keeps_results(
    tmp_path: Path, first: tuple[int, ...], second: tuple[int, ...], verdict: Verdict
) -> None:
    case = Case(tmp_path, SHRUNK, SHRUNK)
    launches = zip(case.trials, (first, second), strict=True)
    case.run.records = Records(
        tuple(Record(trial.record, launches=count) for trial, counts in launches for count in counts)
    )
    found = case.decided()
    assert found.verdict is verdict, found
    if verdict is Verdict.CHEATING:
        assert "with the same inputs, it launches fewer kernels" in str(found)
