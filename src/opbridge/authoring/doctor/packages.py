"""The packages that provide missing libraries."""

from __future__ import annotations

import re

_CUDA_WHEELS = {
    "libcublas": "cublas",
    "libcublasLt": "cublas",
    "libcudart": "cuda-runtime",
    "libcufft": "cufft",
    "libcufile": "cufile",
    "libcupti": "cuda-cupti",
    "libcurand": "curand",
    "libcusolver": "cusolver",
    "libcusparse": "cusparse",
    "libnvJitLink": "nvjitlink",
    "libnvrtc": "cuda-nvrtc",
    "libnvToolsExt": "nvtx",
}
_OTHER_CUDA_WHEELS = {
    "libcudnn": "cudnn",
    "libcusparseLt": "cusparselt",
    "libnccl": "nccl",
    "libnvshmem_host": "nvshmem",
}
_CUDA_OF = {
    ("libcufft", 10): 11,
    ("libcufft", 11): 12,
    ("libcufft", 12): 13,
    ("libcurand", 10): None,
    ("libcusolver", 11): None,
    ("libcusolver", 12): 13,
    ("libcusparse", 12): None,
    ("libnvToolsExt", 1): None,
}
"""The CUDA version that a library's number belongs to, if they differ; None if it belongs to several."""
_CANN = ("libascendcl", "libacl_", "libhccl", "libge_", "libgraph", "libnnopbase", "libopapi", "libascend", "libtiling")
_TORCH = ("libtorch", "libc10", "libshm", "libcaffe2")
PYTORCH_WITH_CUDA = "install a PyTorch with CUDA: pip install torch --index-url https://download.pytorch.org/whl/cu130"
_SYSTEM = {
    "libgomp.so.1": "libgomp1",
    "libomp.so.5": "libomp5",
    "libtbb.so.12": "libtbb12",
    "libopenblas.so.0": "libopenblas0",
}
_NUMBER = re.compile(r"\.so\.(\d+)")


def how_to_get(library: str) -> str:
    """Return the command or advice that provides a missing library."""
    # auditwheel and similar tools append a dash and a hash.
    stem = re.split(r"\.so|-", library)[0]
    found = _NUMBER.search(library)
    number = int(found[1]) if found else 0
    if stem in ("libcuda", "libnvidia-ml"):
        return "it comes with NVIDIA's driver, which this machine has not: run it on a machine with a GPU"
    if stem in _CUDA_WHEELS:
        return _cuda_wheel(_CUDA_WHEELS[stem], _CUDA_OF.get((stem, number), number), library)
    if stem.partition("_")[0] in _OTHER_CUDA_WHEELS or stem in _OTHER_CUDA_WHEELS:
        wheel = _OTHER_CUDA_WHEELS.get(stem) or _OTHER_CUDA_WHEELS[stem.partition("_")[0]]
        return _cuda_wheel(wheel, None, library)
    if library.startswith(_CANN):
        return "it is CANN's: source /usr/local/Ascend/ascend-toolkit/set_env.sh in this shell, or install CANN"
    if stem.startswith(_TORCH):
        return PYTORCH_WITH_CUDA if "cuda" in stem else "pip install torch, of the version that it was built for"
    if stem.startswith("libpython"):
        return "it is linked with a Python, whose library is not here: build it with this Python, without -lpython"
    if library in _SYSTEM:
        return f"sudo apt install {_SYSTEM[library]}, or the package of your system that has {library}"
    return "find the library, and name its folder: export LD_LIBRARY_PATH=FOLDER, or link with -Wl,-rpath,FOLDER"


def _cuda_wheel(name: str, cuda: int | None, library: str) -> str:
    load = (
        f"and load it before this file: ctypes.CDLL('.../{library}', ctypes.RTLD_GLOBAL); a PyTorch with CUDA does both"
    )
    if cuda is None:
        return f"pip install nvidia-{name}-cu12 (or what your CUDA needs: -cu11, -cu13), {load}"
    # From CUDA 13 on NVIDIA's wheels have no suffix.
    package = (
        f"'nvidia-{name}=={cuda}.*'"
        if cuda >= 13 and name not in _OTHER_CUDA_WHEELS.values()
        else f"nvidia-{name}-cu{cuda}"
    )
    return f"pip install {package}, {load}"
