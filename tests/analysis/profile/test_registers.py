"""What ptxas says of kernels, as nvcc 13.0 printed it."""

from __future__ import annotations

from pathlib import Path

import pytest

from opbridge.analysis.profile.chips import chip_named
from opbridge.analysis.profile.registers import Registers, base_name, registers_of, said
from opbridge.base.errors import ToolchainError
from opbridge.build.toolchains import nvcc

OUTPUT = """
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function '_Z18transpose_by_tilesPKfPfi' for 'sm_80'
ptxas info    : Function properties for _Z18transpose_by_tilesPKfPfi
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 14 registers, used 1 barriers, 4224 bytes smem, 372 bytes cmem[0]
ptxas info    : Compile time = 40.254 ms
ptxas info    : Compiling entry function '_ZN4mine4copyIfEEvPKT_PS1_' for 'sm_80'
ptxas info    : Function properties for _ZN4mine4copyIfEEvPKT_PS1_
    16 bytes stack frame, 12 bytes spill stores, 8 bytes spill loads
ptxas info    : Used 40 registers, used 0 barriers, 372 bytes cmem[0]
"""


def test_registers_spills_and_local_memory_are_read_by_the_kernels_names() -> None:
    assert said(OUTPUT) == {"transpose_by_tiles": Registers(14, 0), "copy": Registers(40, 20, 16)}


@pytest.mark.parametrize("name", ["copy", "copy<float>", "mine::copy<int>", "void mine::copy<float>(float const*)"])
def test_a_kernel_is_known_by_its_base_name(name: str) -> None:
    assert base_name(name) == "copy"


def test_by_nvcc_itself(tmp_path: Path) -> None:
    try:
        nvcc.find()
    except ToolchainError:
        pytest.skip("no nvcc")
    source = tmp_path / "copy.cu"
    source.write_text("__global__ void copy(const float* x, float* y) { y[threadIdx.x] = x[threadIdx.x]; }\n")
    core = chip_named("a100").multiprocessor
    assert core is not None
    found = registers_of(source, core)["copy"]
    assert 4 <= found.used <= 32
    assert found.spilled == 0
    source.write_text("this is no CUDA\n")
    assert registers_of(source, core) == {}
