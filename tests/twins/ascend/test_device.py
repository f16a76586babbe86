"""The memory of devices: kernels use it by its address, a host only through the window."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from subprocesses import python

from opbridge.twins.ascend.toolchain import runtime


class Memory(ctypes.Structure):
    _fields_ = (
        ("address", ctypes.c_void_p),
        ("capacity", ctypes.c_uint64),
        ("bytes", ctypes.c_uint64),
        ("device", ctypes.c_int32),
    )


@pytest.fixture(scope="module")
def device() -> Any:
    library = ctypes.CDLL(str(runtime()))
    library.ob_ascend_device_allocate.restype = ctypes.POINTER(Memory)
    library.ob_ascend_device_find.restype = ctypes.POINTER(Memory)
    library.ob_ascend_device_find.argtypes = (ctypes.c_void_p,)
    library.ob_ascend_window.restype = ctypes.c_void_p
    library.ob_ascend_window.argtypes = (ctypes.c_void_p,)
    return library


def shown(device: Any, address: int, count: int) -> np.ndarray[Any, Any]:
    window = device.ob_ascend_window(address)
    halves = (ctypes.c_uint16 * count).from_address(window)
    return np.frombuffer(halves, np.float16)


def test_a_kernel_takes_addresses_of_the_device(twin: Callable[..., Any], device: Any) -> None:
    length = 512
    x, y, z = (device.ob_ascend_device_allocate(0, 2 * length) for _ in range(3))
    shown(device, x.contents.address, length)[:] = np.arange(length)
    shown(device, y.contents.address, length)[:] = 1
    addresses = (ctypes.c_void_p(memory.contents.address) for memory in (x, y, z))
    twin("add.cpp", "add_host.cpp").call("aclrtlaunch_add", 1, None, *addresses, length)
    np.testing.assert_array_equal(shown(device, z.contents.address, length), np.arange(length) + 1)
    for memory in (x, y, z):
        device.ob_ascend_device_free(memory)


def test_a_kernel_keeps_to_what_is_in_use(twin: Callable[..., Any], device: Any) -> None:
    x, y, z = (device.ob_ascend_device_allocate(1, 1024) for _ in range(3))
    y.contents.bytes = 900  # a copy may read up to 31 bytes more, whole units of 32
    addresses = [ctypes.c_void_p(memory.contents.address) for memory in (x, y, z)]
    with pytest.raises(AssertionError, match=r"(?s)memory of npu:1.*\[out-of-bounds\]|\[out-of-bounds\].*npu:1"):
        twin("add.cpp", "add_host.cpp").call("aclrtlaunch_add", 1, None, *addresses, 512)
    for memory in (x, y, z):
        device.ob_ascend_device_free(memory)


def test_an_address_is_found_on_both_sides(device: Any) -> None:
    memory = device.ob_ascend_device_allocate(3, 100)
    for address in (memory.contents.address + 99, device.ob_ascend_window(memory.contents.address) + 99):
        assert device.ob_ascend_device_find(address).contents.device == 3
    device.ob_ascend_device_free(memory)
    assert not device.ob_ascend_device_find(memory.contents.address)
    local = ctypes.create_string_buffer(8)
    assert device.ob_ascend_window(ctypes.addressof(local)) == ctypes.addressof(local)


def test_the_host_is_told_what_it_touched() -> None:
    """In a process of its own, which does not survive it."""
    code = f"""
import ctypes
library = ctypes.CDLL({str(runtime())!r})
library.ob_ascend_device_allocate.restype = ctypes.POINTER(ctypes.c_void_p)
address = library.ob_ascend_device_allocate(1, 40)[0]
ctypes.string_at(address + 8, 1)
"""
    run = python(code)
    assert run.returncode == -11
    assert "ascend-twin: the host" in run.stderr
    assert "memory of the device npu:1 [host-access]" in run.stderr
    assert "byte 8 of the 40 bytes at 0x" in run.stderr
    assert "tensor.cpu()" in run.stderr
