"""The mutants on which benchmarks/judge_mutants.py holds the judge."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"
sys.path.insert(0, str(BENCHMARKS))

import judge_mutants  # noqa: E402
import kernel_mutants  # noqa: E402

sys.path.remove(str(BENCHMARKS))

from opbridge.analysis.judge import Judgement, Reason, Verdict  # noqa: E402
from opbridge.analysis.judge.many.batch import Judged  # noqa: E402

KERNEL = """
template <typename T>
__global__ void total(const float* x, T* out, int n) {
  __shared__ float tile[64];
  float sum = 0.5f;
  for (int i = threadIdx.x; i < n; i += 64) sum += x[i] * 3;
  tile[threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.x < 1) out[0] = tile[0] + tile[1];
}
void host(int n) { total<float><<<(n + 255) / 256, 64>>>(nullptr, (float*)nullptr, n - 1); }
"""
ANSWER = f'from torch.utils.cpp_extension import load_inline\nSOURCE = """{KERNEL}"""\nn = 1 + 2\n'


def changed(kind: str) -> list[tuple[int, str, str]]:
    found = [edit for edit in kernel_mutants.edits(ANSWER) if edit.kind == kind]
    return [(ANSWER.count("\n", 0, e.begin) + 1, ANSWER[e.begin : e.end], e.text) for e in found]


@pytest.mark.parametrize(
    ("kind", "edits"),
    [
        ("operator", [(7, "*", "+"), (10, "+", "-")]),
        ("bound", [(7, "<", "<="), (10, "<", "<=")]),
        ("index", [(7, "]", " + 1]"), (8, "]", " + 1]"), (10, "]", " + 1]"), (10, "]", " + 1]")]),
        ("barrier", [(9, "__syncthreads", "void")]),
        ("guard", [(10, "if (threadIdx.x < 1)", "if (true)")]),
        ("element type", [(6, "float", "int")]),
        ("tail", [(12, " + 255", "")]),
    ],
)
def test_what_is_changed(kind: str, edits: list[tuple[int, str, str]]) -> None:
    """In kernels, and where they are started; neither in types and declarations, nor in Python."""
    found = changed(kind)
    assert [edit for edit in edits if edit in found] == edits
    assert {line for line, _, _ in found} == {line for line, _, _ in edits}


def test_each_mutant_is_another_and_the_same_seed_makes_the_same() -> None:
    some = kernel_mutants.mutants(ANSWER, 12, seed=3)
    assert some == kernel_mutants.mutants(ANSWER, 12, seed=3)
    assert len({mutant.source for mutant in some} | {ANSWER}) == 13
    for mutant in some:
        ast.parse(mutant.source)
        before, after = ANSWER.split("\n"), mutant.source.split("\n")
        assert [i for i, (one, other) in enumerate(zip(before, after, strict=True), 1) if one != other] == [mutant.line]


def test_answers_share_the_mutants(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / "right" / name).mkdir(parents=True)
        (tmp_path / "right" / name / "reference.py").touch()
        (tmp_path / "right" / name / "answer.py").write_text(ANSWER)
    made = judge_mutants.written(tmp_path / "right", tmp_path / "work", 5, seed=0)
    assert sorted(str(path.relative_to(tmp_path / "work").parent) for path in made) == ["000"] * 2 + ["001"] * 3


def test_what_is_told_of_other_shapes_has_a_column_of_its_own() -> None:
    found = (Reason("bounds", "reads beyond"),)
    verdicts = [Judgement(Verdict.WRONG, found), Judgement(Verdict.RIGHT, found), Judgement(Verdict.RIGHT)]
    mutants = kernel_mutants.mutants(ANSWER, 3, seed=0)
    paths = [Path(f"{number}.py") for number in range(3)]
    judged = [Judged(path, path, verdict, False) for path, verdict in zip(paths, verdicts, strict=True)]
    table = judge_mutants.table(dict(zip(paths, mutants, strict=True)), judged).splitlines()
    assert table[0] == "| changed | mutants | wrong | broken | cheating | right as published | undecided | right |"
    assert table[-1] == "rejected: 1 of 3"
