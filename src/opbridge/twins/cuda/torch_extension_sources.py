"""Additions for sources of PyTorch CUDA extensions, which need more than a plain `.cu`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from opbridge.twins.cuda import cccl
from opbridge.twins.cuda.rewriting import Unit, rewrite
from opbridge.twins.cuda.unique_symbols import RELOCATABLE

INCLUDE = Path(__file__).parent / "torch"
"""The folder of the headers that take precedence over PyTorch headers of the same names."""

PRELUDE = ("-include", "opbridge_twin/torch.h")
"""The options that include a header before the CUDA prelude, and after whatever is precompiled."""

HOST = "opbridge_twin/host_source.h"
"""The header that replaces the CUDA prelude for a source that is not CUDA."""

DEVICE = "OPBRIDGE_TWIN_CUDA_DEVICE"
"""The macro of extensions with tensors on a device `cuda`; others are on the CPU, shared for each launch."""

# Mangled element types of tensors; opbridge_twin/torch_lent_memory.h lists the same types.
_TYPES = (*"abdfhijlmst", "N3c104HalfE", "N3c107complexIdEE", "N3c107complexIfEE", "N3c108BFloat16E")
_FUNCTIONS = (
    "8data_ptrI%sEEPT_v",
    "16mutable_data_ptrI%sEEPT_v",
    "14const_data_ptrI%sEEPKT_v",
    "14const_data_ptrIK%sEEPKT_v",
)

_SHIMS = {
    "stable_shim.cpp": re.compile(
        r"\baoti_torch_get_current_cuda_stream\b|\btorch_(set_current_cuda_stream|get_cuda_stream_from|cuda_stream_sync)"
    ),
    "stable_shim_blas.cpp": re.compile(r"\btorch_get_current_cuda_blas_handle\b"),
}
"""The functions of the stable ABI that only a GPU build of PyTorch has, by the source that defines them here."""

_FOR_HOST = ("-Xcompiler", "--compiler-options")
_LINKED = frozenset({"-dc", "--device-c", "-rdc=true", "--relocatable-device-code=true"})
_SHARED = re.compile(r"-([DUI]|O[0-3]$|std=|g$|w$)")


_LAUNCHES = re.compile(r"<<\s*<|__global__|__shared__")
_DEVICE_WORDS = frozenset({"C10_DEVICE", "C10_HOST_DEVICE"})
_HOST_WORDS = frozenset({"C10_HOST", "C10_HOST_DEVICE"})


def write(headers: Path, folder: Path) -> None:
    """Rewrite the PyTorch headers that hold or launch kernels, for the compiler to find before the originals."""
    for file in sorted(path for ending in ("*.cuh", "*.h") for path in (headers / "ATen").rglob(ending)):
        name = file.relative_to(headers)
        text = file.read_text(encoding="utf-8", errors="surrogateescape")
        if (INCLUDE / name).exists() or not _LAUNCHES.search(text):
            continue
        unit = Unit(is_library=True, has_cccl=cccl.find() is not None)
        unit.device_words |= _DEVICE_WORDS
        unit.host_words |= _HOST_WORDS
        copy = folder / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        code = f'#line 1 "{file}"\n{rewrite(text, str(file), unit)}'
        copy.write_text(code, encoding="utf-8", errors="surrogateescape")


def shims(texts: Sequence[str]) -> Iterator[Path]:
    """Yield the sources that define the functions of the stable ABI which these texts call."""
    for name, calls in _SHIMS.items():
        if any(map(calls.search, texts)):
            yield INCLUDE / name


def link_flags() -> tuple[str, ...]:
    """Return linker flags by which the checks see every tensor whose memory a kernel may receive."""
    return tuple(f"-Wl,--wrap=_ZNK2at10TensorBase{function % kind}" for kind in _TYPES for function in _FUNCTIONS)


def host_flags(flags: Iterable[str]) -> tuple[str, ...]:
    """Return the nvcc flags that the host compiler accepts; GPU flags mean nothing to a CPU."""
    flags = list(flags)
    kept = [f"-D{RELOCATABLE}=1"] if _LINKED.intersection(flags) else []
    words = iter(flags)
    for word in words:
        name, equals, value = word.partition("=")
        if name in _FOR_HOST:
            kept += (value if equals else next(words, "")).split(",")
        elif word in ("-D", "-U", "-I"):
            kept += (word, next(words, ""))
        elif _SHARED.match(word):
            kept.append(word)
    return tuple(kept)
