"""The x86-64 levels that a library may require, and the level of this CPU."""

from __future__ import annotations

import platform

from opbridge.authoring.wheel.variants import processor_features
from opbridge.build.toolchains.machine_identity import CPUINFO

X86 = "x86_64"

_ADDED = {
    2: {"cx16", "lahf_lm", "popcnt", "sse4_1", "sse4_2", "ssse3"},
    3: {"abm", "avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "movbe", "xsave"},
    4: {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"},
}
"""The features that each level adds, as Linux names them."""


def level_name(level: int) -> str:
    """Return the usual name of a level, such as x86-64-v3."""
    return "x86-64" if level == 1 else f"x86-64-v{level}"


def model_name() -> str:
    """Return the CPU model as the system reports it; empty if it does not."""
    if not CPUINFO.is_file():
        return ""
    lines = CPUINFO.read_text(errors="replace").splitlines()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "")


def level_here() -> int | None:
    """Return the level of this CPU, or None if it is not x86-64 or unknown."""
    features = processor_features()
    if platform.machine() != X86 or not features:
        return None
    level = 1
    for higher, added in _ADDED.items():
        if not added <= features:
            break
        level = higher
    return level
