"""The Ascend C twin: kernels for the NPU, compiled by the host's C++ compiler and run on the CPU."""

from __future__ import annotations

from pathlib import Path

from opbridge import floating_point

__all__ = ["INCLUDE", "LANGUAGE", "LIBRARY", "RUNTIME", "flags", "link_flags"]

INCLUDE = Path(__file__).parent / "include"
"""The folder of the headers that stand for Huawei's; written from the public API reference alone."""

RUNTIME = Path(__file__).parent / "runtime"
"""The folder of the library that every kernel is linked with."""

LIBRARY = "libopbridge_ascend_twin.so"

# An NPU rounds after each operation, and its integers wrap; one local memory is read as many types.
_MODEL = (*floating_point.FLAGS, "-ffp-contract=off", "-fwrapv", "-fno-strict-aliasing")
_WARNINGS = ("-Wno-unknown-pragmas", "-Wno-unused-variable", "-Wno-unused-function", "-Wno-narrowing", "-Wno-volatile")

# bisheng takes C++17 and finds templates by their arguments, as only C++20 says: `Cast<half>(x, y)` with no using.
_STANDARD = "-std=gnu++20"

LANGUAGE = (_STANDARD, *_MODEL, *_WARNINGS)
"""What the compiler is told beside where the headers are."""


def flags() -> tuple[str, ...]:
    """For the compiler, beside those of any kernel."""
    return (f"-isystem{INCLUDE}", *LANGUAGE)


def link_flags(runtime: Path) -> tuple[str, ...]:
    """`runtime` is the library; it is looked for beside the kernel too, so that both can be moved together."""
    return (str(runtime), "-Wl,-rpath,$ORIGIN", f"-Wl,-rpath,{runtime.parent}")
