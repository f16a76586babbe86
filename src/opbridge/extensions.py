"""`ob.extension`: PyTorch's C++ extensions, built through the cache and imported.

The arguments are those of torch.utils.cpp_extension's load and load_inline, by name.  What one asks for is what the
other gives: a Python module, or the path of a library whose operators are registered.
"""

from __future__ import annotations

import functools
import json
import os
import sys
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from opbridge.cache import Cache
from opbridge.cache.filesystem import copy_atomically
from opbridge.errors import CallError, InputError, OpbridgeError, ToolchainError, UnsupportedError
from opbridge.manifest.kernels import TWINS
from opbridge.names import is_cpp_name
from opbridge.sources.store import LANGUAGES, SIMULATED, defines_for
from opbridge.toolchains import BuildRequest, build
from opbridge.toolchains.host import suffixes as host_suffixes
from opbridge.toolchains.torch_sources import EXTENSION_NAME

Paths = str | os.PathLike[str] | Iterable[str | os.PathLike[str]]
Texts = str | Iterable[str]

_DEVICES = ("cpu", "cuda", "cuda-twin")
_CUDA_SUFFIXES = (".cu",)


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
    """The Python module of an extension, from files or, by `cpp_sources` and `cuda_sources`, from their texts.

    With `is_python_module=False` the library is loaded, so that its operators are in `torch.ops`, and its path is
    returned.  `device="cuda-twin"` runs CUDA sources on the CPU.  `keep_intermediates` and `use_pch` change nothing
    here: what is worth keeping is in the cache, precompiled headers included.
    """
    if is_standalone:
        raise UnsupportedError(
            "extension() makes modules and libraries, not programs; is_standalone=True needs a linker call of your own"
        )
    if with_sycl or sycl_sources or extra_sycl_cflags:
        raise UnsupportedError("extension() has no SYCL compiler; torch.utils.cpp_extension.load takes these sources")
    _check_name(name)
    cache = Cache()
    directory = Path(os.path.abspath(build_directory)) if build_directory is not None else None
    if (sources is None) == (cpp_sources is None):
        raise CallError(
            f"extension({name!r}) expects `sources`, the files, or `cpp_sources`, their text; "
            f"got {'neither' if sources is None else 'both'}"
        )
    if sources is not None:
        if cuda_sources is not None or functions is not None:
            raise CallError(
                f"extension({name!r}): `cuda_sources` and `functions` go with `cpp_sources`; "
                "with files, name the .cu among `sources`, and bind the functions by PYBIND11_MODULE"
            )
        files = _paths("sources", sources)
    else:
        texts = _Texts.of(cpp_sources, cuda_sources, functions, no_implicit_headers, with_pytorch_error_handling)
        files = texts.written(directory, cache)
    request = request_for(
        name,
        files,
        output=f"{name}.so",
        device=device or ("cuda" if with_cuda else "cpu" if with_cuda is False else None),
        include_dirs=_paths("extra_include_paths", extra_include_paths),
        flags=_words("extra_cflags", extra_cflags),
        cuda_flags=_words("extra_cuda_cflags", extra_cuda_cflags),
        link_flags=_words("extra_ldflags", extra_ldflags),
    )
    built = build(request, cache, _say if verbose else None)
    if verbose:
        sys.stderr.write(built.log)
    library = built.path
    if directory is not None:
        library = directory / f"{name}.so"
        copy_atomically(built.path, library)
    if request.language == "cuda":
        _warn_without_a_gpu(name)
    return _imported(name, built.path) if is_python_module else _loaded(name, library)


def request_for(
    name: str,
    sources: Sequence[Path],
    *,
    output: str,
    device: str | None = None,
    include_dirs: Iterable[Path] = (),
    defines: Iterable[tuple[str, str]] = (),
    flags: Iterable[str] = (),
    cuda_flags: Iterable[str] = (),
    link_flags: Iterable[str] = (),
    root: Path | None = None,
) -> BuildRequest:
    """The build of an extension; without a device, for CUDA where one of its sources is CUDA."""
    if device is None:
        device = "cuda" if any(path.suffix in _CUDA_SUFFIXES for path in sources) else "cpu"
    of_cuda_tensors = device == "cuda" and "cuda" in SIMULATED
    if device == "cuda" and (of_cuda_tensors or TWINS["cuda-twin"].is_asked_for):
        device = "cuda-twin"
    if device not in _DEVICES:
        raise CallError(f"unknown device {device!r}; devices of an extension: {', '.join(_DEVICES)}")
    checks: tuple[tuple[str, str], ...] = ()
    if device == "cuda-twin":
        # Not at the top: whoever has no use for the twin would wait for it.
        from opbridge.twins.cuda.for_torch import DEVICE, host_flags

        checks, cuda_flags = defines_for(device), host_flags(cuda_flags)
        if of_cuda_tensors:
            checks = (*checks, (DEVICE, "1"))
    return BuildRequest(
        sources=tuple(sources),
        output=output,
        include_dirs=tuple(include_dirs),
        defines=(*defines, *checks, (EXTENSION_NAME, name)),
        suffix_flags=(*((suffix, tuple(flags)) for suffix in host_suffixes), (".cu", tuple(cuda_flags))),
        link_flags=tuple(link_flags),
        language=LANGUAGES[device],
        root=root,
    )


