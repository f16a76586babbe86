"""Headers of CUDA that the twin does not have, by what they stand for."""

from __future__ import annotations

import re

HEADERS = {
    "Thrust": r"thrust/.*",
    "CUB": r"cub/.*",
    "libcu++": r"(?:cuda|nv)/.*",
    "CUTLASS": r"(?:cutlass|cute)/.*",
    "matrix fragments of tensor cores (WMMA)": r"mma\.h|crt/mma\.h",
    "FP6 and FP4": r"cuda_fp[64]\.h",
    "pipelines and arrive-wait barriers": r"cuda_(?:pipeline|awbarrier).*",
    "textures and surfaces": r"(?:texture|surface)_.*|cuda_texture_types\.h|cuda_surface_types\.h",
    "cuRAND": r"curand.*",
    "cuBLAS": r"cublas.*",
    "cuFFT": r"cufft.*",
    "cuSPARSE": r"cusparse.*",
    "cuSOLVER": r"cusolver.*",
    "cuDNN": r"cudnn.*",
    "NCCL": r"nccl.*",
    "NVRTC": r"nvrtc.*",
    "graphics interoperation": r"cuda_(?:gl|egl|d3d\w+)_interop\.h",
}


def unsupported(feature: str) -> str:
    return f"{feature}: not supported by the CUDA twin, which docs/cuda.md says more about"


def refused_header(name: str) -> str | None:
    """The feature that a header stands for."""
    return next((feature for feature, names in HEADERS.items() if re.fullmatch(names, name)), None)
