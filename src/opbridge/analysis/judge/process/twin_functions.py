"""Take the functions of the CUDA twin that only a judge calls.

The twin gives them away once in a process, so a judge takes them before it loads an answer, whose C++ cannot name them.
"""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any

from opbridge.base.errors import UnsupportedError
from opbridge.twins import cuda

_NAMES = (
    "open_record",
    "record",
    "operator_was_called",
    "framework_copied",
    "keep_memory",
    "take_back_memory",
    "mute",
    "run_alone",
    "name_device",
    "slow_clocks",
)
"""Their names, in the order of the table of the twin (engine/judge_functions.cpp)."""
_TYPES: dict[str, tuple[Any, ...]] = {"record": (ctypes.c_char_p, ctypes.c_size_t)}
"""The types of arguments that are not those which ctypes assumes."""


def twin_function(name: str) -> Any:
    """Return a function of the twin; this takes all of them on the first call.

    Raises:
        UnsupportedError: Something else in this process has taken them.
    """
    return ctypes.CFUNCTYPE(ctypes.c_int, *_TYPES.get(name, ()))(_addresses()[name])


def address_of(name: str) -> int:
    """Return the address of such a function, for the C++ of the device."""
    return _addresses()[name]


@cache
def _addresses() -> dict[str, int]:
    # Load it by name only, to get the library that kernels are linked with instead of a new build.
    take = ctypes.CDLL(cuda.LIBRARY).ob_twin_take_judge_functions
    take.restype = ctypes.POINTER(ctypes.c_void_p)
    if not (table := take()):
        raise UnsupportedError("the functions of the CUDA twin for a judge are taken: judge in a separate process")
    return {name: int(table[i]) for i, name in enumerate(_NAMES)}
