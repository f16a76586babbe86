"""The native PyTorch adapter: one for each version of PyTorch and Python, built at the first need or brought along.

What is built is kept in the cache.  opbridge's own wheel and packages of kernels can bring adapters ready-made.
"""

from __future__ import annotations

import sysconfig
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType

from opbridge._version import __version__
from opbridge.cache import Cache, Dependencies, Key, KeyBuilder
from opbridge.errors import BuildError, OpbridgeError, ToolchainError
from opbridge.frameworks.native_modules import BROUGHT, LINK_FLAGS, NATIVE, import_extension, python_headers
from opbridge.toolchains import INCLUDE, BuildRequest
from opbridge.toolchains.table import toolchain_for
from opbridge.toolchains.torch_install import TorchInstall

NAME = "opbridge_torch_adapter"

_prebuilt: dict[Path, None] = {BROUGHT: None}
"""The folders with adapters: opbridge's own, and those that packages brought."""


@dataclass(frozen=True)
class Interpreter:
    """The Python that will import an adapter."""

    headers: Path
    suffix: str
    """How the names of its extension modules end: .cpython-312-x86_64-linux-gnu.so."""

    @classmethod
    def current(cls) -> Interpreter:
        return cls(python_headers("the PyTorch adapter"), current_suffix())


def current_suffix() -> str:
    return str(sysconfig.get_config_var("EXT_SUFFIX"))


@cache
def load_native() -> ModuleType:
    """The adapter's module, compiled at the first need unless a package brought it; PyTorch is imported already."""
    install = TorchInstall.found()
    name = prebuilt_name(install, current_suffix())
    library = next((folder / name for folder in _prebuilt if (folder / name).is_file()), None)
    return import_extension(NAME, library or _built(install), "the PyTorch adapter")


@cache
def native_or_reason() -> ModuleType | OpbridgeError:
    """The adapter's module, or why it cannot be had here."""
    try:
        return load_native()
    except (ToolchainError, BuildError) as error:
        return error


def add_prebuilt(folder: Path) -> None:
    """Makes the adapters in a folder, named by `prebuilt_name`, known."""
    if folder.is_dir():
        _prebuilt[folder] = None


def prebuilt_name(install: TorchInstall, suffix: str) -> str:
    """Names everything that an adapter must have been made for."""
    version = install.public_version
    key = KeyBuilder("prebuilt adapter").add("torch", version, install.revision).add("python", suffix)
    return f"torch-{version}-opbridge-{__version__}-{_with_sources(key).key()[:12]}{suffix}"


def is_built(install: TorchInstall, cache: Cache) -> bool:
    return cache.find(_key(install, request(install, Interpreter.current()), current_suffix(), cache)) is not None


def build_adapter(
    install: TorchInstall, cache: Cache | None = None, libraries: bool = True, python: Interpreter | None = None
) -> Path:
    """Without PyTorch's libraries the result cannot be imported, but shows that the headers fit."""
    from opbridge.toolchains.builder import absolute

    install.check_version()
    cache = cache or Cache()
    python = python or Interpreter.current()
    asked = request(install, python, libraries)

    def work(folder: Path) -> Dependencies:
        from opbridge.toolchains.compilation import compile_library
        from opbridge.toolchains.process import Compilers

        compile_library(absolute(asked), toolchain_for(asked.language), folder, cache, lambda _: None, Compilers())
        return Dependencies()

    key = _key(install, asked, python.suffix, cache)
    return cache.fetch(key, work, about=asked.about).path / asked.output


def request(install: TorchInstall, python: Interpreter, libraries: bool = True) -> BuildRequest:
    include = install.folder / "include"
    folders = {include: "torch", include / "torch" / "csrc" / "api" / "include": "torch-api", python.headers: "python"}
    link = [*LINK_FLAGS]
    if libraries:
        link += [f"-L{install.folder / 'lib'}", "-ltorch_python", "-ltorch", "-ltorch_cpu", "-lc10"]
    return BuildRequest(
        sources=(NATIVE / "torch" / "module.cpp", NATIVE / "torch" / "aten.cpp"),
        output=f"{NAME}.so",
        title=f"the adapter for PyTorch {install.version}",
        flags=(
            "-O2",
            *(f"-isystem{folder}" for folder in folders),
            # PyTorch's headers say where they lie in messages; an adapter may go where that means nothing.
            *(f"-fmacro-prefix-map={folder}={name}" for folder, name in folders.items()),
        ),
        link_flags=tuple(link),
        portable=True,
        standard="c++20",
    )


def _built(install: TorchInstall) -> Path:
    try:
        return build_adapter(install)
    except ToolchainError as error:
        brought = sorted(path.name for folder in _prebuilt for path in folder.glob("torch-*"))
        if not brought:
            raise
        raise ToolchainError(
            f"{error}\n  an adapter ready-made would do, but those that packages here brought are\n"
            + "".join(f"    {name}\n" for name in brought)
            + f"  and needed is\n    {prebuilt_name(install, current_suffix())}"
        ) from None


def _key(install: TorchInstall, request: BuildRequest, suffix: str, cache: Cache) -> Key:
    """The key stands for PyTorch's thousands of headers by its version."""
    key = KeyBuilder("torch adapter").add("torch", install.version, install.revision)
    key.add("python", suffix)
    key.add("toolchain", *toolchain_for(request.language).identity(request, cache))
    key.add("flags", *request.flags, *request.link_flags, request.standard)
    return _with_sources(key).key()


def _with_sources(key: KeyBuilder) -> KeyBuilder:
    for source in sorted([*NATIVE.glob("*.h"), *(NATIVE / "torch").iterdir(), INCLUDE / "opbridge" / "abi.h"]):
        key.add("source", source.name, source)
    return key
