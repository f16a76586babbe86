"""The CUDA twin: it compiles an unchanged `.cu` by the host's C++ compiler and runs it on the CPU."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from opbridge.base import floating_point
from opbridge.twins.common.message_columns import BYTES
from opbridge.twins.cuda.rewriting import ARCHITECTURE
from opbridge.twins.cuda.rewritten_sources import Translation, translate

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
"""The folder of the headers that replace NVIDIA's."""

RUNTIME = Path(__file__).parent / "runtime"
"""The folder of the library that every kernel is linked with."""

LIBRARY = "libopbridge_cuda_twin.so"

PROFILING = Path(__file__).parent / "profiling"
"""The folder of the sources that the profiling library has in addition."""

PROFILE_LIBRARY = "libopbridge_cuda_twin_profile.so"

LIBRARIES = Path(__file__).parent / "libraries"
"""The folder of the NVIDIA libraries that the twin provides, each in a folder of its own."""

# nvcc fuses operations too, and CUDA code reads memory as other types.
_MODEL = (*floating_point.FLAGS, "-ffp-contract=fast", "-fno-strict-aliasing")
_WARNINGS = ("-Wno-unknown-pragmas", "-Wno-unused-variable", "-Wno-unused-function", "-Wno-unused-value")
REPLACED = ("memcpy", "memmove", "memset")
"""C library functions that the twin replaces by its own where memory is checked."""
HEAP = ("malloc", "free", "_Znwm", "_Znam", "_ZdlPv", "_ZdlPvm", "_ZdaPv", "_ZdaPvm")
"""Functions that allocate and free memory, which device code may use too."""
_CLOCKS = (
    *("clock_gettime", "gettimeofday", "time"),
    *(f"_ZNSt6chrono3_V212{kind}_clock3nowEv" for kind in ("steady", "system")),
)
"""Functions that read clocks, which go slowly where a program is judged."""
PLACES = ("-gdwarf-4", "-g1")
"""Line tables for reports, in DWARF 4, for which addr2line reports the right file of inlined lines.

The level comes after the format: a format given last would request types and variables too, which take a third of the
compilation time of a source with PyTorch's headers."""

_INSTRUMENTATION = (
    "-DOPBRIDGE_TWIN_CHECKS=1",
    # Every access is a call, so the calls avoid PLT stubs.
    *("-fsanitize=thread,alignment,bounds,integer-divide-by-zero", "-fno-plt"),
    # The compiler would expand small copies after the instrumentation pass, which would miss them.
    *(f"-fno-builtin-{name}" for name in REPLACED),
)
_PROFILING = (
    "-DOPBRIDGE_TWIN_PROFILE=1",
    # A call at the start of each basic block.
    "-fsanitize-coverage=trace-pc",
)
_AS_WRITTEN = (
    # Each line stays one place in the code, so that diverged lanes can converge there.
    *(f"-fno-{word}" for word in ("crossjumping", "tree-tail-merge", "split-paths", "thread-jumps", "tree-vrp")),
    *(f"-fno-{word}" for word in ("unswitch-loops", "split-loops", "peel-loops", "tree-loop-distribution")),
    "-fno-tree-loop-distribute-patterns",
    # A float4 is one access; four adjacent scalars remain four instructions.
    *(f"-fno-{word}" for word in ("tree-sra", "tree-slp-vectorize", "store-merging")),
)
"""g++ options; clang++ has no counterparts."""
_LEVEL, _LEVELS = "-O1", re.compile("-O[1-9sz]?")
"""The level for checks: every access is a call, so a higher one only takes two to four times as long to compile."""
_AT_LEVEL = (
    # Without it, that level rounds a product before adding it, unlike a compilation without checks.
    "-fexpensive-optimizations",
    # Before a loop, it would read what the loop reads only in later turns, when it has been written.
    "-fno-tree-loop-im",
)
"""g++ options for that level."""
_INSTRUMENTATION_DETAILS = ("tsan-distinguish-volatile=1", "tsan-instrument-func-entry-exit=0")


def flags(checks: bool, clang: bool = False, profile: bool = False) -> tuple[str, ...]:
    """Return the compiler flags of the twin, in addition to those of any kernel; `profile` requires `checks`."""
    # Clang warns about each loop over threads that it could not vectorize.
    messages = "-Wno-pass-failed" if clang else BYTES
    plain = (f"-isystem{INCLUDE}", *_MODEL, *_WARNINGS, messages)
    if not checks:
        return plain
    # The checks handle fences themselves, so g++ need not warn about them.
    plain = (*plain, *(() if clang else ("-Wno-tsan",)))
    details = (("-mllvm", f"-{word}") if clang else (f"--param={word}",) for word in _INSTRUMENTATION_DETAILS)
    checked = (*plain, *_INSTRUMENTATION, *PLACES, *(word for detail in details for word in detail))
    if profile:
        return (*checked, *_PROFILING, *(() if clang else _AS_WRITTEN))
    return (*checked, _LEVEL, *(() if clang else _AT_LEVEL))


def without_level(words: Iterable[str]) -> tuple[str, ...]:
    """Return a project's flags without optimization levels, for a compilation with checks.

    nvcc passes the level to the host compiler too. -O0 stays: it asks to see each step.
    """
    return tuple(word for word in words if not _LEVELS.fullmatch(word))


def link_flags(checks: bool, runtime: Path) -> tuple[str, ...]:
    """Return the linker flags for `runtime`, the library of the twin.

    The loader also looks in the folder of the kernel, so that both files can be moved together.
    """
    wrapped = tuple(f"-Wl,--wrap={name}" for name in (*REPLACED, *HEAP, *_CLOCKS)) if checks else ()
    return (*wrapped, str(runtime), "-Wl,-rpath,$ORIGIN", f"-Wl,-rpath,{runtime.parent}")
