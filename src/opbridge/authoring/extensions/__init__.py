"""The `ob.extension` function, which builds PyTorch C++ extensions through the cache and imports them.

Its arguments are those of torch.utils.cpp_extension's load and load_inline, by name, and it returns the same: a Python
module, or the path of a library whose operators are registered.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from opbridge.authoring.extensions.arguments import Paths, Texts, check_name, flags, paths
from opbridge.authoring.extensions.imported_library import imported, loaded, warn_without_a_gpu
from opbridge.authoring.extensions.inline_extensions import SourceTexts
from opbridge.authoring.extensions.kernel_builder.backend_build import Extra
from opbridge.authoring.extensions.kernel_builder.open_project import is_project, project_package
from opbridge.authoring.extensions.requests import request_for
from opbridge.base.errors import CallError, UnsupportedError, for_users
from opbridge.build.cache import Cache
from opbridge.build.cache.filesystem import copy_atomically
from opbridge.build.toolchains import build


@for_users
def extension(
    name: str,
    sources: Paths | None = None,
    *,
    cpp_sources: Texts | None = None,
    cuda_sources: Texts | None = None,
    functions: str | Iterable[str] | Mapping[str, str] | None = None,
    extra_cflags: Texts | None = None,
    extra_cuda_cflags: Texts | None = None,
    extra_ldflags: Texts | None = None,
    extra_include_paths: Paths | None = None,
    build_directory: str | os.PathLike[str] | None = None,
    verbose: bool = False,
    with_cuda: bool | None = None,
    is_python_module: bool = True,
    with_pytorch_error_handling: bool = True,
    no_implicit_headers: bool = False,
    device: str | None = None,
    is_standalone: bool = False,
    keep_intermediates: bool = True,
    use_pch: bool = True,
    extra_sycl_cflags: Texts | None = None,
    sycl_sources: Texts | None = None,
    with_sycl: bool | None = None,
) -> Any:
    """Build a PyTorch extension and return its Python module.

    The other arguments are those of `torch.utils.cpp_extension.load` and `load_inline`. `keep_intermediates` and
    `use_pch` have no effect: the cache keeps what is useful, including precompiled headers.

    Args:
        name: The name of the module, or the path of a kernel-builder project's build.toml.
        sources: Files in C++ or CUDA.
        cpp_sources: C++ texts instead of files.
        cuda_sources: CUDA texts instead of files.
        functions: The functions of the texts to bind.
        is_python_module: With False, load the library, so that its operators are in `torch.ops`, and return its path.
        device: "cuda-twin" runs CUDA sources on the CPU.

    Returns:
        The module, the package of a build.toml, or the path of the library.

    Raises:
        CallError: The arguments do not fit together.
        UnsupportedError: A program or SYCL is requested.
        BuildError: The compiler rejects a source.
        InputError: The built library does not load.

    Example:
        source = "torch::Tensor twice(torch::Tensor x) { return 2 * x; }"
        plane = ob.extension("plane", cpp_sources=source, functions="twice")
        print(plane.twice(torch.ones(2)))  # tensor([2., 2.])
    """
    _refuse(program=is_standalone, sycl=bool(with_sycl or sycl_sources or extra_sycl_cflags))
    extra = Extra(
        flags("extra_cflags", extra_cflags),
        flags("extra_cuda_cflags", extra_cuda_cflags),
        flags("extra_ldflags", extra_ldflags),
        paths("extra_include_paths", extra_include_paths),
    )
    if is_project(name):
        _check_alone(name, sources, cpp_sources, cuda_sources, functions, build_directory)
        return project_package(Path(name), device, extra, _say if verbose else None)
    check_name(name)
    cache = Cache()
    directory = Path(os.path.abspath(build_directory)) if build_directory is not None else None
    _check_given(name, sources, cpp_sources, by_text=cuda_sources is not None or functions is not None)
    if sources is not None:
        files = paths("sources", sources)
    else:
        texts = SourceTexts.of(cpp_sources, cuda_sources, functions, no_implicit_headers, with_pytorch_error_handling)
        files = texts.written(directory, cache)
    request = request_for(
        name,
        files,
        output=f"{name}.so",
        device=device or ("cuda" if with_cuda else "cpu" if with_cuda is False else None),
        include_dirs=extra.include_dirs,
        flags=extra.cxx_flags,
        cuda_flags=extra.cuda_flags,
        link_flags=extra.link_flags,
    )
    built = build(request, cache, _say if verbose else None)
    if verbose:
        sys.stderr.write(built.log)
    library = built.path
    if directory is not None:
        library = directory / f"{name}.so"
        copy_atomically(built.path, library)
    if request.language == "cuda":
        warn_without_a_gpu(name)
    return imported(name, built.path) if is_python_module else loaded(name, library)


def _refuse(*, program: bool, sycl: bool) -> None:
    if program:
        raise UnsupportedError(
            "extension() makes modules and libraries, not programs; is_standalone=True needs a linker call of your own"
        )
    if sycl:
        raise UnsupportedError("extension() has no SYCL compiler; torch.utils.cpp_extension.load takes these sources")


def _check_alone(name: str, *given: object) -> None:
    if any(value is not None for value in given):
        raise CallError(
            f"extension({name!r}): the file names the sources; with it, pass only `device`, `verbose`, "
            "`extra_cflags`, `extra_cuda_cflags`, `extra_ldflags` and `extra_include_paths`"
        )


def _check_given(name: str, sources: object, cpp_sources: object, *, by_text: bool) -> None:
    """Check that either files or texts are given, and with files no argument for texts."""
    if (sources is None) == (cpp_sources is None):
        raise CallError(
            f"extension({name!r}) expects `sources`, the files, or `cpp_sources`, their text; "
            f"got {'neither' if sources is None else 'both'}"
        )
    if sources is not None and by_text:
        raise CallError(
            f"extension({name!r}): `cuda_sources` and `functions` go with `cpp_sources`; "
            "with files, name the .cu among `sources`, and bind the functions by PYBIND11_MODULE"
        )


def _say(text: str) -> None:
    print(f"opbridge: {text}", file=sys.stderr, flush=True)
