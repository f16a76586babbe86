"""The C++ functions that torch.cuda calls, for a PyTorch that was built without them."""

from __future__ import annotations

import ctypes
import importlib
import os
from collections.abc import Callable
from types import SimpleNamespace

import torch

from opbridge.twins.cuda import toolchain as cuda_twin
from opbridge.twins.cuda.torch_device import native
from opbridge.twins.cuda.torch_device.streams import EventBase, StreamBase

VERSION = "12.8"
"""The CUDA version of the twin's headers."""

_CUDA = torch._C._autograd.DeviceType.CUDA.value


def install() -> None:
    """Set the functions in torch._C, and reload the classes that depend on them."""
    for name, value in _FUNCTIONS.items():
        setattr(torch._C, name, value)
    torch._C._has_cuda = True
    torch.version.cuda = VERSION
    # Importing torch created its classes on dummy base classes.
    streams = importlib.reload(torch.cuda.streams)
    for name in ("Stream", "ExternalStream", "Event"):
        setattr(torch.cuda, name, getattr(streams, name))
    torch.cuda._cudart = _cudart
    torch.cuda._exchange_device = _exchange_device
    torch.cuda._maybe_exchange_device = _maybe_exchange_device
    torch.cuda.nvtx._nvtx = _nvtx
    torch.UntypedStorage.__new__ = _new_storage
    for kind in vars(torch.cuda).copy().values():
        if isinstance(kind, type(torch.FloatTensor)):
            native.load().let_make_tensors(kind)


def _device_count() -> int:
    visible = os.environ.get("CUDA_VISIBLE_DEVICES", "0")
    return 0 if visible.partition(",")[0].strip() in ("", "-1") else 1


def _init() -> None:
    if _device_count() == 0:
        raise RuntimeError("No CUDA GPUs are available")
    torch.cuda.default_generators = (native.load().default_generator(0),)
    torch.cuda._get_device_properties = _properties


def _properties(device: int) -> SimpleNamespace:
    return SimpleNamespace(**native.load().properties(), is_integrated=0, is_multi_gpu_board=0)


def _exchange_device(device: int) -> int:
    before = int(native.load().current_device())
    if device >= 0:
        native.load().set_device(device)
    return before


def _maybe_exchange_device(device: int) -> int:
    """Exchange the device; a separate function because torch.compile distinguishes the two."""
    return _exchange_device(device)


def _stream(number: int) -> tuple[int, int, int]:
    return number, 0, _CUDA


def _set_stream(stream_id: int, device_index: int, device_type: int) -> None:
    native.load().set_stream(stream_id)


def _blas_handle() -> int:
    """Return the cuBLAS handle of the thread, which extensions use too."""
    handle = ctypes.CDLL(str(cuda_twin.library("cublas"))).ob_twin_blas_handle_of_thread
    handle.restype = ctypes.c_void_p
    return int(handle(ctypes.c_void_p(native.load().current_stream())))


def _set_memory_fraction(fraction: float, device: int) -> None:
    native.load().limit_memory(device, fraction)


def _by_the_device(name: str) -> Callable[..., object]:
    """Return a function of the C++ module that ignores the device argument: there is only one device."""
    return lambda device=0: getattr(native.load(), name)()


def _new_storage(cls: type[torch.UntypedStorage], *arguments: object, **keywords: object) -> object:
    """Create a storage, also on the simulated device.

    PyTorch's C++ creates storages only for devices it was built with; copies and loaded files need them.
    """
    device = keywords.get("device")
    if device is None or torch.device(device).type != "cuda":
        return torch._C.StorageBase.__new__(cls, *arguments, **keywords)
    size = arguments[0] if arguments else 0
    return torch.empty(size, dtype=torch.uint8, device=device).untyped_storage()


_FUNCTIONS: dict[str, object] = {
    "_CudaStreamBase": StreamBase,
    "_CudaEventBase": EventBase,
    "_cuda_init": _init,
    "_cuda_getDeviceCount": _device_count,
    "_cuda_getArchFlags": lambda: "sm_80",
    "_cuda_getDevice": _by_the_device("current_device"),
    "_cuda_setDevice": lambda device: native.load().set_device(device),
    "_cuda_exchangeDevice": _exchange_device,
    "_cuda_maybeExchangeDevice": _maybe_exchange_device,
    "_cuda_canDeviceAccessPeer": lambda device, peer: device != peer,
    "_cuda_synchronize": _by_the_device("synchronize"),
    "_cuda_getCurrentStream": lambda device: _stream(native.load().current_stream()),
    "_cuda_getCurrentRawStream": _by_the_device("current_stream"),
    "_cuda_getDefaultStream": lambda device: _stream(0),
    "_cuda_setStream": _set_stream,
    "_cuda_getCurrentBlasHandle": _blas_handle,
    "_cuda_memoryStats": _by_the_device("memory_stats"),
    "_cuda_resetPeakMemoryStats": _by_the_device("reset_peak_memory_stats"),
    "_cuda_resetAccumulatedMemoryStats": _by_the_device("reset_accumulated_memory_stats"),
    "_cuda_setMemoryFraction": _set_memory_fraction,
    "_cuda_getAllocatorBackend": lambda: "native",
    # Freed memory is returned at once, so there is no cache to empty.
    "_cuda_emptyCache": lambda: None,
    "_cuda_ipc_collect": lambda: None,
    "_cuda_isCurrentStreamCapturing": lambda: False,
    "_cuda_get_sync_debug_mode": lambda: 0,
    "_cuda_set_sync_debug_mode": lambda mode: None,
    "_cuda_sleep": lambda cycles: None,
}

_cudart = SimpleNamespace(
    cudaError=SimpleNamespace(success=0),
    cudaGetErrorString=str,
    cudaMemGetInfo=_by_the_device("memory_info"),
    cudaProfilerStart=lambda: 0,
    cudaProfilerStop=lambda: 0,
)

_nvtx = SimpleNamespace(
    rangePushA=lambda message: 0,
    rangePop=lambda: 0,
    rangeStartA=lambda message: 0,
    rangeEnd=lambda handle: None,
    markA=lambda message: None,
)
