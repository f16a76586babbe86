"""The part of torch.utils.cpp_extension that a setup.py uses: two kinds of Extension, and the build command."""

from __future__ import annotations

import os
import shlex
import sysconfig
from pathlib import Path
from typing import Any

from setuptools import Extension  # first: it provides distutils for Pythons without it
from setuptools.command.build_ext import build_ext
from setuptools.errors import CompileError

# isort: split
from distutils import log

from opbridge.authoring.extensions.requests import request_for
from opbridge.base.errors import OpbridgeError, ToolchainError
from opbridge.build.cache import Cache
from opbridge.build.cache.filesystem import copy_atomically
from opbridge.build.toolchains import BuildRequest, build_many
from opbridge.build.toolchains.host import environment_words

_LIMITED_API = "0x030A0000"
"""The oldest Python that PyTorch supports, whose C API a module with py_limited_api is limited to."""


def CppExtension(name: str, sources: list[str], *args: object, **kwargs: object) -> Extension:  # noqa: N802
    """Return a setuptools.Extension in C++ for PyTorch."""
    return Extension(name, sources, *args, **{**kwargs, "language": "c++"})


def CUDAExtension(name: str, sources: list[str], *args: object, **kwargs: Any) -> Extension:  # noqa: N802
    """Return a setuptools.Extension for CUDA.

    BuildExtension.with_options(device="cuda-twin") runs it on a CPU. `dlink` has no effect: nvcc links device code by
    itself if objects need it.
    """
    kwargs.pop("dlink", None)
    libraries = [*kwargs.pop("libraries", ()), *kwargs.pop("dlink_libraries", ())]
    return _ForCUDA(name, sources, *args, **{**kwargs, "libraries": libraries, "language": "c++"})


class _ForCUDA(Extension):  # type: ignore[misc]
    """An extension for CUDA, whatever its sources are."""


class BuildExtension(build_ext):  # type: ignore[misc]
    """The setuptools build_ext command with opbridge compilers and cache."""

    no_python_abi_suffix: bool = False
    use_ninja: bool = False
    device: str | None = None

    @classmethod
    def with_options(cls, **options: object) -> type[BuildExtension]:
        """Return a subclass with options: `device` for all extensions, `no_python_abi_suffix` for non-modules.

        Other options are accepted and kept, as in PyTorch. `use_ninja` has no effect: there is only one way to build.
        """
        return type(cls.__name__, (cls,), options)

    def build_extension(self, ext: Extension) -> None:
        """Build an extension through the cache and copy it to its place.

        Raises:
            CompileError: The build fails.
        """
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
        """Return the file name, without the ABI suffix if the option asks for it."""
        filename = super().get_ext_filename(fullname)
        parts = filename.split(".")
        return ".".join((*parts[:-2], parts[-1])) if self.no_python_abi_suffix and len(parts) > 2 else str(filename)

    def _request(self, ext: Extension, output: str) -> BuildRequest:
        arguments = ext.extra_compile_args or []
        by_compiler = arguments if isinstance(arguments, dict) else {"cxx": arguments, "nvcc": arguments}
        limited = [("Py_LIMITED_API", _LIMITED_API)] if ext.py_limited_api else []
        macros = [*(self.define or ()), *ext.define_macros, *limited]
        undefined = [*(self.undef or ()), *ext.undef_macros]
        return request_for(
            ext.name.rpartition(".")[2],
            [Path(source) for source in ext.sources],
            output=output,
            device=self.device or ("cuda" if isinstance(ext, _ForCUDA) else None),
            include_dirs=[Path(folder) for folder in (*ext.include_dirs, *self._own_include_dirs())],
            defines=[(name, "" if value is None else value) for name, value in macros],
            flags=[*_usual_flags(self.debug), *(f"-U{name}" for name in undefined), *by_compiler.get("cxx", ())],
            cuda_flags=by_compiler.get("nvcc", ()),
            link_flags=[
                *(self.link_objects or ()),
                *ext.extra_objects,
                *(f"-L{folder}" for folder in (*ext.library_dirs, *self.library_dirs)),
                *(f"-Wl,-rpath,{folder}" for folder in (*ext.runtime_library_dirs, *self.rpath)),
                *(f"-l{library}" for library in (*ext.libraries, *self.libraries)),
                *ext.extra_link_args,
            ],
            root=Path.cwd(),
        )

    def _own_include_dirs(self) -> list[str]:
        """Return the include folders of setup() and the command line, without Python's, which every extension has."""
        pythons = {sysconfig.get_path(kind) for kind in ("include", "platinclude")}
        return [folder for folder in self.include_dirs if folder not in pythons]


def _usual_flags(debug: bool) -> list[str]:
    """Return the flags of Python's own build and of the environment, without optimization levels."""
    pythons = shlex.split(sysconfig.get_config_var("CFLAGS") or "")
    kept = [flag for flag in pythons if flag in ("-DNDEBUG", "-fwrapv")]
    asked = [*environment_words("CFLAGS"), *environment_words("CPPFLAGS")]
    return [*kept, *(flag for flag in asked if not flag.startswith("-O")), *(["-g"] if debug else [])]


def _jobs() -> int | None:
    """Return the number of parallel compilers that MAX_JOBS sets, or None."""
    text = os.environ.get("MAX_JOBS", "")
    if not text:
        return None
    if not text.isdigit() or int(text) == 0:
        raise ToolchainError(f"MAX_JOBS is {text!r}; expected how many compilers may run at a time")
    return int(text)
