"""Builds and imports the native PyTorch adapter: once for each version of PyTorch and Python, then from the cache."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import re
import sys
import sysconfig
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from opbridge.cache import Cache, Dependencies, Key, KeyBuilder
from opbridge.errors import ToolchainError
from opbridge.toolchains import INCLUDE, BuildRequest
from opbridge.toolchains.table import toolchain_for

NAME = "opbridge_torch_adapter"
OLDEST = (2, 10)

_VERSION_LINE = re.compile(r"^(\w+)(?:: \w+)? = '([^']*)'", re.MULTILINE)
_NATIVE = Path(__file__).parents[1] / "native"


@dataclass(frozen=True)
class TorchInstall:
    """A PyTorch on disk, known without importing it."""

    folder: Path
    version: str
    revision: str

    @classmethod
    def found(cls) -> TorchInstall:
        """The PyTorch that `import torch` would import."""
        spec = importlib.util.find_spec("torch")
        if spec is None or spec.origin is None:
            raise ToolchainError("torch is not installed; install it with `pip install torch`")
        return cls.at(Path(spec.origin).parent)

    @classmethod
    def at(cls, folder: Path) -> TorchInstall:
        said = dict(_VERSION_LINE.findall((folder / "version.py").read_text()))
        return cls(folder, said.get("__version__", "0.0"), said.get("git_version", ""))


def load_native() -> ModuleType:
    """The adapter's module, compiled at the first need; PyTorch is imported already."""
    library = build_adapter(TorchInstall.found())
    loader = importlib.machinery.ExtensionFileLoader(NAME, str(library))
    spec = importlib.util.spec_from_file_location(NAME, library, loader=loader)
    if spec is None:
        raise ToolchainError(f"{library} cannot be imported; run `opbridge cache clear`")
    try:
        module = importlib.util.module_from_spec(spec)
        loader.exec_module(module)
    except ImportError as error:
        raise ToolchainError(f"the PyTorch adapter does not load: {error}\n  run `opbridge cache clear`") from error
    return module


def is_built(install: TorchInstall, cache: Cache) -> bool:
    return cache.find(key_of(install, request(install), cache)) is not None


def build_adapter(install: TorchInstall, cache: Cache | None = None, libraries: bool = True) -> Path:
    """Without PyTorch's libraries the result cannot be imported, but shows that the headers fit."""
    from opbridge.toolchains.builder import absolute

    _check_version(install.version)
    cache = cache or Cache()
    asked = request(install, libraries)

    def work(folder: Path) -> Dependencies:
        from opbridge.toolchains.compilation import compile_library
        from opbridge.toolchains.process import Compilers

        line = f"opbridge: compiling the adapter for PyTorch {install.version}, once (about 15 s) ..."
        print(line, file=sys.stderr, flush=True)
        compile_library(absolute(asked), toolchain_for(asked.language), folder, cache, lambda _: None, Compilers())
        return Dependencies()

    return cache.fetch(key_of(install, asked, cache), work).path / asked.output


def _check_version(version: str) -> None:
    numbers = tuple(int(part) for part in version.split("+")[0].split(".")[:2])
    if numbers < OLDEST:
        raise ToolchainError(
            f"expected PyTorch {OLDEST[0]}.{OLDEST[1]} or newer, got {version}; `pip install -U torch`"
        )


def request(install: TorchInstall, libraries: bool = True) -> BuildRequest:
    include = install.folder / "include"
    python = Path(sysconfig.get_path("include"))
    if not (python / "Python.h").is_file():
        raise ToolchainError(
            f"expected Python's C headers in {python} to build the PyTorch adapter; "
            "`apt-get install python3-dev` brings them on Debian and Ubuntu"
        )
    system = [f"-isystem{folder}" for folder in (include, include / "torch" / "csrc" / "api" / "include", python)]
    # Python's own symbols and those of the OpenMP library come from the process that imports the adapter.
    link = ["-Wl,-z,undefs"]
    if libraries:
        link += [f"-L{install.folder / 'lib'}", "-ltorch_python", "-ltorch", "-ltorch_cpu", "-lc10"]
    return BuildRequest(
        sources=(_NATIVE / "torch" / "module.cpp",),
        output=f"{NAME}.so",
        flags=("-O2", *system),
        link_flags=tuple(link),
        portable=True,
        standard="c++20",
    )


def key_of(install: TorchInstall, request: BuildRequest, cache: Cache) -> Key:
    """The key stands for PyTorch's thousands of headers by its version."""
    key = KeyBuilder("torch adapter").add("torch", install.version, install.revision)
    key.add("python", sysconfig.get_config_var("EXT_SUFFIX") or sys.version)
    key.add("toolchain", *toolchain_for(request.language).identity(request, cache))
    key.add("flags", *request.flags, *request.link_flags, request.standard)
    for source in sorted([*_NATIVE.glob("*.h"), *(_NATIVE / "torch").iterdir(), INCLUDE / "opbridge" / "abi.h"]):
        key.add("source", source.name, source)
    return key.key()
