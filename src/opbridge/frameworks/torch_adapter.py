"""Builds and imports the native PyTorch adapter: once for each version of PyTorch and Python, then from the cache."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import sys
import sysconfig
from pathlib import Path
from types import ModuleType

import torch

from opbridge.cache import Cache, Dependencies, KeyBuilder
from opbridge.errors import ToolchainError
from opbridge.toolchains import INCLUDE, BuildRequest
from opbridge.toolchains.table import toolchain_for

NAME = "opbridge_torch_adapter"
OLDEST = (2, 10)

_NATIVE = Path(__file__).parents[1] / "native"


def load_native() -> ModuleType:
    """The adapter's module, compiled at the first need."""
    check_version(torch.__version__)
    library = build_adapter(request(Path(torch.__file__).parent), torch.__version__)
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


def check_version(version: str) -> None:
    numbers = tuple(int(part) for part in version.split("+")[0].split(".")[:2])
    if numbers < OLDEST:
        raise ToolchainError(
            f"expected PyTorch {OLDEST[0]}.{OLDEST[1]} or newer, got {version}; `pip install -U torch`"
        )


def request(torch_folder: Path, libraries: bool = True) -> BuildRequest:
    """How the adapter is compiled against a PyTorch, which need not be the one that is imported.

    Without its libraries the result cannot be imported, but shows that the headers fit.
    """
    include = torch_folder / "include"
    python = Path(sysconfig.get_path("include"))
    if not (python / "Python.h").is_file():
        raise ToolchainError(
            f"expected Python's C headers in {python} to build the PyTorch adapter; "
            "`apt-get install python3-dev` brings them on Debian and Ubuntu"
        )
    system = [f"-isystem{folder}" for folder in (include, include / "torch" / "csrc" / "api" / "include", python)]
    # Python's own symbols and the OpenMP library come from the process that imports the adapter.
    link = ["-Wl,-z,undefs"]
    if libraries:
        link += [f"-L{torch_folder / 'lib'}", "-ltorch_python", "-ltorch", "-ltorch_cpu", "-lc10"]
    return BuildRequest(
        sources=(_NATIVE / "torch" / "module.cpp",),
        output=f"{NAME}.so",
        # PyTorch's thread pool is OpenMP code in its headers; the library behind it is the one PyTorch loaded.
        flags=("-fopenmp", "-O2", *system),
        link_flags=tuple(link),
        portable=True,
        standard="c++20",
    )


def key_of(request: BuildRequest, version: str, cache: Cache) -> KeyBuilder:
    """The key stands for PyTorch's thousands of headers by its version."""
    key = KeyBuilder("torch adapter").add("torch", version, torch.version.git_version or "")
    key.add("python", sysconfig.get_config_var("EXT_SUFFIX") or sys.version)
    key.add("toolchain", *toolchain_for(request.language).identity(request, cache))
    key.add("flags", *request.flags, *request.link_flags, request.standard)
    for source in sorted([*_NATIVE.glob("*.h"), *(_NATIVE / "torch").iterdir(), INCLUDE / "opbridge" / "abi.h"]):
        key.add("source", source.name, source)
    return key


def build_adapter(request: BuildRequest, version: str, cache: Cache | None = None) -> Path:
    from opbridge.toolchains.builder import absolute

    cache = cache or Cache()
    key = key_of(request, version, cache).key()

    def work(folder: Path) -> Dependencies:
        from opbridge.toolchains.compilation import compile_library
        from opbridge.toolchains.process import Compilers

        print(
            f"opbridge: compiling the adapter for PyTorch {version}, once (about 15 s) ...", file=sys.stderr, flush=True
        )
        compile_library(absolute(request), toolchain_for(request.language), folder, cache, lambda _: None, Compilers())
        return Dependencies()

    return cache.fetch(key, work).path / request.output
