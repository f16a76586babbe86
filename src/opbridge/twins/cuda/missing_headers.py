"""CUDA headers that the twin does not provide, with the feature that each one represents."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

HEADERS = {
    "arrive-wait barriers of nvcuda": r"cuda_awbarrier(?!_primitives)\w*\.h",
    "texture references, which CUDA 12 removed": r"texture_fetch_functions\.h|cuda_texture_types\.h",
    "Sobol's and Mersenne's generators of cuRAND": r"curand_(?!kernel).*",
    "the cuBLAS of before CUDA 4": r"cublas\.h",
    "cuBLAS over several devices": r"cublasXt\.h",
    "FFTW's functions by cuFFT": r"cufftw\.h",
    "cuSOLVER's sparse systems and its refactorization": r"cusolver(?!Dn\.h).*",
    "cuDNN's graphs of operations": r"cudnn_.*",
    "NCCL": r"nccl.*",
    "graphics interoperation": r"cuda_(?:gl|egl|d3d\w+)_interop\.h",
}

CCCL = {"Thrust": r"thrust/.*", "CUB": r"cub/.*", "libcu++": r"(?:cuda|nv)/.*"}
"""Libraries that are compiled unchanged if they are installed, with the patterns of their headers."""

CUTLASS = re.compile(r"(?:cutlass|cute)/.*")
"""Matches CUTLASS headers, which are compiled unchanged too, and which come with the program."""

_CUTLASS_OF_DEVICES = re.compile(r"(?:cutlass|cute)/arch/.*")
_CUTLASS_OF_HOPPER = re.compile(r"cute/arch/mma_sm90_gmma\w*\.hpp")
MISSING_CUTLASS = "CUTLASS: its headers are in no folder that -I names"
MISSING_CCCL = "{}: its headers are not installed; do so by: pip install nvidia-cuda-cccl-cu12"


def unsupported(feature: str) -> str:
    """Return the message about a feature that the CUDA twin does not support."""
    return f"{feature}: not supported by the CUDA twin, which docs/cuda.md says more about"


def compile_error(feature: str) -> str:
    """Return the text that makes the compiler stop where a source uses the feature."""
    return f'_Pragma("GCC error \\"{unsupported(feature)}\\"") '


def is_of_devices(file: str, folders: Iterable[Path]) -> bool:
    """Return whether a file belongs to the architecture headers of CUTLASS.

    These choose by conditions around functions, which may need what the twin lacks and need not be called.
    """
    return _is_of(_CUTLASS_OF_DEVICES, file, folders)


def is_of_hopper(file: str, folders: Iterable[Path]) -> bool:
    """Return whether a file holds only instructions that the twin lacks.

    Such files are megabytes of text inside conditions that are false for the twin.
    """
    return _is_of(_CUTLASS_OF_HOPPER, file, folders)


def _is_of(names: re.Pattern[str], file: str, folders: Iterable[Path]) -> bool:
    return any(names.fullmatch(file.removeprefix(f"{folder}/")) for folder in folders)


def refused_header(name: str) -> str | None:
    """Return the feature that a header represents, or None if the twin supports the header."""
    return _feature(HEADERS, name)


def cccl_part(name: str) -> str | None:
    """Return the CCCL library that a header belongs to, or None."""
    return _feature(CCCL, name)


def _feature(table: Mapping[str, str], name: str) -> str | None:
    return next((feature for feature, names in table.items() if re.fullmatch(names, name)), None)
