"""Prepare the processes that judgements fork: one for each device, with PyTorch, the device and shared builds."""

from __future__ import annotations

from contextlib import ExitStack
from threading import Lock

from opbridge.analysis.judge.process.devices import CUDA, Device
from opbridge.analysis.profile.profiled_process import ALONE
from opbridge.build.toolchains.interface import PROFILE
from opbridge.verify.check.forked_processes import Forks

_MODULES = (
    "opbridge.analysis.judge.answer.model_maker",
    "opbridge.analysis.judge.process.model_caller",
    "opbridge.analysis.judge.task.problems",
    "opbridge.analysis.judge.process.preloaded",
)
_COUNTED = ("opbridge.analysis.judge.process.preloaded", "opbridge.analysis.profile.pytorch.model_call")
_COUNTING = {PROFILE: "/a/folder/that/each/has/of/its/own", ALONE: "1"}
"""Environment variables that make the device count operations."""
NO_DEVICE = {"CUDA_VISIBLE_DEVICES": ""}
"""Environment variables for the reference, which runs on the CPU."""


class Prepared:
    """The prepared processes; each starts when an answer first needs it."""

    def __init__(self) -> None:
        self._forks: dict[Device | None, Forks] = {}  # None: the forks that count
        self._ends = ExitStack()
        self._lock = Lock()

    def of(self, device: Device) -> Forks:
        """Return the forks for answers on a device."""
        return self._kept(device, _forks(device, _MODULES))

    def to_count(self) -> Forks:
        """Return the forks that count operations."""
        return self._kept(None, _forks(CUDA, _COUNTED, **_COUNTING))

    def _kept(self, which: Device | None, forks: Forks) -> Forks:
        """Return the first forks that were created for `which`."""
        with self._lock:
            if which not in self._forks:
                self._forks[which] = self._ends.enter_context(forks)
            return self._forks[which]

    def __enter__(self) -> Prepared:
        return self

    def __exit__(self, *_: object) -> None:
        self._ends.close()


def _forks(device: Device, modules: tuple[str, ...], **more: str) -> Forks:
    # Importing NumPy would start threads, and only one thread survives a fork.
    return Forks((device.warmed, *modules), {"OPENBLAS_NUM_THREADS": "1", **dict(device.variables), **more})
