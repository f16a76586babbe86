"""The contents of `torch.npu`: the `torch.cuda` functions that NPU programs use, for the simulated devices."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import accelerator

from opbridge.base.errors import CallError
from opbridge.twins.ascend.torch_device import amp, native, streams
from opbridge.twins.ascend.torch_device.graphs import NPUGraph, graph, graph_pool_handle
from opbridge.twins.ascend.torch_device.streams import Event, Stream, current_stream, default_stream, set_stream, stream

__all__ = [
    "Event",
    "NPUGraph",
    "Stream",
    "StreamContext",
    "amp",
    "can_device_access_peer",
    "config",
    "current_device",
    "current_stream",
    "default_generators",
    "default_stream",
    "device",
    "device_count",
    "device_of",
    "empty_cache",
    "get_amp_supported_dtype",
    "get_autocast_dtype",
    "get_device_capability",
    "get_device_name",
    "get_device_properties",
    "get_rng_state",
    "get_rng_state_all",
    "graph",
    "graph_pool_handle",
    "init",
    "initial_seed",
    "is_autocast_enabled",
    "is_available",
    "is_bf16_supported",
    "is_initialized",
    "manual_seed",
    "manual_seed_all",
    "max_memory_allocated",
    "max_memory_reserved",
    "mem_get_info",
    "memory_allocated",
    "memory_reserved",
    "memory_stats",
    "memory_summary",
    "reset_accumulated_memory_stats",
    "reset_max_memory_allocated",
    "reset_peak_memory_stats",
    "seed",
    "seed_all",
    "set_compile_mode",
    "set_device",
    "set_per_process_memory_fraction",
    "set_rng_state",
    "set_rng_state_all",
    "set_stream",
    "stream",
    "synchronize",
    "utilization",
]

Device = Any
"""A torch.device, its name, its number, or None for the current one."""

StreamContext = streams.StreamContext


@dataclass(frozen=True)
class DeviceProperties:
    """The name and the memory, in bytes, of a simulated device."""

    name: str
    total_memory: int


def index_of(device: Device) -> int:
    """Return the index of a device given in any form; None and `npu` mean the current device.

    Raises:
        CallError: The device is not an `npu`.
    """
    if device is None:
        return current_device()
    if isinstance(device, int):
        return device if device >= 0 else current_device()
    named = torch.device(device)
    if named.type != "npu":
        raise CallError(f"expected a device such as 'npu:0' or 0, got {device!r}")
    return current_device() if named.index is None else named.index


def is_available() -> bool:
    """Return whether there is any device."""
    return device_count() > 0


def is_initialized() -> bool:
    """Return True: importing the package initializes the devices."""
    return True


def init() -> None:
    """Do nothing: importing the package initializes the devices."""


_lazy_init = init


def _is_in_bad_fork() -> bool:
    """Return False: the devices are process memory, which a forked process has too."""
    return False


def device_count() -> int:
    """Return the number of simulated devices."""
    return int(torch._C._accelerator_hooks_device_count())


def current_device() -> int:
    """Return the index of the current device."""
    return int(accelerator.current_device_index())


def set_device(device: Device) -> None:
    """Make a device the current one."""
    accelerator.set_device_index(index_of(device))


def _exchange_device(index: int) -> int:
    return int(torch._C._accelerator_exchangeDevice(index)) if index >= 0 else -1


def _maybe_exchange_device(index: int) -> int:
    return int(torch._C._accelerator_maybeExchangeDevice(index)) if index >= 0 else -1


class device:  # noqa: N801 - as torch.cuda.device
    """The context manager `with torch.npu.device(1):`, which makes that device the current one."""

    def __init__(self, device: Device) -> None:
        self.idx = index_of(device)
        self.prev_idx = -1

    def __enter__(self) -> None:
        self.prev_idx = _exchange_device(self.idx)

    def __exit__(self, *_: object) -> None:
        _exchange_device(self.prev_idx)


class device_of(device):  # noqa: N801 - as torch.cuda.device_of
    """The context manager that makes the device of a tensor current, if the tensor is on an NPU."""

    def __init__(self, tensor: torch.Tensor) -> None:
        super().__init__(tensor.get_device() if tensor.device.type == "npu" else None)


def synchronize(device: Device = None) -> None:
    """Wait for the work of a device."""
    accelerator.synchronize(index_of(device))


def get_device_name(device: Device = None) -> str:
    """Return the name of the simulated chip."""
    return get_device_properties(device).name


def get_device_properties(device: Device = None) -> DeviceProperties:
    """Return the properties of the chip whose limits apply to kernels in the Ascend C twin."""
    chip = os.environ.get("OPBRIDGE_ASCEND_SOC") or "Ascend910B"
    return DeviceProperties(f"{chip} (simulated)", mem_get_info(device)[1])


def get_device_capability(device: Device = None) -> None:
    """Return None: NPUs have no compute capability, and callers accept None."""


def can_device_access_peer(device: Device, peer: Device) -> bool:
    """Return whether the two devices differ: any two devices can access each other."""
    return index_of(device) != index_of(peer)


def utilization(device: Device = None) -> int:
    """Return 0: work is done when its call returns, so the device is always idle when asked."""
    index_of(device)
    return 0


class _Config:
    """The `torch.npu.config` settings of how hardware compiles and lays out, which change nothing here."""

    allow_internal_format = False


config = _Config()


def set_compile_mode(jit_compile: bool = False) -> None:
    """Do nothing: operators are already compiled."""


# --- memory ---


def memory_stats(device: Device = None) -> dict[str, object]:
    """Return the allocator statistics of a device by their PyTorch names."""
    return dict(accelerator.memory_stats(index_of(device)))


def memory_allocated(device: Device = None) -> int:
    """Return the bytes that tensors occupy on a device."""
    return int(accelerator.memory_allocated(index_of(device)))


def max_memory_allocated(device: Device = None) -> int:
    """Return the peak of `memory_allocated` since the last reset, in bytes."""
    return int(accelerator.max_memory_allocated(index_of(device)))


def memory_reserved(device: Device = None) -> int:
    """Return the bytes that the allocator holds on a device."""
    return int(accelerator.memory_reserved(index_of(device)))


def max_memory_reserved(device: Device = None) -> int:
    """Return the peak of `memory_reserved` since the last reset, in bytes."""
    return int(accelerator.max_memory_reserved(index_of(device)))


def reset_peak_memory_stats(device: Device = None) -> None:
    """Reset the peak statistics to the current values."""
    accelerator.reset_peak_memory_stats(index_of(device))


reset_max_memory_allocated = reset_peak_memory_stats


def reset_accumulated_memory_stats(device: Device = None) -> None:
    """Reset the statistics that accumulate over time."""
    accelerator.reset_accumulated_memory_stats(index_of(device))


def mem_get_info(device: Device = None) -> tuple[int, int]:
    """Return the free and the total memory of a device, in bytes."""
    free, total = torch._C._accelerator_getMemoryInfo(index_of(device))
    return int(free), int(total)


def memory_summary(device: Device = None, abbreviated: bool = False) -> str:
    """Return a printable table of current and peak memory; `abbreviated` leaves out the requested bytes."""
    stats = memory_stats(device)
    rows = [("allocated", "allocated_bytes"), ("reserved", "reserved_bytes"), ("requested", "requested_bytes")]
    lines = [f"memory of npu:{index_of(device)}, in bytes", f"{'':12}{'current':>16}{'peak':>16}"]
    for name, key in rows[: 2 if abbreviated else None]:
        lines.append(f"{name:12}{stats[f'{key}.all.current']:>16}{stats[f'{key}.all.peak']:>16}")
    return "\n".join(lines)


def empty_cache() -> None:
    """Release the memory that the allocator holds and no tensor uses."""
    accelerator.empty_cache()


def set_per_process_memory_fraction(fraction: float, device: Device = None) -> None:
    """Limit this process to a fraction of the device memory.

    Raises:
        CallError: The fraction is not between 0 and 1.
    """
    if not 0 <= fraction <= 1:
        raise CallError(f"set_per_process_memory_fraction expects a fraction from 0 to 1, got {fraction}")
    native.load().limit_memory(index_of(device), float(fraction))


# --- random numbers ---


class _Generators:
    """One random generator for each device, created on first use."""

    def __getitem__(self, index: int) -> torch.Generator:
        generator: torch.Generator = native.load().default_generator(index)
        return generator

    def __len__(self) -> int:
        return device_count()

    def __iter__(self) -> Iterator[torch.Generator]:
        return (self[index] for index in range(len(self)))


default_generators = _Generators()


def manual_seed(seed: int) -> None:
    """Seed the generator of the current device."""
    default_generators[current_device()].manual_seed(seed)


def manual_seed_all(seed: int) -> None:
    """Seed the generators of all devices with the same number."""
    for generator in default_generators:
        generator.manual_seed(seed)


def seed() -> None:
    """Seed the generator of the current device with a random number."""
    default_generators[current_device()].seed()


def seed_all() -> None:
    """Seed the generators of all devices with one random number."""
    manual_seed_all(default_generators[0].seed())


def initial_seed() -> int:
    """Return the seed of the current device's generator."""
    return int(default_generators[current_device()].initial_seed())


