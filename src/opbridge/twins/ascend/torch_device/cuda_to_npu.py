"""The conversion of a running CUDA program to NPUs: device names, `torch.cuda`, and the calls that move tensors."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch

from opbridge.twins.ascend.torch_device import npu_module as npu

_FACTORIES = (
    *(
        "arange",
        "as_tensor",
        "asarray",
        "empty",
        "empty_like",
        "empty_strided",
        "eye",
        "frombuffer",
        "full",
        "full_like",
    ),
    *("linspace", "load", "logspace", "normal", "ones", "ones_like", "rand", "rand_like", "randint", "randint_like"),
    *("randn", "randn_like", "randperm", "range", "scalar_tensor", "tensor", "tril_indices", "triu_indices", "zeros"),
    *("zeros_like", "get_autocast_dtype", "is_autocast_enabled", "set_autocast_dtype", "set_default_device"),
)
_OF_TENSORS = ("to", "new_empty", "new_empty_strided", "new_full", "new_ones", "new_tensor", "new_zeros", "pin_memory")
_TORCH_DEVICE = torch.device


def renamed(value: Any) -> object:
    """Return a device, its name or a mapping of them with "npu" for "cuda", and any other value unchanged."""
    if isinstance(value, str) and (value == "cuda" or value.startswith("cuda:")):
        return value.replace("cuda", "npu", 1)
    if isinstance(value, _TORCH_DEVICE) and value.type == "cuda":
        return _TORCH_DEVICE("npu") if value.index is None else _TORCH_DEVICE("npu", value.index)
    if isinstance(value, dict):
        return {renamed(name): renamed(item) for name, item in value.items()}
    return value


def _in_place_of(original: Any) -> object:
    """Return a class that creates instances of `original` from arguments with NPU names."""

    class Standing(type):
        def __instancecheck__(cls, instance: object) -> bool:
            return isinstance(instance, original)

    def make(cls: type, *args: Any, **kwargs: Any) -> object:
        return original(*map(renamed, args), **{name: renamed(value) for name, value in kwargs.items()})

    return Standing(original.__name__, (), {"__new__": make, "__doc__": original.__doc__, "__module__": "torch"})


def install() -> None:
    """Patch PyTorch, once: a second call changes nothing."""
    if torch.device is not _TORCH_DEVICE:
        return
    for owner, names in ((torch, _FACTORIES), (torch.Tensor, _OF_TENSORS), (torch.nn.Module, ("to", "to_empty"))):
        for name in names:
            setattr(owner, name, _renaming(getattr(owner, name)))
    torch.device = _in_place_of(torch.device)
    torch.Generator = _in_place_of(torch.Generator)
    torch.Tensor.cuda = torch.Tensor.npu
    torch.nn.Module.cuda = torch.nn.Module.npu
    torch.Tensor.is_cuda = torch.Tensor.is_npu
    torch.amp.GradScaler.__init__ = _renaming(torch.amp.GradScaler.__init__)
    torch.amp.autocast.__init__ = _renaming(torch.amp.autocast.__init__)
    if torch.distributed.is_available():
        for name in ("init_process_group", "new_group"):
            setattr(torch.distributed, name, _with_hccl(getattr(torch.distributed, name)))
    for name in npu.__all__:
        if name not in ("amp", "config"):
            setattr(torch.cuda, name, getattr(npu, name))
    # Programs and torch.distributed derive the supported element types from it: all except the 8-bit ones.
    torch.cuda.get_device_capability = lambda device=None: (8, 0)
    torch.cuda.amp.autocast = npu.amp.autocast
    torch.cuda.amp.GradScaler = npu.amp.GradScaler


def _renaming(function: Callable[..., object]) -> Callable[..., object]:
    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        return function(*map(renamed, args), **{name: renamed(value) for name, value in kwargs.items()})

    return call


def _with_hccl(function: Callable[..., object]) -> Callable[..., object]:
    """Wrap a function so that backend names such as "nccl" or "cpu:gloo,cuda:nccl" name hccl."""

    def of(value: Any) -> Any:
        return value.replace("cuda:", "npu:").replace("nccl", "hccl") if isinstance(value, str) else renamed(value)

    @functools.wraps(function)
    def call(*args: Any, backend: Any = None, device_id: Any = None, **kwargs: Any) -> Any:
        # The only other strings are addresses, which contain "://" and never a backend name.
        if backend is not None:
            kwargs["backend"] = of(backend)
        if device_id is not None:
            kwargs["device_id"] = renamed(device_id)
        return function(*(of(one) if isinstance(one, str) and "://" not in one else one for one in args), **kwargs)

    return call
