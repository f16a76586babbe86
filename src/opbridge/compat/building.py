"""What a setup.py takes from torch.utils.cpp_extension: two kinds of Extension, and the command that builds them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, ClassVar

from setuptools import Extension  # first: it brings distutils where Python has none
from setuptools.command.build_ext import build_ext
from setuptools.errors import CompileError

# isort: split
from distutils import log

from opbridge.cache import Cache
from opbridge.cache.filesystem import copy_atomically
from opbridge.errors import OpbridgeError, ToolchainError
from opbridge.extensions.requests import request_for
from opbridge.toolchains import BuildRequest, build_many

_LIMITED_API = "0x030A0000"
"""The oldest Python that PyTorch runs on, to whose C interface a module built with py_limited_api keeps."""


def CppExtension(name: str, sources: list[str], *args: Any, **kwargs: Any) -> Extension:  # noqa: N802
    """A setuptools.Extension in C++ for PyTorch."""
    return Extension(name, sources, *args, **{**kwargs, "language": "c++"})


def CUDAExtension(name: str, sources: list[str], *args: Any, **kwargs: Any) -> Extension:  # noqa: N802
    """The same with CUDA sources among its own; BuildExtension.with_options(device="cuda-twin") runs them on a CPU."""
    return CppExtension(name, sources, *args, **kwargs)


class BuildExtension(build_ext):  # type: ignore[misc]
    """setuptools' build_ext, whose compilations come from opbridge's cache."""

    no_python_abi_suffix: ClassVar[bool] = False
    device: ClassVar[str | None] = None

    @classmethod
    def with_options(cls, **options: Any) -> type[BuildExtension]:
        """A class with some of: `device`, of all extensions; `no_python_abi_suffix`, for libraries that are no modules.

        `use_ninja` is taken too, and changes nothing: there is one way to build.
        """
        options.pop("use_ninja", None)
        unknown = sorted(options.keys() - {"device", "no_python_abi_suffix"})
        if unknown:
            raise ToolchainError(
                f"BuildExtension has no option {', '.join(unknown)}: it has device, use_ninja, no_python_abi_suffix"
            )
        return type(cls.__name__, (cls,), options)

    def build_extension(self, ext: Extension) -> None:
        target = Path(self.get_ext_fullpath(ext.name))
        try:
            (built,) = build_many([self._request(ext, target.name)], Cache(), _jobs(), self._say)
            self._say(f"{'cached' if built.cached else 'built'}: {target}\n{built.log}".rstrip())
            copy_atomically(built.path, target)
        except OpbridgeError as error:
            raise CompileError(str(error)) from error

    def _say(self, text: str) -> None:
        self.announce(text, level=log.INFO)

    def get_ext_filename(self, fullname: str) -> str:
        filename = super().get_ext_filename(fullname)
        parts = filename.split(".")
        return ".".join((*parts[:-2], parts[-1])) if self.no_python_abi_suffix and len(parts) > 2 else str(filename)

    def _request(self, ext: Extension, output: str) -> BuildRequest:
        arguments = ext.extra_compile_args or []
        by_compiler = arguments if isinstance(arguments, dict) else {"cxx": arguments, "nvcc": arguments}
        limited = [("Py_LIMITED_API", _LIMITED_API)] if ext.py_limited_api else []
        macros = [*ext.define_macros, *limited]
        return request_for(
            ext.name.rpartition(".")[2],
            [Path(source) for source in ext.sources],
            output=output,
            device=self.device,
            include_dirs=[Path(folder) for folder in ext.include_dirs],
            defines=[(name, "" if value is None else value) for name, value in macros],
            flags=[*(f"-U{name}" for name in ext.undef_macros), *by_compiler.get("cxx", ())],
            cuda_flags=by_compiler.get("nvcc", ()),
            link_flags=[
                *ext.extra_objects,
                *(f"-L{folder}" for folder in ext.library_dirs),
                *(f"-Wl,-rpath,{folder}" for folder in ext.runtime_library_dirs),
                *(f"-l{library}" for library in ext.libraries),
                *ext.extra_link_args,
            ],
            root=Path.cwd(),
        )


def _jobs() -> int | None:
    """As many compilers as MAX_JOBS says, which those who build extensions know."""
    text = os.environ.get("MAX_JOBS", "")
    if not text:
        return None
    if not text.isdigit() or int(text) == 0:
        raise ToolchainError(f"MAX_JOBS is {text!r}; expected how many compilers may run at a time")
    return int(text)
