"""The import of an extension's library into Python; only this module of the folder imports PyTorch."""

from __future__ import annotations

import functools
import warnings
from pathlib import Path
from typing import Any

from opbridge.base.errors import InputError, OpbridgeError, ToolchainError
from opbridge.build.sources.elf_image import Image
from opbridge.build.sources.torch_registrations import registrations, schema_names
from opbridge.frameworks.native_modules import module_from
from opbridge.waist.manifest.kernel_origins import TWINS


@functools.cache
def imported(name: str, library: Path) -> Any:
    """Import the Python module of a library, once.

    A second module would register the same classes again, which pybind11 rejects.
    """
    _import_torch(name)
    check_not_registered(name, library)
    try:
        return module_from(name, library)
    except ImportError as error:
        raise _not_loading(name, str(error)) from error


def loaded(name: str, library: Path) -> str:
    """Load a library that registers operators, and return its path.

    Raises:
        InputError: The library does not load.
    """
    torch = _import_torch(name)
    check_not_registered(name, library)
    try:
        torch.ops.load_library(str(library))
    except (OSError, RuntimeError) as error:
        # PyTorch's error only says that it did not load; the cause has the reason.
        raise _not_loading(name, str(error.__cause__ or error)) from error
    return str(library)


_libraries: dict[str, Path] = {}
"""The library that owns each namespace, by TORCH_LIBRARY."""


def check_not_registered(name: str, library: Path) -> None:
    """Check that a library registers nothing that another has registered.

    Otherwise PyTorch throws an exception that ends the process.

    Raises:
        InputError: Another library has registered one of its operators.
    """
    image = Image(library)
    registered = tuple(registrations(image))
    whole = {one.namespace for one in registered if not one.kind}
    defines = {one.namespace for one in registered if one.kind != "_IMPL"}
    if not defines or str(library) in _import_torch(name).ops.loaded_libraries:
        return
    known = frozenset(_import_torch(name)._C._dispatch_get_all_op_names())
    mine = {f"{namespace}::{text}" for namespace in defines for text in schema_names(image)}
    again = sorted(known & mine) or sorted(f"{one}::*" for one in whole if _libraries.get(one, library) != library)
    if again:
        raise _not_loading(name, f"{', '.join(again)} {'are' if len(again) > 1 else 'is'} registered already")
    _libraries.update(dict.fromkeys(whole, library))


@functools.cache
def operators_of(name: str, library: Path) -> frozenset[str]:
    """Load a library, once, and return the operators that it registers with PyTorch's dispatcher."""
    torch = _import_torch(name)
    before = torch._C._dispatch_get_all_op_names()
    loaded(name, library)
    return frozenset(torch._C._dispatch_get_all_op_names()).difference(before)


def has_device(device: str) -> bool:
    """Return whether PyTorch has tensors on a device here."""
    torch = _import_torch(device)
    return device == "cpu" or bool(getattr(torch, device, None) and getattr(torch, device).is_available())


def _import_torch(name: str) -> Any:
    """Import PyTorch, which loads the libraries whose symbols an extension needs.

    Raises:
        ToolchainError: PyTorch is not installed.
    """
    try:
        import torch
    except ImportError as error:
        raise ToolchainError(
            f"extension({name!r}) needs PyTorch: {error}; install it with `pip install torch`"
        ) from error
    return torch


def warn_without_a_gpu(name: str) -> None:
    """Warn if there is no GPU: launches fail, most code does not check them, and outputs stay uninitialized."""
    if not _import_torch(name).cuda.is_available():
        warnings.warn(
            f"the extension {name!r} is built for a GPU, and PyTorch sees none: its kernels will not run, and what "
            "they should have written is garbage; "
            f'device="cuda-twin" or {TWINS["cuda-twin"].variable}=1 runs them on the CPU',
            stacklevel=3,
        )


def _not_loading(name: str, reason: str) -> OpbridgeError:
    hints = {
        "dynamic module does not define": "add PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { ... } to its sources, or "
        "pass is_python_module=False if they register operators by TORCH_LIBRARY",
        "undefined symbol": "define it in one of the sources, or name the library that defines it in extra_ldflags",
        " registered already": "by an older version of it or by another extension, and PyTorch takes none back: start "
        "a new process, or write a namespace of its own",
        "already registered": "an older version of it has registered the class for the whole process: start a new one, "
        "or bind the class with py::module_local()",
    }
    hint = next((f"\n  {text}" for said, text in hints.items() if said in reason), "")
    return InputError(f"the extension {name!r} was built but does not load: {reason}{hint}")
