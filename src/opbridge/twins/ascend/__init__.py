"""The Ascend C twin: it compiles NPU kernels by the host's C++ compiler and runs them on the CPU."""

from __future__ import annotations

from pathlib import Path

from opbridge.base import floating_point

__all__ = ["INCLUDE", "LANGUAGE", "LIBRARY", "RUNTIME", "flags", "link_flags"]

INCLUDE = Path(__file__).parent / "include"
"""The folder of the headers that replace Huawei's; they are written from the public API reference alone."""

RUNTIME = Path(__file__).parent / "runtime"
"""The folder of the library that every kernel is linked with."""

LIBRARY = "libopbridge_ascend_twin.so"

# An NPU rounds after each operation, and its integers wrap; kernels read one local memory as many types.
_MODEL = (*floating_point.FLAGS, "-ffp-contract=off", "-fwrapv", "-fno-strict-aliasing")
_WARNINGS = ("-Wno-unknown-pragmas", "-Wno-unused-variable", "-Wno-unused-function", "-Wno-narrowing", "-Wno-volatile")

# bisheng compiles C++17, but finds templates by their arguments as in C++20: `Cast<half>(x, y)` without a using.
_STANDARD = "-std=gnu++20"

LANGUAGE = (_STANDARD, *_MODEL, *_WARNINGS)
"""The compiler options of the language, without the include folder."""


def flags() -> tuple[str, ...]:
    """Return the compiler flags of the twin, in addition to those of any kernel."""
    return (f"-isystem{INCLUDE}", *LANGUAGE)


def link_flags(runtime: Path) -> tuple[str, ...]:
    """Return the linker flags for `runtime`, the library of the twin.

    The loader also looks in the folder of the kernel, so that both files can be moved together.
    """
    return (str(runtime), "-Wl,-rpath,$ORIGIN", f"-Wl,-rpath,{runtime.parent}")
