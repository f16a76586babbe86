"""Define the devices that answers run on: PyTorch devices that twins simulate. A device is one row."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from opbridge.base.errors import KernelError
from opbridge.twins import ascend, cuda


@dataclass(frozen=True)
class Device:
    """A simulated PyTorch device."""

    name: str
    """The PyTorch device name."""
    warmed: str
    """The module whose import provides the device and builds what all answers need."""
    library: str
    """The library of the twin, loaded by that import."""
    mute: str
    """The twin function that switches kernels off and on."""
    run_alone: str = ""
    """The twin function that limits launches to a number of blocks; empty if it cannot."""
    record: str = ""
    """The twin function that records what is written to memory, and by whom; empty if it cannot."""
    reports: tuple[str, str] | None = None
    """The twin functions to collect findings and to return them; None if PyTorch raises findings itself."""
    variables: tuple[tuple[str, str], ...] = ()
    """Environment variables for its processes."""

    def twin(self) -> ctypes.CDLL:
        """Return the loaded library of the twin."""
        # Load it by name only, to get the library that kernels are linked with instead of a new build.
        return ctypes.CDLL(self.library)

    def make_mute(self, on: bool) -> None:
        """Switch kernels off, so that they do nothing, or on again."""
        self.twin()[self.mute](int(on))

    def leave_out_all_but(self, blocks: int) -> None:
        """Simulate only this many blocks of each launch."""
        self.twin()[self.run_alone](blocks)

    @contextmanager
    def recording_writes(self, file: Path, most: int) -> Iterator[None]:
        """Record in a new file of at most so many bytes what is written to memory, if the twin can."""
        if not self.record:
            yield
            return
        record = self.twin()[self.record]
        record.argtypes = [ctypes.c_char_p, ctypes.c_size_t]
        record(os.fsencode(file), most)
        try:
            yield
        finally:
            record(None, 0)

    @contextmanager
    def telling(self) -> Iterator[None]:
        """Wait for the kernels at the end, and raise what the twin found, even if the answer caught it."""
        try:
            yield
        finally:
            try:
                self._synchronize()
            finally:
                self._raise_reports()

    def keep_reports(self) -> None:
        """Start to collect findings, if the twin does not raise them itself."""
        if self.reports:
            self.twin()[self.reports[0]]()

    def _synchronize(self) -> None:
        import torch

        getattr(torch, self.name).synchronize()

    def _raise_reports(self) -> None:
        if self.reports is None:
            return
        take: Any = self.twin()[self.reports[1]]
        take.restype = ctypes.c_char_p
        if found := take():
            raise KernelError(found.decode(errors="replace").rstrip())


CUDA = Device(
    "cuda",
    "opbridge.analysis.judge.process.preloaded_cuda",
    cuda.LIBRARY,
    "ob_twin_mute",
    run_alone="ob_twin_run_alone",
    record="ob_twin_record_writes",
    variables=(("OPBRIDGE_CUDA_TWIN", ""), ("CUDA_VISIBLE_DEVICES", "0")),
)
NPU = Device(
    "npu",
    "opbridge.analysis.judge.process.preloaded_npu",
    ascend.LIBRARY,
    "ob_ascend_mute",
    reports=("ob_ascend_attach_host", "ob_ascend_take_reports"),
    # Do not load an installed torch_npu: the stand-in takes its name here.
    variables=(("TORCH_DEVICE_BACKEND_AUTOLOAD", "0"), ("OPBRIDGE_NPU_DEVICES", "1")),
)
