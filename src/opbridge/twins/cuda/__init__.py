"""The CUDA twin: a `.cu` as it is, compiled by the host's C++ compiler and run on the CPU."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from opbridge import floating_point
from opbridge.twins.common.columns import BYTES
from opbridge.twins.cuda.rewriting import ARCHITECTURE
from opbridge.twins.cuda.sources import Translation, translate

__all__ = [
    "ARCHITECTURE",
    "HEAP",
    "INCLUDE",
    "LIBRARIES",
    "PROFILE_LIBRARY",
    "PROFILING",
    "REPLACED",
    "RUNTIME",
    "Translation",
    "flags",
    "link_flags",
    "places",
    "translate",
    "without_level",
]

INCLUDE = Path(__file__).parent / "include"
"""The folder of the headers that stand for NVIDIA's."""

RUNTIME = Path(__file__).parent / "runtime"
"""The folder of the library that every kernel is linked with."""

LIBRARY = "libopbridge_cuda_twin.so"

PROFILING = Path(__file__).parent / "profiling"
"""What the library for profiles has besides."""

PROFILE_LIBRARY = "libopbridge_cuda_twin_profile.so"

LIBRARIES = Path(__file__).parent / "libraries"
"""The folder of those of NVIDIA's libraries that the twin has."""

# As nvcc does, and its code reads memory as other types.
_MODEL = (*floating_point.FLAGS, "-ffp-contract=fast", "-fno-strict-aliasing")
_WARNINGS = ("-Wno-unknown-pragmas", "-Wno-unused-variable", "-Wno-unused-function", "-Wno-unused-value")
REPLACED = ("memcpy", "memmove", "memset")
"""Functions of the C library that the twin's stand in for where memory is checked."""
HEAP = ("malloc", "free", "_Znwm", "_Znam", "_ZdlPv", "_ZdlPvm", "_ZdaPv", "_ZdaPvm")
"""Those that give and take memory, which device code may use too."""
PLACES = ("-gdwarf-4", "-g1")
"""Lines for reports, in the older format, whose inlined lines addr2line names by the right file.  A format that comes
last asks for types and variables too, which take a third of the compilation of a source with PyTorch's headers."""

_INSTRUMENTATION = (
    "-DOPBRIDGE_TWIN_CHECKS=1",
    # Every access is a call, so these go without stubs.
    *("-fsanitize=thread,alignment,bounds,integer-divide-by-zero", "-fno-plt"),
    # A few bytes would be copied by instructions that come too late for every other one of these flags.
    *(f"-fno-builtin-{name}" for name in REPLACED),
)
_PROFILING = (
    "-DOPBRIDGE_TWIN_PROFILE=1",
    # A call at the begin of each stretch of code without a branch.
    "-fsanitize-coverage=trace-pc",
)
_AS_WRITTEN = (
    # Each line stays one place in the code, where lanes that have parted can meet again.
    *(f"-fno-{word}" for word in ("crossjumping", "tree-tail-merge", "split-paths", "thread-jumps", "tree-vrp")),
    *(f"-fno-{word}" for word in ("unswitch-loops", "split-loops", "peel-loops", "tree-loop-distribution")),
    "-fno-tree-loop-distribute-patterns",
    # A float4 is read at once, and four neighbours by four instructions.
    *(f"-fno-{word}" for word in ("tree-sra", "tree-slp-vectorize", "store-merging")),
)
"""For g++; clang++ has no words for it."""
_LEVEL, _LEVELS = "-O1", re.compile("-O[1-9sz]?")
"""Where every access is a call, a higher one takes two to four times as long and makes no kernel faster."""
_FUSED = "-fexpensive-optimizations"
"""For g++, which at that level would round a product before it is added, as it does not without checks."""
_INSTRUMENTATION_DETAILS = ("tsan-distinguish-volatile=1", "tsan-instrument-func-entry-exit=0")


def flags(checks: bool, clang: bool = False, profile: bool = False) -> tuple[str, ...]:
    """For the compiler, beside those of any kernel; a profile needs checks."""
    # Clang says of each loop over threads that could not become vector code that it did not.
    messages = "-Wno-pass-failed" if clang else BYTES
    plain = (f"-isystem{INCLUDE}", *_MODEL, *_WARNINGS, messages)
    if not checks:
        return plain
    # Fences are the checks' own.
    plain = (*plain, *(() if clang else ("-Wno-tsan",)))
    details = (("-mllvm", f"-{word}") if clang else (f"--param={word}",) for word in _INSTRUMENTATION_DETAILS)
    checked = (*plain, *_INSTRUMENTATION, *PLACES, *(word for detail in details for word in detail))
    if profile:
        return (*checked, *_PROFILING, *(() if clang else _AS_WRITTEN))
    return (*checked, _LEVEL, *(() if clang else (_FUSED,)))


def without_level(words: Iterable[str]) -> tuple[str, ...]:
    """A project's own flags, for a compilation with checks: their level is the host's for nvcc too, but for -O0's wish
    to look at each step."""
    return tuple(word for word in words if not _LEVELS.fullmatch(word))


def link_flags(checks: bool, runtime: Path) -> tuple[str, ...]:
    """`runtime` is the library; it is looked for beside the kernel too, so that both can be moved together."""
    wrapped = tuple(f"-Wl,--wrap={name}" for name in (*REPLACED, *HEAP)) if checks else ()
    return (*wrapped, str(runtime), "-Wl,-rpath,$ORIGIN", f"-Wl,-rpath,{runtime.parent}")
