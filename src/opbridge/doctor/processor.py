"""The levels of x86-64 that a library may ask for, and the one that this processor has."""

from __future__ import annotations

import platform

from opbridge.toolchains.identity import CPUINFO
from opbridge.wheel.variants import processor_features

X86 = "x86_64"

_ADDED = {
    2: {"cx16", "lahf_lm", "popcnt", "sse4_1", "sse4_2", "ssse3"},
    3: {"abm", "avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "movbe", "xsave"},
    4: {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"},
}
"""What a level has that the one before it has not, as Linux names it."""


def level_name(level: int) -> str:
    return "x86-64" if level == 1 else f"x86-64-v{level}"


def model_name() -> str:
    """As the system calls it; empty where it does not."""
    if not CPUINFO.is_file():
        return ""
    lines = CPUINFO.read_text(errors="replace").splitlines()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "")


def level_here() -> int | None:
    """None where this machine is no x86-64, or does not say."""
    features = processor_features()
    if platform.machine() != X86 or not features:
        return None
    level = 1
    for higher, added in _ADDED.items():
        if not added <= features:
            break
        level = higher
    return level
