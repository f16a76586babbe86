"""Describe the processors that a wheel has kernels for, and choose the ones that fit this processor."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from opbridge.build.toolchains.machine_identity import CPUINFO


@dataclass(frozen=True)
class Variant:
    """A kind of processor, and how to compile for it."""

    name: str
    """The name, which is also the folder of its libraries."""
    flags: tuple[str, ...]
    """Compiler flags that fix the processor, instead of CXXFLAGS or the compiler default."""
    features: frozenset[str] = frozenset()
    """The processor features that the flags require, by their names in Linux."""

    @property
    def manifest(self) -> str:
        """The file name of its manifest."""
        return f"ops.{self.name}.yaml"

    def extended(self, name: str, features: Mapping[str, str]) -> Variant:
        """Return a variant with more features: the name of each in Linux, and the compiler flag for it."""
        return Variant(name, (*self.flags, *features.values()), self.features | features.keys())


# The features of x86-64-v3 and v4, one by one: compilers before GCC 11 do not know the level names.
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
    """Return the variants for this machine type, the fastest first; the last one runs anywhere."""
    return _VARIANTS.get(os.uname().machine, (Variant("portable", ()),))


def suitable(features: frozenset[str]) -> list[Variant]:
    """Return the variants that a processor with these features can run, the fastest first."""
    return [variant for variant in variants() if variant.features <= features]


def processor_features(cpuinfo: Path = CPUINFO) -> frozenset[str]:
    """Return the features that Linux reports for this processor; an empty set if it reports none."""
    try:
        with cpuinfo.open(encoding="utf-8", errors="replace") as lines:
            for line in lines:
                name, _, value = line.partition(":")
                if name.strip() in ("flags", "Features"):
                    return frozenset(value.split())
    except OSError:
        pass
    return frozenset()
