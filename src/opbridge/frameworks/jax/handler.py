"""Build and register the native handler that XLA calls for every operator, once in a process.

It is compiled against the headers of the installed jaxlib. The XLA interface for handlers changes between versions,
and a handler only works with the version that it was compiled for.
"""

from __future__ import annotations

import sysconfig
from pathlib import Path
from threading import Lock
from types import ModuleType

import jax
import jaxlib

from opbridge.base.errors import BuildError, OpbridgeError, ToolchainError
from opbridge.build.toolchains import BuildRequest, build, prebuilt
from opbridge.frameworks.native_modules import LINK_FLAGS, NATIVE, import_extension, python_headers

TARGET = "opbridge"
"""The name of the handler in programs."""

NAME = "opbridge_jax_handler"
_loaded: list[ModuleType] = []
_missing: list[OpbridgeError] = []
_lock = Lock()


def register_handler() -> None:
    """Register the handler with XLA, once, on every platform that operators can have kernels for."""
    with _lock:
        if _loaded:
            return
        # Import this late: the build of opbridge makes the library before the core exists.
        from opbridge.frameworks.jax.lookup import resolve

        native = import_extension(NAME, _library(), "the handler for JAX")
        for platform, handler in native.connect(resolve).items():
            jax.ffi.register_ffi_target(TARGET, handler, platform=platform)
        _loaded.append(native)


def handler_or_reason() -> OpbridgeError | None:
    """Register the handler; return the reason if that is impossible."""
    if _missing:
        return _missing[0]
    try:
        register_handler()
    except (ToolchainError, BuildError) as error:
        _missing.append(error)
        return error
    return None


def forget_operators() -> None:
    """Make programs look their operators up again, after one was redefined."""
    for native in _loaded:
        native.forget()


def _library() -> Path:
    if library := prebuilt.find(request()):
        return library
    python_headers("the handler for JAX")  # Raise a clear error before the compiler misses them.
    return build(request()).path


def request() -> BuildRequest:
    """Return the build of the handler."""
    headers, python = jax.ffi.include_dir(), sysconfig.get_path("include")
    return BuildRequest(
        sources=(NATIVE / "jax" / "handler.cpp",),
        output=f"{NAME}.so",
        title=f"the handler for jaxlib {jaxlib.__version__}",
        flags=(f"-isystem{headers}", f"-isystem{python}"),
        link_flags=LINK_FLAGS,
        portable=True,
        standard="c++20",
        built_for=("jaxlib", jaxlib.__version__, "python", str(sysconfig.get_config_var("EXT_SUFFIX"))),
    )
