"""The native handler that XLA calls for every operator: one for each jaxlib, registered once in a process.

It is compiled against the headers that come with jaxlib: XLA's interface for such handlers changes from one version to
the next, and a handler may only be used with the version it was compiled for.
"""

from __future__ import annotations

from threading import Lock
from types import ModuleType

import jax
import jaxlib

from opbridge.errors import BuildError, OpbridgeError, ToolchainError
from opbridge.frameworks.native_modules import LINK_FLAGS, NATIVE, brought, import_extension, python_headers
from opbridge.toolchains import BuildRequest, build

TARGET = "opbridge"
"""What programs call the handler."""

NAME = "opbridge_jax_handler"
_loaded: list[ModuleType] = []
_missing: list[OpbridgeError] = []
_lock = Lock()


def register_handler() -> None:
    """Makes XLA know the handler, on every platform that operators can have kernels for; once."""
    with _lock:
        if _loaded:
            return
        # Not before: opbridge's own build makes the library where there is no core yet.
        from opbridge.frameworks.jax.lookup import resolve

        library = brought(NAME, "jaxlib", jaxlib.__version__) or build(request()).path
        native = import_extension(NAME, library, "the handler for JAX")
        for platform, handler in native.connect(resolve).items():
            jax.ffi.register_ffi_target(TARGET, handler, platform=platform)
        _loaded.append(native)


def handler_or_reason() -> OpbridgeError | None:
    """Registers the handler; or why it cannot be had here."""
    if _missing:
        return _missing[0]
    try:
        register_handler()
    except (ToolchainError, BuildError) as error:
        _missing.append(error)
        return error
    return None


def forget_operators() -> None:
    """Lets programs find their operators again, where one was defined anew."""
    for native in _loaded:
        native.forget()


def request() -> BuildRequest:
    headers = jax.ffi.include_dir()
    return BuildRequest(
        sources=(NATIVE / "jax" / "handler.cpp",),
        output=f"{NAME}.so",
        title=f"the handler for jaxlib {jaxlib.__version__}",
        flags=("-O2", f"-isystem{headers}", f"-isystem{python_headers('the handler for JAX')}"),
        link_flags=LINK_FLAGS,
        portable=True,
        standard="c++20",
    )
