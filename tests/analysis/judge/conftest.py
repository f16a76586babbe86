"""The processes that judgements are forked from, with PyTorch and the simulated devices imported once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from opbridge.analysis.judge import Judgement
from opbridge.analysis.judge.answer.submissions import Options
from opbridge.analysis.judge.process.prepared import Prepared
from opbridge.analysis.judge.verdict.judge_one import judge_by


@pytest.fixture(scope="session")
def prepared() -> Iterator[Prepared]:
    """Prepare the processes as for a folder of answers; all tests of a worker share them."""
    with Prepared() as made:
        yield made


@pytest.fixture
def judged_files(prepared: Prepared) -> Callable[[Path, Path], Judgement]:
    """Return a function that judges the file of an answer to a task."""
    return lambda task, answer: judge_by(prepared, task, answer, Options(timeout=300))


@pytest.fixture
def judged(prepared: Prepared, tmp_path: Path) -> Callable[[Path, str], Judgement]:
    """Return a function that judges the text of an answer to a task, as `ob.judge` does."""

    def judge(task: Path, source: str) -> Judgement:
        answer = tmp_path / "answer.py"
        answer.write_text(source.replace("{reference!r}", repr(str(task))))
        return judge_by(prepared, task, answer, Options(timeout=300))

    return judge
