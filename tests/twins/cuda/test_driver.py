"""The driver API from a C++ program: devices, contexts, memory, and kernels out of images, checked as all others"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from opbridge.build.cache import Cache
from opbridge.twins.cuda import nvcc as twin_nvcc

SOURCES = Path(__file__).parent / "driver"
Say = Callable[..., subprocess.CompletedProcess[str]]
LINE = next(i for i, line in enumerate((SOURCES / "kernels.cu").read_text().splitlines(), 1) if "i <= n" in line)


@pytest.fixture(scope="module")
def say(tmp_path_factory: pytest.TempPathFactory) -> Say:
    """Runs the program, beside the image of kernels.cu."""
    folder = tmp_path_factory.mktemp("driver")
    nvcc = twin_nvcc.write(Cache().root / "cuda") / "bin" / "nvcc"
    for words in (
        ["-cubin", str(SOURCES / "kernels.cu"), "-o", "kernels.cubin"],
        ["-g", str(SOURCES / "driver.cpp"), "-o", "driver", "-lcuda"],
    ):
        made = subprocess.run([nvcc, *words], cwd=folder, capture_output=True, text=True)
        assert made.returncode == 0, made.stderr

    def run(case: str, **variables: str) -> subprocess.CompletedProcess[str]:
        command = [folder / "driver", case, "kernels.cubin"]
        return subprocess.run(
            command, cwd=folder, env={**os.environ, **variables}, capture_output=True, text=True, timeout=100
        )

    return run


@pytest.mark.parametrize("checks", "10")
def test_kernels_are_launched_by_pointers_to_arguments_and_by_packed_ones(say: Say, checks: str) -> None:
    done = say("launches", OPBRIDGE_TWIN_CHECKS=checks)
    assert done.stdout.splitlines() == [
        *("6", "15.5", "1 in 4", "7", "192", "800"),
        *["CUDA_ERROR_INVALID_VALUE"] * 3,
        "CUDA_ERROR_INVALID_HANDLE",
        *["CUDA_ERROR_NOT_FOUND"] * 3,
        *["CUDA_ERROR_INVALID_HANDLE"] * 2,
    ]
    assert "the block is (2048, 1, 1), and the most are (1024, 1024, 64) threads [bad-launch]" in done.stderr


def test_kernels_tell_of_themselves(say: Say) -> None:
    assert say("functions").stdout.splitlines() == [
        "1024 16 1024 2",
        "CUDA_ERROR_INVALID_VALUE",
        "CUDA_SUCCESS",
        "0:1 8:16 24:2 28:12 40:8 _Z5mixedc4Pairs6float3Pd",
    ]


def test_memory_arrays_streams_and_events(say: Say) -> None:
    done = say("memory")
    assert done.stdout.splitlines() == [
        *("12341234 12345678 ffffffff", "1 64", "2 0", "CUDA_ERROR_INVALID_VALUE", "5 6 8 9", "12345678 1"),
        *["CUDA_ERROR_INVALID_VALUE"] * 3,
    ]
    assert "cuMemFree of an address inside an allocation [bad-free]" in done.stderr
    assert "cuMemcpyHtoD: write of 65 bytes beyond an allocation [copy-size]" in done.stderr
    assert "cuMemcpyHtoD: write of 4 bytes of device memory that was freed [use-after-free]" in done.stderr
    assert "driver.cpp:" in done.stderr


def test_a_thread_needs_a_context(say: Say) -> None:
    done = say("contexts")
    assert done.stdout.splitlines() == [
        *["CUDA_ERROR_NOT_INITIALIZED"] * 2,
        *("CUDA_ERROR_INVALID_CONTEXT", "CUDA_ERROR_INVALID_DEVICE", "1024 16384 0", "1 0", "1 1", "CUDA_SUCCESS"),
        *("CUDA_ERROR_CONTEXT_IS_DESTROYED", "CUDA_ERROR_INVALID_CONTEXT"),
        *("no kernel image is available for execution on the device", "CUDA_ERROR_INVALID_VALUE"),
    ]


def test_a_report_names_the_line_of_the_kernel_and_the_next_call_fails(say: Say) -> None:
    done = say("wrong")
    assert done.stdout.split() == ["CUDA_SUCCESS", "CUDA_ERROR_ILLEGAL_ADDRESS", "CUDA_ERROR_ILLEGAL_ADDRESS"]
    assert "scale: read of 4 bytes out of bounds" in done.stderr
    assert f"kernels.cu:{LINE}, thread (0, 0, 0) of block (2, 0, 0)" in done.stderr
    assert done.returncode == 86


@pytest.mark.parametrize("checks", "10")
def test_an_image_that_is_loaded_twice_has_its_variables_twice(say: Say, checks: str) -> None:
    assert say("twice", OPBRIDGE_TWIN_CHECKS=checks).stdout.split() == ["30", "300", "30"]


def test_what_is_no_image_of_the_twin_s_is_refused_and_said(say: Say) -> None:
    done = say("images")
    assert done.stdout.split() == [
        "CUDA_ERROR_INVALID_IMAGE",
        *["CUDA_ERROR_NO_BINARY_FOR_GPU"] * 2,
        *["CUDA_ERROR_INVALID_IMAGE"] * 2,
        *("CUDA_ERROR_INVALID_VALUE", "CUDA_ERROR_FILE_NOT_FOUND", "CUDA_SUCCESS", "CUDA_ERROR_NOT_SUPPORTED"),
    ]
    reasons = [
        "not an image of a program",
        "PTX for a GPU",
        "code for a GPU",
        "an image is not whole",
        "cannot be loaded",
    ]
    for reason, line in zip(reasons, done.stderr.splitlines(), strict=False):
        assert reason in line
    assert done.stderr.count("the twin runs images that `opbridge twin nvcc -ptx`") == 4
