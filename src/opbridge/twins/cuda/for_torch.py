"""What sources of PyTorch's CUDA extensions need beside what every `.cu` does."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

INCLUDE = Path(__file__).parent / "torch"
"""The folder of the headers that stand before PyTorch's of the same names."""

PRELUDE = ("-include", "opbridge_twin/torch.h")
"""Comes before CUDA's own prelude, behind whatever is precompiled."""

HOST = "opbridge_twin/host_source.h"
"""Comes last of what stands before a source that is not CUDA."""

DEVICE = "OPBRIDGE_TWIN_CUDA_DEVICE"
"""The macro of extensions whose tensors are truly of a device `cuda`, and not the CPU's, lent for each launch."""

# The types of tensors' elements as C++ mangles them; opbridge_twin/torch_lent_memory.h has them too.
_TYPES = (*"abdfhijlmst", "N3c104HalfE", "N3c107complexIdEE", "N3c107complexIfEE", "N3c108BFloat16E")
_FUNCTIONS = (
    "8data_ptrI%sEEPT_v",
    "16mutable_data_ptrI%sEEPT_v",
    "14const_data_ptrI%sEEPKT_v",
    "14const_data_ptrIK%sEEPKT_v",
)

_FOR_HOST = ("-Xcompiler", "--compiler-options")
_SHARED = re.compile(r"-([DUI]|O[0-3]$|std=|g$|w$)")


def link_flags() -> tuple[str, ...]:
    """So that the checks hear of every tensor whose memory a kernel might be given."""
    return tuple(f"-Wl,--wrap=_ZNK2at10TensorBase{function % kind}" for kind in _TYPES for function in _FUNCTIONS)


def host_flags(flags: Iterable[str]) -> tuple[str, ...]:
    """Of nvcc's flags those that the host's compiler takes: what is for GPUs says nothing to a CPU."""
    kept: list[str] = []
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
