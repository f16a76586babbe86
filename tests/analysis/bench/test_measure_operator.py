"""Operators measured in real frameworks, in processes of their own; what is counted, and what cannot be measured."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from opbridge.analysis.bench import LARGE, SMALL, Run, bench
from opbridge.base.errors import InputError, OpbridgeError
from opbridge.verify.check.process_limits import children_of
from opbridge.waist.op import OpLibrary

ROUNDS = 3


@pytest.fixture(scope="module")
def everywhere(benched: OpLibrary, project: Path) -> Run:
    """One operator in every framework against one function, which takes the tensors of each."""
    return bench(benched.twice, references=[f"{project}/expected.py:doubled"], rounds=ROUNDS)


def test_every_framework_races_the_reference_with_both_samples(everywhere: Run) -> None:
    places = [(item.framework, item.extent) for item in everywhere.measurements]
    assert {"torch", "numpy", "mindspore", "jax"} <= {framework for framework, _ in places}
    assert len(set(places)) == len(places) == 2 * len({framework for framework, _ in places})
    assert not everywhere.problems
    for item in everywhere.measurements:
        assert item.reference == "expected.py:doubled"
        assert item.ratio is not None
        assert item.time.low <= item.time.median <= item.time.high


def test_bytes_and_flops_are_counted_by_the_rules(everywhere: Run) -> None:
    small, large = (
        next(item for item in everywhere.measurements if item.framework == "numpy" and item.extent == extent)
        for extent in (SMALL, LARGE)
    )
    assert (small.bytes, small.flops) == (2 * 4 * 4, 4)
    assert (large.bytes, large.flops) == (2 * 4 * 512 * 512, 512 * 512)
    assert small.reached is None, "a call of 32 bytes says nothing of the machine"
    assert large.reached is not None
    assert large.bandwidth is not None
    assert large.rate is not None
    assert large.reached.median > 0
    assert large.bound in ("memory", "arithmetic"), "whichever of the two this machine does more slowly today"


def test_every_framework_is_imported_before_one_is_measured(benched: OpLibrary) -> None:
    """Beside each other, so that nobody waits for one import after the other."""
    workers: list[int] = []

    def count(_: object) -> None:
        commands = (Path(f"/proc/{pid}/cmdline").read_bytes() for pid in children_of(os.getpid()))
        workers.append(sum(b"opbridge.analysis.bench.worker" in command for command in commands))

    bench(benched.twice, frameworks=["torch", "numpy"], rounds=1, extents=(SMALL,), on_result=count)
    assert workers[0] == 2


def test_a_run_comes_back_from_its_fields(everywhere: Run) -> None:
    assert Run.of(everywhere.fields()) == everywhere


def test_dimensions_grow_until_a_call_is_all_work(benched: OpLibrary) -> None:
    run = bench(benched.grows, frameworks=["numpy"], rounds=1)
    large = next(item for item in run.measurements if item.extent == LARGE)
    assert large.size is not None
    assert large.size >= 1000
    assert large.input == f"x=float32[{large.size}, {large.size}]"


def test_the_size_may_be_that_of_another_run(benched: OpLibrary) -> None:
    run = bench(benched.grows, frameworks=["numpy"], rounds=1, sizes={("benched::grows", "numpy"): 20})
    assert run.measurements[-1].input == "x=float32[20, 20]"


@pytest.mark.parametrize(
    ("reference", "said"),
    [
        ("expected.py:halved", "computes something else: it gives"),
        ("expected.py:stubborn", "does not take these tensors: not these"),
    ],
)
def test_a_reference_that_is_none_is_said_so(benched: OpLibrary, project: Path, reference: str, said: str) -> None:
    run = bench(benched.same, frameworks=["numpy"], references=[f"{project}/{reference}"], rounds=1)
    assert said in run.measurements[0].note
    assert run.measurements[0].ratio is None


def test_other_operators_are_references(benched: OpLibrary) -> None:
    run = bench(benched.same, frameworks=["numpy"], references=["twice"], others=benched, rounds=1)
    assert run.measurements[0].reference == "benched::twice"
    assert run.measurements[0].ratio is not None


def test_a_function_of_a_framework_is_a_reference_there_alone(benched: OpLibrary) -> None:
    run = bench(benched.same, frameworks=["numpy"], references=["torch:neg"], rounds=1)
    assert run.measurements[0].note == "no reference can be called there: torch:neg"


def test_what_ends_its_process_or_refuses_is_a_problem_and_the_rest_goes_on(benched: OpLibrary) -> None:
    run = bench([benched.dies, benched.refuses, benched.adds], frameworks=["numpy"], rounds=1)
    assert [problem.operator for problem in run.problems] == ["benched::dies", "benched::refuses"]
    assert "dies of SIGABRT, on x=float32[4]" in run.problems[0].message
    assert "never" in run.problems[1].message
    assert [item.operator for item in run.measurements] == ["benched::adds"]
    assert run.measurements[0].bytes == 2 * 4 * 4, "it is read and written"


@pytest.mark.parametrize(
    ("references", "words"),
    [
        (["twce"], "did you mean 'twice'?"),
        (["same=twce"], "did you mean 'twice'?"),
        (["smae=twice"], "did you mean 'same'?"),
        (["expected:nowhere"], "is not there"),
        (["math:sqtr"], "did you mean 'sqrt'?"),
    ],
)
def test_a_reference_that_does_not_exist_is_said(benched: OpLibrary, references: list[str], words: str) -> None:
    with pytest.raises(InputError, match="reference") as caught:
        bench(benched.same, frameworks=["numpy"], references=references, others=benched)
    assert words in str(caught.value)


def test_an_operator_of_pytorchs_that_does_not_exist_is_said(benched: OpLibrary) -> None:
    with pytest.raises(OpbridgeError, match="did you mean 'aten::relu'"):
        bench(benched.same, frameworks=["numpy"], references=["aten::relux"])


def test_one_reference_is_for_one_operator(benched: OpLibrary) -> None:
    with pytest.raises(InputError, match="--reference twice=aten::add"):
        bench([benched.twice, benched.same], references=["aten::add"])


def test_a_round_is_the_least(benched: OpLibrary) -> None:
    with pytest.raises(InputError, match="at least one round"):
        bench(benched.same, rounds=0)
