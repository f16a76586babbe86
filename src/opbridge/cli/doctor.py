"""opbridge doctor: what is here, what is missing, and the command that mends it."""

from __future__ import annotations

import argparse
import importlib
import importlib.metadata
import platform
import subprocess
import sysconfig
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from opbridge._version import __version__
from opbridge.cli.terminal import green, red, size
from opbridge.errors import OpbridgeError, ToolchainError
from opbridge.frameworks import FRAMEWORKS


@dataclass(frozen=True)
class Finding:
    what: str
    found: str | None
    """None: missing."""
    mend: str = ""
    required: bool = True

    def __str__(self) -> str:
        if self.found is not None:
            return f"{green('ok')}       {self.what}: {self.found}"
        state = red("missing") if self.required else "absent "
        return "\n         ".join((f"{state}  {self.what}", *map(str.strip, self.mend.splitlines())))


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """It takes none."""


def run(options: argparse.Namespace) -> int:
    findings = list(_findings())
    for finding in findings:
        print(finding)
    missing = [finding.what for finding in findings if finding.found is None and finding.required]
    if missing:
        raise ToolchainError(f"opbridge cannot work here without: {', '.join(missing)}")
    return 0


def _findings() -> Iterator[Finding]:
    yield Finding("opbridge", __version__)
    yield Finding("Python", f"{platform.python_version()}, {platform.platform()}")
    yield _compiler()
    yield _python_headers()
    yield _native_core()
    yield _cache()
    yield Finding("numpy", _version("numpy"), "pip install numpy")
    for framework in FRAMEWORKS.values():
        hint = framework.install if framework.available else "its adapter comes with a later version of opbridge"
        if framework.name != "numpy":
            yield Finding(framework.name, _version(framework.name), hint, required=False)
    if _version("torch") is not None:
        yield _torch_adapter()


def _compiler() -> Finding:
    from opbridge.toolchains import toolchain_for

    try:
        command = toolchain_for("c++").find()
    except OpbridgeError as error:
        return Finding("C++ compiler", None, str(error))
    try:
        said = subprocess.run([*command, "--version"], capture_output=True, text=True, timeout=60, check=True).stdout
    except (OSError, subprocess.SubprocessError):
        return Finding("C++ compiler", None, f"{' '.join(command)} does not run; name another: export CXX=g++")
    return Finding("C++ compiler", f"{' '.join(command)}, {said.partition(chr(10))[0]}")


def _python_headers() -> Finding:
    header = Path(sysconfig.get_path("include"), "Python.h")
    found = str(header) if header.is_file() else None
    return Finding("Python.h", found, "for adapters built from source: sudo apt install python3-dev", required=False)


def _native_core() -> Finding:
    try:
        file = importlib.import_module("opbridge._core").__file__
    except ImportError as error:
        return Finding("native core", None, f"{error}\n         pip install --force-reinstall opbridge")
    return Finding("native core", file)


def _cache() -> Finding:
    from opbridge.cache import Cache

    try:
        cache = Cache()
        return Finding("cache", f"{cache.root}, {size(cache.size())}")
    except OpbridgeError as error:
        return Finding("cache", None, str(error))


def _torch_adapter() -> Finding:
    from opbridge.cache import Cache
    from opbridge.frameworks.torch_adapter import TorchInstall, is_built

    try:
        built = is_built(TorchInstall.found(), Cache())
    except OpbridgeError as error:
        return Finding("PyTorch adapter", None, str(error), required=False)
    return Finding("PyTorch adapter", "in the cache" if built else "will be compiled at the first need, about 15 s")


def _version(package: str) -> str | None:
    """Asked of the package's metadata: importing a framework takes seconds."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None
