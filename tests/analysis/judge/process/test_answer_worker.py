"""What the worker calls and saves, for answers on PyTorch's CPU, next to what the worker of the reference saved."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from opbridge.analysis.judge.answer.formats import PYTHON
from opbridge.analysis.judge.judgement import Judgement
from opbridge.analysis.judge.process import reference_worker
from opbridge.analysis.judge.process.confinement import Cell
from opbridge.analysis.judge.process.devices import Device
from opbridge.analysis.judge.process.jobs import AnswerJob, ReferenceJob, Trial, telling
from opbridge.analysis.judge.process.model_caller import Caller
from opbridge.analysis.judge.process.run_record import Run
from opbridge.analysis.judge.task.formats import format_of
from opbridge.analysis.judge.task.shapes import plans
from opbridge.analysis.judge.task.sizes import published_sizes
from opbridge.analysis.judge.verdict.expected import _trial
from opbridge.analysis.judge.verdict.verdict_from_runs import decide

TASK = """
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.linear = nn.Linear(n, n)
        self.norm = nn.BatchNorm1d(n)

    def forward(self, x):
        return self.norm(self.linear(x))


batch = 128
dim = 256


def get_inputs():
    return [torch.rand(batch, dim)]


def get_init_inputs():
    return [dim]
"""
SPACE: dict[str, type] = {}
exec(TASK, SPACE)


class Answer(SPACE["Model"]):  # type: ignore[misc]
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.as_tensor(self.norm(x @ self.linear.weight.T + self.linear.bias))


class WithLazyBuffer(Answer):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if not hasattr(self, "made"):
            self.register_buffer("made", torch.ones(3))
        return super().forward(x)


class WithStaleWeights(Answer):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if "packed" not in self.__dict__:
            self.__dict__["packed"] = self.linear.weight.detach().T.contiguous()
        return torch.as_tensor(self.norm(x @ self.__dict__["packed"] + self.linear.bias))


class WithoutStatistics(Answer):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = x @ self.linear.weight.T + self.linear.bias
        return (y - y.mean(0)) / torch.sqrt(y.var(0, unbiased=False) + 1e-5) * self.norm.weight + self.norm.bias


class UntilTheFortieth(Answer):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.__dict__["calls"] = self.__dict__.get("calls", 0) + 1
        return super().forward(x) * float(self.__dict__["calls"] < 40)


class ForTraining(Answer):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = x @ self.linear.weight.T + self.linear.bias
        self.norm.train()(y)  # its statistics move
        return (y - y.mean(0)) / torch.sqrt(y.var(0, unbiased=False) + 1e-5) * self.norm.weight + self.norm.bias


class WithSharedWeights(Answer):
    shared: dict[int, torch.Tensor] = {}  # noqa: RUF012

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        weight = self.shared.setdefault(x.shape[1], self.linear.weight)
        return torch.as_tensor(self.norm(x @ weight.T + self.linear.bias))


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> tuple[ReferenceJob, tuple[Trial, ...]]:
    folder = tmp_path_factory.mktemp("expected")
    task = folder / "reference.py"
    task.write_text(TASK)
    first, *others = plans(published_sizes(TASK), "")
    job = ReferenceJob(task, format_of(task), folder, (first, *others), (1, 2))
    made = reference_worker._trials(job, TASK, first, 0, reference_worker._LIMITS)
    assert not isinstance(made, str), made
    return job, tuple(_trial(said, job.plans) for said in made)


def decided(expected: tuple[ReferenceJob, tuple[Trial, ...]], folder: Path, answer: type) -> Judgement:
    reference, trials = expected
    form = replace(PYTHON, device=Device("cpu", "", "", ""))
    job = AnswerJob(reference.reference, form, "", 1, False, reference.folder, Cell(folder, folder))
    run, caller = Run(built=True, done=True), Caller(job, answer)
    for trial in trials:
        run.hear({"ran": trial.number, **caller.call(trial, is_recorded=trial == telling(trials))})
    return decide(run, trials, reference.folder, folder, (), "any")


@pytest.mark.parametrize(
    ("answer", "check"),
    [
        (Answer, ""),
        (WithLazyBuffer, ""),
        (WithStaleWeights, "weights"),
        (WithoutStatistics, "state"),
        (UntilTheFortieth, "second call"),
        (ForTraining, "mode"),
        (WithSharedWeights, "models"),
    ],
)
def test_state_and_later_calls(
    expected: tuple[ReferenceJob, tuple[Trial, ...]], tmp_path: Path, answer: type, check: str
) -> None:
    found = decided(expected, tmp_path, answer)
    assert [reason.check for reason in found.reasons] == [check] * bool(check), found
    assert found.verdict.value == ("wrong" if check else "right")