def get_rng_state(device: Device = "npu") -> torch.Tensor:
    """Return the generator state of a device."""
    return default_generators[index_of(device)].get_state()


def get_rng_state_all() -> list[torch.Tensor]:
    """Return the generator states of all devices, in device order."""
    return [generator.get_state() for generator in default_generators]


def set_rng_state(new_state: torch.Tensor, device: Device = "npu") -> None:
    """Set the generator state of a device."""
    default_generators[index_of(device)].set_state(new_state)


def set_rng_state_all(new_states: Iterable[torch.Tensor]) -> None:
    """Set the generator states of all devices, given in device order."""
    for generator, state in zip(default_generators, new_states, strict=True):
        generator.set_state(state)


# --- mixed precision ---


def get_amp_supported_dtype() -> list[torch.dtype]:
    """Return the element types that autocast supports."""
    return [torch.float16, torch.bfloat16, torch.float32]


def is_bf16_supported() -> bool:
    """Return True: the simulated devices support bfloat16."""
    return True


def is_autocast_enabled() -> bool:
    """Return whether autocast is enabled for `npu`."""
    return bool(torch.is_autocast_enabled("npu"))


def get_autocast_dtype() -> torch.dtype:
    """Return the element type that autocast uses for `npu`."""
    return torch.get_autocast_dtype("npu")
