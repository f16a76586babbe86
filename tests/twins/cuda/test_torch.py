"""PyTorch's CUDA extensions in the twin: tensors of the CPU are CUDA's there, and the checks know their memory."""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Any

import numpy
import pytest
import torch
from dtypes import FLOATS, of

import opbridge as ob
from opbridge.twins.cuda.toolchain import runtime


@pytest.fixture(scope="module")
def probe() -> Any:
    """Built once for all who share the cache: 15 s, and 40 s where PyTorch's headers are to be precompiled first."""
    return ob.extension("probe", Path(__file__).parent / "torch" / "probe.cu", device="cuda-twin")


def test_tensors_say_that_they_are_cudas(probe: Any) -> None:
    assert probe.says_cuda(torch.ones(1))
    assert not probe.says_cuda(torch.ones(1, device="meta"))


@pytest.mark.parametrize("dtype", of(torch, FLOATS), ids=str)
def test_kernels_run_on_tensors_of_every_float(probe: Any, dtype: torch.dtype) -> None:
    x = torch.arange(200, dtype=dtype)
    torch.testing.assert_close(probe.scaled(x, 0.5, 0), x * 0.5)


def test_an_address_without_a_type_is_known_too(probe: Any) -> None:
    assert torch.equal(probe.untyped(torch.arange(10.0)), 2 * torch.arange(10.0))


@pytest.mark.parametrize("dtype", [*of(torch, FLOATS), torch.int32, torch.int64], ids=str)
def test_atomics_take_pytorchs_types(probe: Any, dtype: torch.dtype) -> None:
    assert probe.total(torch.ones(100, dtype=dtype)).item() == 100


def test_operators_for_cuda_are_the_cpus_here(probe: Any) -> None:
    assert torch.equal(torch.ops.opbridge_probe.twice(torch.ones(3)), torch.full((3,), 2.0))


def test_what_kernels_draw_follows_the_seed(probe: Any) -> None:
    torch.manual_seed(3)
    first, second = probe.seed_of(None), probe.seed_of(None)
    torch.manual_seed(3)
    assert probe.seed_of(None) == first != second
    assert probe.seed_of(torch.Generator().manual_seed(3)) == first


def test_streams_guards_and_properties(probe: Any) -> None:
    assert probe.wrong_about_streams() == ""
    assert probe.surroundings() == (32, 1, True)


class TestChecks:
    @pytest.mark.parametrize("shape", [(100,), (3, 5)])
    def test_what_lies_behind_a_tensor_is_no_kernels(self, probe: Any, shape: tuple[int, ...]) -> None:
        x = torch.ones(shape)
        with pytest.raises(RuntimeError, match=r"out-of-bounds\](.|\n)*after the end of") as failure:
            probe.scaled(x, 2.0, 1)
        assert f"a tensor of shape {list(shape)}" in str(failure.value)

    def test_a_tensor_where_other_memory_was_freed(self, probe: Any) -> None:
        array, cuda = numpy.ones(4096, numpy.float32), ctypes.CDLL(str(runtime()))
        begin = array.ctypes.data_as(ctypes.c_void_p)
        assert [cuda.cudaHostRegister(begin, ctypes.c_size_t(16384), 0), cuda.cudaHostUnregister(begin)] == [0, 0]
        with pytest.raises(RuntimeError, match=r"out-of-bounds\](.|\n)*0 bytes after the end of") as failure:
            probe.scaled(torch.from_numpy(array[:15]), 2.0, 1)
        assert "a tensor of shape [15]" in str(failure.value)

    def test_the_next_call_is_as_good_as_new(self, probe: Any) -> None:
        with pytest.raises(RuntimeError):
            probe.scaled(torch.ones(4), 2.0, 1)
        assert torch.equal(probe.scaled(torch.ones(4), 2.0, 0), torch.full((4,), 2.0))

    def test_memory_of_a_tensor_that_is_gone(self, probe: Any) -> None:
        with pytest.raises(RuntimeError, match=r"read of 4 bytes"):
            probe.dangling()

    def test_a_launch_that_no_gpu_accepts(self, probe: Any) -> None:
        with pytest.raises(RuntimeError, match="4096"):
            probe.too_many_threads()
