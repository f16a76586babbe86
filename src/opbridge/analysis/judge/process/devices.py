"""Define the devices that answers run on: PyTorch devices that twins simulate. A device is one row."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from opbridge.analysis.judge.process.clocks import SLOWER, slow_clocks
from opbridge.analysis.judge.process.twin_functions import address_of, twin_function
from opbridge.base.errors import KernelError, UnsupportedError
from opbridge.twins import ascend, cuda

_ON_DEVICE = 3
"""`cudaMemcpyDeviceToDevice`."""


@dataclass(frozen=True)
class Device:
    """A simulated PyTorch device."""

    name: str
    """The PyTorch device name."""
    warmed: str
    """The module whose import provides the device and builds what all answers need."""
    library: str
    """The library of the twin, loaded by that import."""
    mute: str = ""
    """The exported function that switches kernels off and on; empty if it is one of the functions for judges."""
    has_judge_functions: bool = False
    """Whether the twin has functions for judges (`twin_functions`): to run some blocks of each launch alone, to record
    launches, operators, and what is written to memory by whom, to keep what memory holds, and to name the device."""
    copy: str = ""
    """The twin function that copies memory on a stream, as CUDA's does; empty if streams are not checked."""
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
        (twin_function("mute") if self.has_judge_functions else self.twin()[self.mute])(int(on))

    def leave_out_all_but(self, blocks: int) -> None:
        """Simulate only this many blocks of each launch."""
        twin_function("run_alone")(blocks)

    def open_record(self, file: Path, key: Path) -> None:
        """Open the file of all records, if the twin can; no Python sees the key, which the twin reads.

        Raises:
            UnsupportedError: The file or the key cannot be opened.
        """
        if not self.has_judge_functions:
            return
        from opbridge.twins.cuda.torch_device.native import load

        if not twin_function("open_record")(os.fsencode(file), os.fsencode(key)):
            raise UnsupportedError(f"{file}: the twin cannot open the file of its records")
        load().record_operators(address_of("operator_was_called"), address_of("framework_copied"))

    @contextmanager
    def recording(self, name: str, most: int) -> Iterator[None]:
        """Record launches and operators under a name, and at most so many bytes of memory, if the twin can.

        The last entry is an operator that the judge expects: without it, operators are not heard any more.
        """
        if not self.has_judge_functions:
            yield
            return
        from opbridge.twins.cuda.torch_device.native import load

        record = twin_function("record")
        record(name.encode(), most)
        try:
            yield
        finally:
            load().call_an_operator()
            record(None, 0)

    def keep_memory(self) -> bool:
        """Keep what memory holds; return whether the twin can."""
        if self.has_judge_functions:
            twin_function("keep_memory")()
        return self.has_judge_functions

    def take_back_memory(self) -> None:
        """Give memory what it held when it was kept; what was allocated since then holds NaN."""
        if self.has_judge_functions:
            twin_function("take_back_memory")()

    def use(self, outputs: Iterable[Any]) -> None:
        """Use outputs on the current stream, which shows whether it waits for the streams that wrote them."""
        import torch

        for one in outputs if self.copy else ():
            if one.device.type == self.name and one.numel():
                kept = one.untyped_storage()
                stream = torch.cuda.current_stream().cuda_stream
                place, bytes_ = ctypes.c_void_p(kept.data_ptr()), ctypes.c_size_t(kept.nbytes())
                self.twin()[self.copy](place, place, bytes_, _ON_DEVICE, ctypes.c_void_p(stream))

    def hide(self) -> None:
        """Hide what tells this device and this build of PyTorch from a GPU and its build, as the time of a launch."""
        if not self.has_judge_functions:
            return
        import torch

        twin_function("name_device")(b"NVIDIA A100-SXM4-80GB")
        twin_function("slow_clocks")(SLOWER)
        slow_clocks()
        plain = torch.__version__.partition("+")[0]
        torch.__version__ = torch.torch_version.TorchVersion(f"{plain}+cu{torch.version.cuda.replace('.', '')}")
        torch.version.__version__ = str(torch.__version__)
        for function in (torch.utils.cpp_extension.load, torch.utils.cpp_extension.load_inline):
            function.__module__ = torch.utils.cpp_extension.__name__

    @contextmanager
    def telling(self) -> Iterator[None]:
        """Wait for the current stream at the end, and raise what the twin found, even if the answer caught it."""
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

        device = getattr(torch, self.name)
        # What reads the outputs waits for the current stream alone: a GPU would not wait for others either.
        # A stream of the CPU cannot be waited for, and never needs to be.
        getattr(device.current_stream(), "synchronize", device.synchronize)()

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
    has_judge_functions=True,
    copy="cudaMemcpyAsync",
    variables=(("OPBRIDGE_CUDA_TWIN", ""), ("CUDA_VISIBLE_DEVICES", "0")),
)
NPU = Device(
    "npu",
    "opbridge.analysis.judge.process.preloaded_npu",
    ascend.LIBRARY,
    mute="ob_ascend_mute",
    reports=("ob_ascend_attach_host", "ob_ascend_take_reports"),
    # Do not load an installed torch_npu: the stand-in takes its name here.
    variables=(("TORCH_DEVICE_BACKEND_AUTOLOAD", "0"), ("OPBRIDGE_NPU_DEVICES", "1")),
)
