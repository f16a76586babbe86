"""What an answer costs on a chip beside its reference, at the published sizes and without the chip."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from opbridge.check.child import Child
from opbridge.costs import chip_named
from opbridge.costs.analysing import analysed
from opbridge.costs.chips import Chip
from opbridge.costs.counted import read
from opbridge.costs.profiling import ALONE
from opbridge.costs.pytorch.timing import Call, ModelCost
from opbridge.errors import KernelError, UnsupportedError
from opbridge.judging.confining import Cell, private_folder
from opbridge.judging.cost_worker import CostJob
from opbridge.judging.formats import format_of
from opbridge.toolchains.cuda_twin import PROFILE

_WORKER = "opbridge.judging.cost_worker"


@dataclass(frozen=True)
class Prediction:
    """What is kept of costs."""

    chip: str
    seconds: float
    reference_seconds: float

    def __str__(self) -> str:
        return f"{self.seconds * 1e3:.3g} ms on {self.chip}, {self.speedup:.2g} times as fast"

    @property
    def speedup(self) -> float:
        return self.reference_seconds / self.seconds if self.seconds else float("inf")


@dataclass(frozen=True)
class Costs:
    reference: ModelCost
    answer: ModelCost

    @property
    def speedup(self) -> float:
        return self.prediction.speedup

    @property
    def prediction(self) -> Prediction:
        return Prediction(self.answer.chip.name, self.answer.seconds, self.reference.seconds)

    def fields(self) -> dict[str, Any]:
        return {
            "predicted_speedup": self.speedup,
            "reference": self.reference.fields(),
            "answer": self.answer.fields(),
        }

    def __str__(self) -> str:
        chip = self.answer.chip.title
        both = f"{self.answer.seconds * 1e3:.3g} ms, the reference {self.reference.seconds * 1e3:.3g} ms"
        return f"predicted for {chip}, never measured: {both}: {self.speedup:.2g} times as fast"


def costs(
    reference: str | os.PathLike[str], answer: str | os.PathLike[str], chip: str = "a100", timeout: float = 300.0
) -> Costs:
    """`timeout` is of building and calling each of the two."""
    task, other, found = Path(os.path.abspath(reference)), Path(os.path.abspath(answer)), chip_named(chip)
    form = format_of(task)
    if form.hands_functions:
        raise UnsupportedError(f"{task.name} hands functions to its model; costs are of answers that are models")
    model, inputs, initial = form.of_reference
    return Costs(
        _cost(task, task, (model, inputs, initial), "cpu", found, timeout),
        _cost(task, other, (form.answer, inputs, initial), "cuda", found, timeout),
    )


def _cost(task: Path, model: Path, names: tuple[str, str, str], device: str, chip: Chip, timeout: float) -> ModelCost:
    from opbridge.cache import Cache

    with tempfile.TemporaryDirectory(dir=private_folder()) as made:
        folder = Path(made)
        counts = folder / "counts"
        counts.mkdir()
        copies = [
            Path(shutil.copyfile(path, folder / f"{which}.py")) for which, path in (("task", task), ("model", model))
        ]
        job = CostJob(copies[0], copies[1], names, device, Cell(folder, Cache().root, among=private_folder()))
        variables = {PROFILE: str(counts), ALONE: "1"} if device == "cuda" else {}
        calls = _ran(job, model.name, variables, timeout)
        return ModelCost(chip, analysed(read(counts), chip), calls)


def _ran(job: CostJob, name: str, variables: Mapping[str, str], timeout: float) -> tuple[Call, ...]:
    found: tuple[Call, ...] | None = None
    with Child(_WORKER, [job], dict(variables), timeout) as child:
        for said in child.messages():
            if "refused" in said:
                raise UnsupportedError(said["refused"])
            if "failed" in said:
                raise KernelError(f"{name} cannot be counted: {said['failed']}")
            if "calls" in said:
                found = tuple(Call(**call) for call in said["calls"])
        how = child.end()
        if found is None:
            raise KernelError(f"{name} cannot be counted: its process ends early: {how}\n{child.log()[-2000:]}")
    return found
