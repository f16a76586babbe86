"""What PyTorch's CUDA extensions bring beside their sources; that they run is for tests/twins/cuda/test_torch.py."""

from __future__ import annotations

import re
import subprocess

import pytest

from opbridge.build.toolchains.interface import INCLUDE as OPBRIDGE_INCLUDE
from opbridge.twins import cuda
from opbridge.twins.cuda.torch_extension_sources import HOST, INCLUDE, host_flags, link_flags


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


def test_a_source_for_the_host_has_names_of_its_own_that_device_code_has() -> None:
    source = "inline float min(float a, float b) { return a < b ? a : b; }  // only nvcc has one"
    folders = [f"-isystem{folder}" for folder in (INCLUDE, cuda.INCLUDE, OPBRIDGE_INCLUDE)]
    words = ["g++", "-std=c++17", "-fsyntax-only", *folders, "-include", HOST, "-x", "c++", "-"]
    done = subprocess.run(words, input=source, capture_output=True, text=True, timeout=100)
    assert (done.returncode, done.stderr) == (0, "")
