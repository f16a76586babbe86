"""What the processes of judgements are forks of: for each device one that has PyTorch, it, and what answers share."""

from __future__ import annotations

from contextlib import ExitStack
from threading import Lock

from opbridge.check.forking import Forks
from opbridge.costs.profiling import ALONE
from opbridge.judging.devices import CUDA, Device
from opbridge.toolchains.cuda_twin import PROFILE

_MODULES = ("opbridge.judging.answers", "opbridge.judging.problems", "opbridge.judging.warmed")
_COUNTED = ("opbridge.judging.warmed", "opbridge.costs.pytorch.models")
_COUNTING = {PROFILE: "/a/folder/that/each/has/of/its/own", ALONE: "1"}
"""So that the device is the one that counts."""
NO_DEVICE = {"CUDA_VISIBLE_DEVICES": ""}
"""For the reference, which runs on the CPU."""


class Prepared:
    """Each begins when an answer first needs it."""

    def __init__(self) -> None:
        self._forks: dict[Device, Forks] = {}
        self._ends = ExitStack()
        self._lock = Lock()

    def of(self, device: Device) -> Forks:
        with self._lock:
            if device not in self._forks:
                self._forks[device] = self._ends.enter_context(_forks(device, _MODULES))
            return self._forks[device]

    def __enter__(self) -> Prepared:
        return self

    def __exit__(self, *_: object) -> None:
        self._ends.close()


def prepared_to_count() -> Forks:
    return _forks(CUDA, _COUNTED, **_COUNTING)


def _forks(device: Device, modules: tuple[str, ...], **more: str) -> Forks:
    # NumPy would start threads as it is imported, and a fork has one.
    return Forks((device.warmed, *modules), {"OPENBLAS_NUM_THREADS": "1", **dict(device.variables), **more})
