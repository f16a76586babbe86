"""Functions of tvm-ffi libraries as kernels: `tvm_ffi:lib.so:function`.

Such a function takes the arguments of the schema in order, then the outputs that it writes to. Its library needs
libtvm_ffi.so, through which it reports errors.
"""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path

from opbridge._core import Kernel, load_tvm_ffi_kernel
from opbridge.base.errors import KernelError, ToolchainError, did_you_mean
from opbridge.build.sources.elf import read_library
from opbridge.waist.manifest.kernel_origins import TVM_FFI

PREFIX = "__tvm_ffi_"
"""The prefix of the symbol of every function in such a library."""

_RUNTIME = "libtvm_ffi.so"
_NO_FUNCTIONS = ("_library_ctx", "_library_bin", "_metadata_", "_doc_")
"""The beginnings after the prefix of symbols that are not functions."""
_PLACES = ("lib", "lib64")


def load_function(path: str, function: str, shown: str) -> Kernel:
    """Load a function of a library, which stays loaded; messages call the library `shown`."""
    return load_tvm_ffi_kernel(path, function, shown, os.fspath(runtime_library(Path(path).parent)))


def runtime_library(folder: Path) -> Path:
    """Return libtvm_ffi.so of the installed package, or the one in the folder.

    Raises:
        ToolchainError: There is none.
    """
    package = importlib.util.find_spec("tvm_ffi")
    homes = map(Path, package.submodule_search_locations or ()) if package else ()
    places = [*(home / name / _RUNTIME for home in homes for name in _PLACES), folder / _RUNTIME]
    for place in places:
        if place.is_file():
            return place
    raise ToolchainError(
        f"functions of tvm-ffi's libraries need {_RUNTIME}, which is not installed\n"
        f"  pip install apache-tvm-ffi, or put the library's own {_RUNTIME} into {folder}"
    )


def functions(symbols: tuple[str, ...]) -> tuple[str, ...]:
    """Return the functions among exported symbols, as tvm-ffi hosts name them."""
    names = (symbol.removeprefix(PREFIX) for symbol in symbols if symbol.startswith(PREFIX))
    return tuple(name for name in names if not name.startswith(_NO_FUNCTIONS))


def why_no_function(path: str, function: str) -> str:
    """Return what a library without `function` has instead, after a line break."""
    try:
        exported = read_library(path).exported_functions
    except KernelError as error:
        return f"\n  {error}"
    if found := functions(exported):
        return f"\n  it has {', '.join(found)}; {did_you_mean(function, found)}".rstrip("; ")
    if function in exported:
        return f"\n  it has {function} with another call, perhaps that of abi.h; name that without {TVM_FFI}"
    return f"\n  it has no function of tvm-ffi's call; those are exported as {PREFIX}NAME"
