"""The functions and classes of torch.utils.cpp_extension, with opbridge compilers and cache.

    from opbridge.authoring.compat.cpp_extension import BuildExtension, CppExtension

in a setup.py, or `load` in a program, is the only change. The opbridge compilers know PyTorch's folders and libraries,
so an Extension holds only what its author gave. Names that are not defined here are PyTorch's own.
"""

from __future__ import annotations

import importlib
import os
import re
import subprocess
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from opbridge.authoring.extensions import extension
from opbridge.authoring.extensions.arguments import Paths, Texts
from opbridge.authoring.extensions.requests import with_twin
from opbridge.base.errors import ToolchainError
from opbridge.build.cache import Cache
from opbridge.build.toolchains.nvcc import find as find_nvcc
from opbridge.build.toolchains.torch_install import TorchInstall

if TYPE_CHECKING:
    from opbridge.authoring.compat.build_command import BuildExtension, CppExtension, CUDAExtension

    CUDA_HOME: str | None

__all__ = [
    "CUDA_HOME",
    "BuildExtension",
    "CUDAExtension",
    "CppExtension",
    "load",
    "load_inline",
    "verify_ninja_availability",
]

THEIRS = "torch.utils.cpp_extension"


def load(
    name: str,
    sources: Paths,
    extra_cflags: Texts | None = None,
    extra_cuda_cflags: Texts | None = None,
    extra_sycl_cflags: Texts | None = None,
    extra_ldflags: Texts | None = None,
    extra_include_paths: Paths | None = None,
    build_directory: str | os.PathLike[str] | None = None,
    verbose: bool = False,
    with_cuda: bool | None = None,
    with_sycl: bool | None = None,
    is_python_module: bool = True,
    is_standalone: bool = False,
    keep_intermediates: bool = True,
) -> Any:
    """Build an extension from files by `ob.extension`, with the argument order of PyTorch's load."""
    return extension(
        name,
        sources,
        extra_cflags=extra_cflags,
        extra_cuda_cflags=extra_cuda_cflags,
        extra_sycl_cflags=extra_sycl_cflags,
        extra_ldflags=extra_ldflags,
        extra_include_paths=extra_include_paths,
        build_directory=build_directory,
        verbose=verbose,
        with_cuda=with_cuda,
        with_sycl=with_sycl,
        is_python_module=is_python_module,
        is_standalone=is_standalone,
        keep_intermediates=keep_intermediates,
    )


def load_inline(
    name: str,
    cpp_sources: Texts,
    cuda_sources: Texts | None = None,
    sycl_sources: Texts | None = None,
    functions: str | Iterable[str] | Mapping[str, str] | None = None,
    extra_cflags: Texts | None = None,
    extra_cuda_cflags: Texts | None = None,
    extra_sycl_cflags: Texts | None = None,
    extra_ldflags: Texts | None = None,
    extra_include_paths: Paths | None = None,
    build_directory: str | os.PathLike[str] | None = None,
    verbose: bool = False,
    with_cuda: bool | None = None,
    with_sycl: bool | None = None,
    is_python_module: bool = True,
    with_pytorch_error_handling: bool = True,
    keep_intermediates: bool = True,
    use_pch: bool = False,
    no_implicit_headers: bool = False,
) -> Any:
    """Build an extension from texts by `ob.extension`, with the argument order of PyTorch's load_inline."""
    return extension(
        name,
        cpp_sources=cpp_sources,
        cuda_sources=cuda_sources,
        sycl_sources=sycl_sources,
        functions=functions,
        extra_cflags=extra_cflags,
        extra_cuda_cflags=extra_cuda_cflags,
        extra_sycl_cflags=extra_sycl_cflags,
        extra_ldflags=extra_ldflags,
        extra_include_paths=extra_include_paths,
        build_directory=build_directory,
        verbose=verbose,
        with_cuda=with_cuda,
        with_sycl=with_sycl,
        is_python_module=is_python_module,
        with_pytorch_error_handling=with_pytorch_error_handling,
        keep_intermediates=keep_intermediates,
        use_pch=use_pch,
        no_implicit_headers=no_implicit_headers,
    )


def verify_ninja_availability() -> None:
    """Do nothing: builds need no ninja, whereas PyTorch raises without it."""


def __getattr__(name: str) -> Any:
    """Import the names for a setup.py on first use, because `load` needs no setuptools."""
    if name == "CUDA_HOME":
        return _cuda_home()
    if name in __all__:
        from opbridge.authoring.compat import build_command

        return getattr(build_command, name)
    if not name.startswith("__"):
        theirs = importlib.import_module(THEIRS)
        if hasattr(theirs, name):
            return getattr(theirs, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}, and {THEIRS} has none")


def __dir__() -> list[str]:
    return sorted({*__all__, *dir(importlib.import_module(THEIRS))})


def _cuda_home() -> str | None:
    """Return the folder of a CUDA toolkit, or None if PyTorch is built without CUDA and the twin is not in use.

    Projects use it to decide whether to build CUDA sources at all.
    """
    by_twin = with_twin("cuda") == "cuda-twin"
    install = TorchInstall.at_hand()
    if not by_twin and (install is None or not install.has_cuda):
        return None
    if named := os.environ.get("CUDA_HOME") or os.environ.get("CUDA_PATH"):
        return named
    try:
        nvcc, *_ = find_nvcc()
    except ToolchainError:
        return twin_toolkit() if by_twin else None
    return _toolkit_of(nvcc)


def _toolkit_of(nvcc: str) -> str:
    """Return the folder of nvcc's toolkit; nvcc may be a script elsewhere that runs the one in the toolkit."""
    home = os.path.dirname(os.path.dirname(os.path.realpath(nvcc)))
    if os.path.isfile(f"{home}/include/cuda_runtime.h"):
        return home
    with suppress(OSError):
        asked = [nvcc, "--dryrun", "-x", "cu", os.devnull]
        said = subprocess.run(asked, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace")
        if top := re.search(r"^#\$ TOP=(.+)$", said.stderr, re.MULTILINE):
            return os.path.normpath(top[1].strip())
    return home


def twin_toolkit() -> str:
    """Write the folder that the CUDA twin has in place of an installed CUDA, and return its path."""
    from opbridge.twins.cuda import nvcc as twin_nvcc

    return str(twin_nvcc.write(Cache().root / "cuda"))
