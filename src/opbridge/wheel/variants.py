"""The processors that a wheel has a copy of its kernels for, and which copy suits the one at hand."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from opbridge.toolchains.identity import CPUINFO


@dataclass(frozen=True)
class Variant:
    name: str
    """Also the folder of its libraries."""
    flags: tuple[str, ...]
    """For the compiler, which would follow CXXFLAGS or its own default otherwise."""
    features: frozenset[str] = frozenset()
    """What Linux calls the abilities that the flags take for granted."""

    @property
    def manifest(self) -> str:
        return f"ops.{self.name}.yaml"

    def extended(self, name: str, features: Mapping[str, str]) -> Variant:
        """With more abilities: what Linux calls each, and the compiler's flag for it."""
        return Variant(name, (*self.flags, *features.values()), self.features | features.keys())


# The levels 3 and 4 of x86-64, one by one: compilers before GCC 11 do not know them by these names.
_PORTABLE_X86 = Variant("portable", ("-march=x86-64",))
_AVX2 = _PORTABLE_X86.extended(
    "avx2",
    {
        "cx16": "-mcx16",
        "lahf_lm": "-msahf",
        "popcnt": "-mpopcnt",
        "ssse3": "-mssse3",
        "sse4_1": "-msse4.1",
        "sse4_2": "-msse4.2",
        "abm": "-mlzcnt",
        "avx": "-mavx",
        "avx2": "-mavx2",
        "bmi1": "-mbmi",
        "bmi2": "-mbmi2",
        "f16c": "-mf16c",
        "fma": "-mfma",
        "movbe": "-mmovbe",
        "xsave": "-mxsave",
    },
)
_AVX512 = _AVX2.extended(
    "avx512", {name: f"-m{name}" for name in ("avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl")}
)

_VARIANTS = {
    "x86_64": (_AVX512, _AVX2, _PORTABLE_X86),
    "aarch64": (Variant("portable", ("-march=armv8-a",)),),
}


def variants() -> tuple[Variant, ...]:
    """Those of this kind of machine, the fastest first; the last one runs anywhere."""
    return _VARIANTS.get(os.uname().machine, (Variant("portable", ()),))


def suitable(features: frozenset[str]) -> list[Variant]:
    """Those that a processor with these abilities can run, the fastest first."""
    return [variant for variant in variants() if variant.features <= features]


def processor_features(cpuinfo: Path = CPUINFO) -> frozenset[str]:
    """What Linux says this processor can do; where Linux does not say, nothing is taken for granted."""
    try:
        with cpuinfo.open(encoding="utf-8", errors="replace") as lines:
            for line in lines:
                name, _, value = line.partition(":")
                if name.strip() in ("flags", "Features"):
                    return frozenset(value.split())
    except OSError:
        pass
    return frozenset()
