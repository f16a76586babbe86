"""What PyTorch's CUDA extensions bring beside their sources; that they run is for tests/twins/cuda/test_torch.py."""

from __future__ import annotations

import re

import pytest

from opbridge.twins.cuda.torch_extension_sources import INCLUDE, host_flags, link_flags


@pytest.mark.parametrize(
    ("nvcc", "host"),
    [
        ("-O3 -DNAME=1 -UOTHER -Ifolder -std=c++20 -g -w", "-O3 -DNAME=1 -UOTHER -Ifolder -std=c++20 -g -w"),
        ("-D NAME -I folder", "-D NAME -I folder"),
        ("-arch=sm_80 -gencode arch=compute_90,code=sm_90 --gpu-architecture=sm_70", ""),
        ("--use_fast_math -lineinfo -G --expt-relaxed-constexpr -Xptxas -v -maxrregcount=32 --threads 4", ""),
        ("-O2 -rdc=true", "-DOPBRIDGE_TWIN_RELOCATABLE=1 -O2"),
        ("-dc", "-DOPBRIDGE_TWIN_RELOCATABLE=1"),
        ("-Xcompiler -fopenmp -O2", "-fopenmp -O2"),
        ("-Xcompiler=-Wall,-O1 --compiler-options -fno-gnu-unique", "-Wall -O1 -fno-gnu-unique"),
        ("-D__CUDA_NO_HALF_OPERATORS__ -Xcompiler", "-D__CUDA_NO_HALF_OPERATORS__ "),
    ],
)
def test_flags_for_gpus_are_left_out(nvcc: str, host: str) -> None:
    assert list(host_flags(nvcc.split())) == (host.split(" ") if host else [])


def test_the_linker_and_the_header_speak_of_the_same_functions() -> None:
    header = (INCLUDE / "opbridge_twin" / "torch_lent_memory.h").read_text()
    types = re.findall(r"^OPBRIDGE_TWIN_WRAPPED_FOR\((\w+)\)", header, re.MULTILINE)
    functions = re.findall(r"OPBRIDGE_TWIN_WRAPPED\((\w+)##type##(\w+)\)", header)
    wrapped = {f"-Wl,--wrap={begin}{kind}{end}" for kind in types for begin, end in functions}
    assert wrapped == set(link_flags())