@dataclass(frozen=True)
class _Texts:
    """The files that stand for an extension given as text."""

    cpp: str
    cuda: str

    @classmethod
    def of(cls, cpp: object, cuda: object, functions: object, no_headers: bool, error_handling: bool) -> _Texts:
        cpp_texts, cuda_texts = _words("cpp_sources", cpp), _words("cuda_sources", cuda)
        if not no_headers:
            cpp_texts = ("#include <torch/extension.h>", *cpp_texts)
            cuda_headers = ("torch/types.h", "cuda.h", "cuda_runtime.h")
            cuda_texts = cuda_texts and (*(f"#include <{header}>" for header in cuda_headers), *cuda_texts)
        if functions is not None:
            cpp_texts = (*cpp_texts, _bindings(_checked(_described(functions)), error_handling))
        return cls("\n".join(cpp_texts), "\n".join(cuda_texts))

    def written(self, folder: Path | None, cache: Cache) -> tuple[Path, ...]:
        given = (("main.cpp", self.cpp), ("cuda.cu", self.cuda))
        return tuple(_kept(folder, name, text, cache) for name, text in given if text)


def _kept(folder: Path | None, name: str, text: str, cache: Cache) -> Path:
    if folder is None:
        return cache.keep(name, text)
    path = folder / name
    try:
        folder.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror}", hint="it comes from `build_directory`") from None
    return path


def _bindings(functions: Mapping[str, str], error_handling: bool) -> str:
    wrapped = "torch::wrap_pybind_function(%s)" if error_handling else "%s"
    lines = [
        f'  m.def("{name}", {wrapped % name}, {json.dumps(text, ensure_ascii=False)});'
        for name, text in functions.items()
    ]
    return "\n".join(("PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {", *lines, "}"))


def _described(functions: object) -> Mapping[str, str]:
    """The functions to bind, each with its docstring, which is its name where none is given."""
    if isinstance(functions, Mapping):
        return {str(name): str(text) for name, text in functions.items()}
    return {name: name for name in _words("functions", functions)}


def _checked(functions: Mapping[str, str]) -> Mapping[str, str]:
    for name in functions:
        if not is_cpp_name(name):
            raise CallError(f"functions: expected names of C++ functions, got {name!r:.80}")
    return functions


def _check_name(name: object) -> None:
    if not isinstance(name, str) or not is_cpp_name(name) or "::" in name:
        raise CallError(f"extension() expects a name that C++ and Python take, such as 'lltm', got {name!r}")


def _words(argument: str, value: object) -> tuple[str, ...]:
    if value is None:
        return ()
    words = (value,) if isinstance(value, str) else value
    if isinstance(words, Iterable):
        found = tuple(words)
        if all(isinstance(word, str) for word in found):
            return found
    raise CallError(f"{argument}: expected a string or a list of strings, got {value!r:.80}")


def _paths(argument: str, value: object) -> tuple[Path, ...]:
    if isinstance(value, os.PathLike):
        value = (value,)
    if isinstance(value, Iterable) and not isinstance(value, (str, bytes)):
        value = [os.fspath(path) if isinstance(path, os.PathLike) else path for path in value]
    return tuple(map(Path, _words(argument, value)))


def _say(text: str) -> None:
    print(f"opbridge: {text}", file=sys.stderr, flush=True)


@functools.cache
def _imported(name: str, library: Path) -> Any:
    """One module for each library: a second one would register its classes again, which pybind11 refuses."""
    from opbridge.frameworks.native_modules import module_from

    _import_torch(name)
    try:
        return module_from(name, library)
    except ImportError as error:
        raise _not_loading(name, str(error)) from error


def _loaded(name: str, library: Path) -> str:
    torch = _import_torch(name)
    try:
        torch.ops.load_library(str(library))
    except (OSError, RuntimeError) as error:
        raise _not_loading(name, str(error)) from error
    return str(library)


def _import_torch(name: str) -> Any:
    """Before any extension: it brings the libraries whose symbols the extension needs."""
    try:
        import torch
    except ImportError as error:
        raise ToolchainError(
            f"extension({name!r}) needs PyTorch: {error}; install it with `pip install torch`"
        ) from error
    return torch


def _warn_without_a_gpu(name: str) -> None:
    """Its launches fail, most code does not ask whether they did, and tensors of the CPU stay what they were."""
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
        "undefined symbol": "define it in one of the sources, or name the library that has it in extra_ldflags",
        "Only a single TORCH_LIBRARY": "its operators are registered already, by an older version of it or by another "
        "extension: start a new process, or use TORCH_LIBRARY_FRAGMENT",
        "already registered": "an older version of it has registered the class for the whole process: start a new one, "
        "or bind the class with py::module_local()",
    }
    hint = next((f"\n  {text}" for said, text in hints.items() if said in reason), "")
    return InputError(f"the extension {name!r} was built but does not load: {reason}{hint}")
