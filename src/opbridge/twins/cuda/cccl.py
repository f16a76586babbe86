"""Thrust, CUB and libcu++ (CCCL) as installed, with the headers that hold device code rewritten."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from opbridge.twins.cuda.rewriting import Unit, rewrite

PACKAGES = {"nvidia-cuda-cccl-cu12": "nvidia/cuda_cccl/include"}
"""The package to install, and the folder of its headers below the folder of installed packages."""

MARK = "-DOPBRIDGE_TWIN_CCCL=1"
"""The compiler option that says that the headers are installed."""

_CUDA = re.compile(r"<<<|__shared__|\basm\b|_KERNEL_ATTRIBUTES|__global__|\bNV_(?:IF|DISPATCH)_|\b__CUDA_ARCH__\b")
_KERNEL_WORDS = frozenset(
    {"CCCL_DETAIL_KERNEL_ATTRIBUTES", "CUB_DETAIL_KERNEL_ATTRIBUTES", "THRUST_DETAIL_KERNEL_ATTRIBUTES"}
)
_DEVICE_WORDS = frozenset({"_CCCL_DEVICE", "_CCCL_HOST_DEVICE", *_KERNEL_WORDS})
_HOST_WORDS = frozenset({"_CCCL_HOST", "_CCCL_HOST_DEVICE", "CUB_RUNTIME_FUNCTION", "THRUST_RUNTIME_FUNCTION"})

_HOST_ATOMIC = re.compile(r"(NV_IS_HOST,\s*\()(?=[^;]*\b__atomic_(?!\w+_fence_)\w+_host\()")
_HOST_FENCE = "((void) _Scope; _CUDA_VSTD::atomic_thread_fence(__m);)"
_SCOPE = "const ::opbridge_twin::Scope __for_block("


def find() -> Path | None:
    """Return the folder of the headers, or None if no package provides them."""
    for folder in sys.path:
        for place in PACKAGES.values():
            if (headers := Path(folder, place)).is_dir():
                return headers
    return None


def write(headers: Path, folder: Path) -> None:
    """Rewrite the headers with device code, for the compiler to find before the originals."""
    for file in sorted(path for path in headers.rglob("*") if path.is_file()):
        name = file.relative_to(headers).as_posix()
        if name.startswith("nv/"):  # these headers tell host code from device code
            continue
        text = file.read_text(encoding="utf-8", errors="surrogateescape")
        if not _CUDA.search(text):
            continue
        unit = Unit(is_library=True, has_cccl=True)
        unit.kernel_words |= _KERNEL_WORDS
        unit.device_words |= _DEVICE_WORDS
        unit.host_words |= _HOST_WORDS
        code = _with_scopes(name, f'#line 1 "{file}"\n{rewrite(text, str(file), unit)}')
        copy = folder / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_text(code, encoding="utf-8", errors="surrogateescape")


def _with_scopes(name: str, code: str) -> str:
    """Make libcu++'s atomics and fences, which are the host's in the twin, tell the checks for whom they are."""
    if name == "cuda/std/__atomic/types/base.h":
        scoped = _HOST_ATOMIC.sub(rf"\1{_SCOPE}__is_same(_Sco, __thread_scope_block_tag)); ", code)
    elif name == "cuda/__atomic/atomic.h":
        for_block = "_Scope == thread_scope::thread_scope_block || _Scope == thread_scope::thread_scope_thread"
        scoped = code.replace(_HOST_FENCE, f"({_SCOPE}{for_block}); _CUDA_VSTD::atomic_thread_fence(__m);)")
    else:
        return code
    return f"#include <opbridge_twin/thread.h>\n{scoped}"
