"""Predict the cost of an answer and its reference on a chip, at the published sizes and without the chip."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from opbridge.analysis.judge.answer.formats import answer_format
from opbridge.analysis.judge.process.confinement import Cell, written_to_cache
from opbridge.analysis.judge.process.cost_worker import CostJob
from opbridge.analysis.judge.process.devices import CUDA
from opbridge.analysis.judge.process.prepared import Prepared
from opbridge.analysis.judge.process.working_folder import working_folder
from opbridge.analysis.judge.task.formats import format_of
from opbridge.analysis.profile import chip_named
from opbridge.analysis.profile.chips import Chip
from opbridge.analysis.profile.counter_files import Counted, read
from opbridge.analysis.profile.kernel_costs import analysed
from opbridge.analysis.profile.pytorch.operator_times import Call, ModelCost
from opbridge.base.errors import KernelError, UnsupportedError
from opbridge.build.toolchains.interface import PROFILE
from opbridge.verify.check.child_process import Child
from opbridge.verify.check.forked_processes import Forks

_WORKER = "opbridge.analysis.judge.process.cost_worker"
_LIBRARY = re.compile(r"libopbridge_(\w+)_twin\.so")
"""The twin versions of NVIDIA libraries."""


@dataclass(frozen=True)
class Prediction:
    """The part of the costs that is kept with a verdict."""

    chip: str
    seconds: float
    reference_seconds: float

    def __str__(self) -> str:
        return f"{self.seconds * 1e3:.3g} ms on {self.chip}, {self.speedup:.2g} times as fast"

    @property
    def speedup(self) -> float:
        """How many times as fast as the reference the answer is."""
        return self.reference_seconds / self.seconds if self.seconds else float("inf")


@dataclass(frozen=True)
class Costs:
    """The costs of a reference and an answer."""

    reference: ModelCost
    answer: ModelCost

    @property
    def speedup(self) -> float:
        """How many times as fast as the reference the answer is."""
        return self.prediction.speedup

    @property
    def prediction(self) -> Prediction:
        """The part of the costs that is kept with a verdict."""
        return Prediction(self.answer.chip.name, self.answer.seconds, self.reference.seconds)

    def fields(self) -> dict[str, Any]:
        """Return the costs as a dictionary for JSON."""
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
    """Predict the costs of an answer and its reference on a chip.

    `timeout` applies separately to the reference and the answer, in seconds; it covers building and calling.

    Raises:
        UnsupportedError: The answer is not a model in CUDA.
        KernelError: A model cannot be counted.
    """
    with Prepared() as prepared:
        return costs_by(prepared, Path(os.path.abspath(reference)), Path(os.path.abspath(answer)), chip, timeout)


def costs_by(prepared: Prepared, task: Path, other: Path, chip: str, timeout: float = 300.0) -> Costs:
    """Predict the costs as `costs` does, with processes that several answers share."""
    found, form = chip_named(chip), format_of(task)
    if form.hands_functions:
        raise UnsupportedError(f"{task.name} hands functions to its model; costs are of answers that are models")
    written_as = answer_format(other.suffix, other.read_text(encoding="utf-8", errors="replace"))
    if written_as.device != CUDA:
        raise UnsupportedError(f"{other.name} is {written_as.name}; costs are of answers in CUDA")
    model, inputs, initial = form.of_reference
    forks = prepared.to_count()
    with ThreadPoolExecutor(1) as beside:
        of_reference = beside.submit(_cost, forks, task, task, (model, inputs, initial), "cpu", found, timeout)
        of_answer = _cost(forks, task, other, (form.answer, inputs, initial), CUDA.name, found, timeout)
        return Costs(of_reference.result(), of_answer)


def _cost(
    forks: Forks, task: Path, model: Path, names: tuple[str, str, str], device: str, chip: Chip, timeout: float
) -> ModelCost:
    from opbridge.build.cache import Cache

    with working_folder() as folder:
        counts = folder / "counts"
        counts.mkdir()
        copies = [
            Path(shutil.copyfile(path, folder / f"{which}.py")) for which, path in (("task", task), ("model", model))
        ]
        job = CostJob(copies[0], copies[1], names, device, Cell(folder, Cache().root))
        calls = _ran(forks, job, model.name, {PROFILE: str(counts)}, timeout)
        runs = [_as_seen_from_here(run, job.cell) for run in read(counts)]
        for run in runs:
            if why := _uncountable(run):
                raise KernelError(f"{model.name} cannot be counted: {why}")
        return ModelCost(chip, analysed(runs, chip), calls)


def _uncountable(run: Counted) -> str:
    """Return why counting missed work, so that a predicted time would be too short; empty if it is complete."""
    if not run.profiled_blocks:
        return f"a block of {run.name} does too much between two barriers"
    libraries = (_LIBRARY.fullmatch(Path(image.path).name) for image in run.images)
    used = sorted({found[1] for found in libraries if found})
    return f"it uses {', '.join(used)}, whose kernels are not those of a GPU" if used else ""


def _as_seen_from_here(run: Counted, cell: Cell) -> Counted:
    """Return the counts with library paths as this process sees them: the answer built them in its private cache."""
    images = (replace(image, path=str(written_to_cache(cell, Path(image.path)))) for image in run.images)
    return replace(run, images=tuple(images))


def _ran(forks: Forks, job: CostJob, name: str, variables: Mapping[str, str], timeout: float) -> tuple[Call, ...]:
    found: tuple[Call, ...] | None = None
    with Child(_WORKER, [job], variables, timeout, forks.start) as child:
        for said in child.messages():
            if "refused" in said:
                raise UnsupportedError(said["refused"])
            if "failed" in said:
                raise KernelError(f"{name} cannot be counted: {said['failed']}")
            if "calls" in said:
                found = tuple(Call.of(call) for call in said["calls"])
        how = child.end()
        if found is None:
            raise KernelError(f"{name} cannot be counted: its process ends early: {how}\n{child.log()[-2000:]}")
    return found
