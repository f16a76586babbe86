"""Load the native PyTorch adapter of this PyTorch and Python: built on first use, or included in a package.

Builds are kept in the cache. The opbridge wheel and kernel packages can include prebuilt adapters.
"""

from __future__ import annotations

import sysconfig
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType

from opbridge._version import __version__
from opbridge.base.errors import BuildError, OpbridgeError, ToolchainError
from opbridge.build.cache import Cache, Dependencies, Key, KeyBuilder
from opbridge.build.toolchains import INCLUDE, BuildRequest, prebuilt
from opbridge.build.toolchains.table import toolchain_for
from opbridge.build.toolchains.torch_install import TorchInstall
from opbridge.frameworks.native_modules import LINK_FLAGS, NATIVE, import_extension, python_headers

NAME = "opbridge_torch_adapter"

_prebuilt: dict[Path, None] = {prebuilt.FOLDER: None}
"""The folders of prebuilt adapters: that of opbridge and those of packages."""


@dataclass(frozen=True)
class Interpreter:
    """The Python that will import an adapter."""

    headers: Path
    suffix: str
    """The suffix of its extension modules: .cpython-312-x86_64-linux-gnu.so."""

    @classmethod
    def current(cls) -> Interpreter:
        """Return the running Python; raise ToolchainError if its C headers are missing."""
        return cls(python_headers("the PyTorch adapter"), current_suffix())


def current_suffix() -> str:
    """Return the suffix of extension modules of the running Python."""
    return str(sysconfig.get_config_var("EXT_SUFFIX"))


@cache
def load_native() -> ModuleType:
    """Return the adapter module, compiling it on first use unless a package includes it.

    PyTorch must be imported already. Raise ToolchainError or BuildError if the adapter cannot be built.
    """
    install = TorchInstall.found()
    return import_extension(NAME, _included(install) or _built(install), "the PyTorch adapter")


def _included(install: TorchInstall) -> Path | None:
    name = prebuilt_name(install, current_suffix())
    return next((folder / name for folder in _prebuilt if (folder / name).is_file()), None)


@cache
def native_or_reason() -> ModuleType | OpbridgeError:
    """Return the adapter module, or the reason why there is none here."""
    try:
        return load_native()
    except (ToolchainError, BuildError) as error:
        return error


def add_prebuilt(folder: Path) -> None:
    """Add a folder of prebuilt adapters, named by `prebuilt_name`."""
    if folder.is_dir():
        _prebuilt[folder] = None


def prebuilt_name(install: TorchInstall, suffix: str) -> str:
    """Return the file name of an adapter, which encodes everything that it was built for."""
    version = install.public_version
    key = KeyBuilder("prebuilt adapter").add("torch", version, install.revision).add("python", suffix)
    return f"torch-{version}-opbridge-{__version__}-{_with_sources(key).key()[:12]}{suffix}"


def is_ready(install: TorchInstall, cache: Cache) -> bool:
    """Return whether a package or the cache has the adapter."""
    if _included(install):
        return True
    return cache.find(_key(install, request(install, Interpreter.current()), current_suffix(), cache)) is not None


def build_adapter(
    install: TorchInstall, cache: Cache | None = None, libraries: bool = True, python: Interpreter | None = None
) -> Path:
    """Build the adapter and return its library.

    Without the PyTorch `libraries`, the result cannot be imported, but shows that the headers fit.
    """
    from opbridge.build.toolchains.build_plan import BuildPlan, absolute

    install.check_version()
    cache = cache or Cache()
    python = python or Interpreter.current()
    asked = request(install, python, libraries)
    key = _key(install, asked, python.suffix, cache)

    def work(folder: Path) -> Dependencies:
        from opbridge.build.toolchains.build_context import BuildContext
        from opbridge.build.toolchains.compilation import compile_library
        from opbridge.build.toolchains.compiler_processes import Compilers

        whole = absolute(asked)
        plan = BuildPlan(whole, toolchain_for(whole.language), key, whole)
        compile_library(plan, folder, BuildContext(cache, lambda _: None, Compilers()))
        return Dependencies()

    return cache.fetch(key, work, about=asked.about).path / asked.output


def request(install: TorchInstall, python: Interpreter, libraries: bool = True) -> BuildRequest:
    """Return the build of the adapter."""
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
            *(f"-isystem{folder}" for folder in folders),
            # Messages of PyTorch headers contain their paths, which mean nothing on another machine.
            *(f"-fmacro-prefix-map={folder}={name}" for folder, name in folders.items()),
        ),
        link_flags=tuple(link),
        portable=True,
        standard="c++20",
        built_for=install.built_for,
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
    """Return the cache key, in which the PyTorch version represents its thousands of headers."""
    key = KeyBuilder("torch adapter").add("torch", install.version, install.revision)
    key.add("python", suffix)
    key.add("toolchain", *toolchain_for(request.language).identity(request, cache))
    flags, link_flags = prebuilt.placeless(request.flags), prebuilt.placeless(request.link_flags)
    key.add("flags", *flags, *link_flags, request.standard)
    return _with_sources(key).key()


def _with_sources(key: KeyBuilder) -> KeyBuilder:
    for source in sorted([*NATIVE.glob("*.h"), *(NATIVE / "torch").iterdir(), INCLUDE / "opbridge" / "abi.h"]):
        key.add("source", source.name, source)
    return key
