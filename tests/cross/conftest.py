"""Libraries for aarch64, built by Debian's cross compiler and run by qemu's emulation of a process."""

from __future__ import annotations

import contextlib
import ctypes
import shutil
import struct
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

import numpy as np
import pytest

from opbridge.build.toolchains import BuildRequest, build

COMPILER, EMULATOR, SYSTEM = "aarch64-linux-gnu-g++", "qemu-aarch64", "/usr/aarch64-linux-gnu"
# The emulator keeps a table of all pages that a process asks for, and the twins ask for as many addresses as they get.
ADDRESSES = hex(16 << 30)
Array = np.ndarray[Any, np.dtype[Any]]


class OnDevice(np.ndarray[Any, np.dtype[Any]]):
    """An array that a call gets in the device's memory."""


class Emulated:
    """The functions of a library for another processor, called like those of one for this one."""

    def __init__(self, runner: Path, library: Path) -> None:
        command = [EMULATOR, "-R", ADDRESSES, "-L", SYSTEM, str(runner), str(library)]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def call(self, name: str, *arguments: Any) -> int:
        """What the function returns."""
        stdin, stdout = self._pipes()
        stdin.write(f"{name} {len(arguments)}\n".encode())
        for argument in arguments:
            stdin.write(_sent(argument))
        stdin.flush()
        answer = stdout.readline().split()
        assert answer, f"the process ended in {name}, with {self._process.wait()}"
        result, length = map(int, answer)
        reports = stdout.read(length).decode()
        for argument in arguments:
            if isinstance(argument, np.ndarray):
                bytes_ = np.frombuffer(stdout.read(argument.nbytes), np.uint8)
                if argument.flags.writeable:
                    argument.view(np.ndarray).reshape(-1).view(np.uint8)[:] = bytes_
        assert not reports, reports
        return result

    def run(self, name: str, *arguments: Any) -> None:
        result = self.call(name, *arguments)
        assert result == 0, f"{name} returns {result}"

    def close(self) -> None:
        for pipe in self._pipes():
            pipe.close()
        assert self._process.wait() == 0

    def _pipes(self) -> tuple[IO[bytes], IO[bytes]]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        return self._process.stdin, self._process.stdout


def _sent(argument: Any) -> bytes:
    if isinstance(argument, np.ndarray):
        assert argument.flags.c_contiguous
        kind = "d" if isinstance(argument, OnDevice) else "a"
        return f"{kind} {argument.nbytes}\n".encode() + argument.tobytes()
    if isinstance(argument, ctypes.c_float):
        return f"f {struct.unpack('<i', struct.pack('<f', argument.value))[0] & 0xFFFFFFFF}\n".encode()
    return f"i {int(getattr(argument, 'value', argument) or 0)}\n".encode()


@pytest.fixture(scope="module")
def aarch64() -> Iterator[None]:
    """Everything that is built is for aarch64."""
    for needed in (COMPILER, EMULATOR):
        if shutil.which(needed) is None:
            pytest.skip(f"no {needed} on PATH: apt install g++-aarch64-linux-gnu qemu-user")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CXX", COMPILER)
        patch.setenv("OPBRIDGE_MARCH", "armv8-a")
        # Kernels are written as people write them, and GCC warns of fences in all that is checked.
        patch.setenv("CXXFLAGS", "-Wextra -Werror -Wno-error=sign-compare -Wno-error=tsan")
        yield


@pytest.fixture(scope="module")
def cross_built(
    aarch64: None, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[[BuildRequest], Emulated]]:
    """What builds a library and starts a process that has loaded it."""
    runner = tmp_path_factory.mktemp("cross") / "runner"
    source = Path(__file__).parent / "runner.cpp"
    flags = ("-std=c++17", "-Wall", "-Wextra", "-Werror")
    subprocess.run([COMPILER, *flags, str(source), "-o", str(runner), "-ldl", "-rdynamic"], check=True)
    with contextlib.ExitStack() as started:

        def made(request: BuildRequest) -> Emulated:
            emulated = Emulated(runner, build(request).path)
            started.callback(emulated.close)
            return emulated

        yield made
