"""Prepare the processes that judgements fork: one for each device, with PyTorch, the device and shared builds."""

from __future__ import annotations

import atexit
import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
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
_PASSING = ("PYTEST_CURRENT_TEST", "PWD", "OLDPWD", "SHLVL", "_", "COLUMNS", "LINES")
"""Environment variables that change with each step of a shell or of tests, and mean nothing to a judgement."""
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


class _Shared:
    """The prepared processes of this process, for as long as its environment stays as it was when they started."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._prepared: Prepared | None = None
        self._made_for: tuple[int, dict[str, str]] | None = None
        self._users = 0
        self._owner = 0

    @contextmanager
    def used(self) -> Iterator[Prepared]:
        """Yield them; others that end with the block if the environment changes while they are in use."""
        now = os.getpid(), {name: value for name, value in os.environ.items() if name not in _PASSING}
        with self._lock:
            if self._users == 0 and self._made_for != now:
                self.end()
                self._prepared, self._made_for, self._owner = Prepared(), now, os.getpid()
            prepared = self._prepared if self._made_for == now else None
            self._users += prepared is not None
        if prepared is None:
            with Prepared() as own:
                yield own
            return
        try:
            yield prepared
        except BaseException:
            self._made_for = None  # what could not be prepared may be so by the next time
            raise
        finally:
            with self._lock:
                self._users -= 1

    def end(self) -> None:
        """End the processes, unless they are those of a process that this one is a fork of."""
        if self._prepared is not None and self._owner == os.getpid():
            self._prepared.__exit__()
        self._prepared = None


_shared = _Shared()
atexit.register(_shared.end)


def shared() -> AbstractContextManager[Prepared]:
    """Return the prepared processes that all single judgements of this process share: each start imports PyTorch."""
    return _shared.used()


def _forks(device: Device, modules: tuple[str, ...], **more: str) -> Forks:
    # Importing NumPy would start threads, and only one thread survives a fork.
    return Forks((device.warmed, *modules), {"OPENBLAS_NUM_THREADS": "1", **dict(device.variables), **more})
