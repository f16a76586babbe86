"""Where answers run: devices of PyTorch's that twins simulate.  A device is one row."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from opbridge.errors import KernelError
from opbridge.twins import ascend, cuda


@dataclass(frozen=True)
class Device:
    name: str
    """PyTorch's."""
    warmed: str
    """The module that brings it, and builds what all answers need, when it is imported."""
    library: str
    """The twin's, as it is loaded then."""
    mute: str
    """A function of the twin's library: whether kernels do nothing."""
    run_alone: str = ""
    """A function of it: of how many blocks of a launch the others are left out; empty where none can be."""
    reports: tuple[str, str] | None = None
    """Functions of it: to keep what is found for who asks, and to ask.  None where PyTorch raises it by itself."""
    variables: tuple[tuple[str, str], ...] = ()
    """Of the environment, for its processes."""

    def twin(self) -> ctypes.CDLL:
        # By its name alone: the one that kernels are linked with, and none that is built anew.
        return ctypes.CDLL(self.library)

    def make_mute(self, on: bool) -> None:
        self.twin()[self.mute](int(on))

    def leave_out_all_but(self, blocks: int) -> None:
        self.twin()[self.run_alone](blocks)

    @contextmanager
    def telling(self) -> Iterator[None]:
        """At the end kernels are done, and what the twin has found is raised, whatever the answer made of it."""
        try:
            yield
        finally:
            try:
                self._synchronize()
            finally:
                self._raise_reports()

    def keep_reports(self) -> None:
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
    "opbridge.judging.warmed_cuda",
    cuda.LIBRARY,
    "ob_twin_mute",
    run_alone="ob_twin_run_alone",
    variables=(("OPBRIDGE_CUDA_TWIN", ""), ("CUDA_VISIBLE_DEVICES", "0")),
)
NPU = Device(
    "npu",
    "opbridge.judging.warmed_npu",
    ascend.LIBRARY,
    "ob_ascend_mute",
    reports=("ob_ascend_attach_host", "ob_ascend_take_reports"),
    # An installed torch_npu is not asked: the stand-in has its name here.
    variables=(("TORCH_DEVICE_BACKEND_AUTOLOAD", "0"), ("OPBRIDGE_NPU_DEVICES", "1")),
)
