"""The process that the twin's libnvrtc runs: it reads a program from standard input and writes its image or errors.

Both directions use parts preceded by their lengths, in the format of libraries/nvrtc/parts.h.
"""

from __future__ import annotations

import os
import re
import struct
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from opbridge.base.errors import InputError, ToolchainError
from opbridge.build.cache import Cache, Dependencies, KeyBuilder
from opbridge.build.toolchains import host
from opbridge.build.toolchains.depfiles import files_read
from opbridge.build.toolchains.machine_identity import compiler, environment, processor
from opbridge.twins.common import toolchain as rewriting
from opbridge.twins.cuda.nvcc import command_steps
from opbridge.twins.cuda.nvcc.command_line import parse

DONE, WRONG_PROGRAM, WRONG_OPTION = range(3)
_LENGTH = struct.Struct("<Q")
_INCLUDE_FOLDER = re.compile(r"(?:-I=?|--include-path=)\s*(.+)")
_OF_NVRTC_ALONE = re.compile(
    r"-+(?:default-device|device-as-default-execution-space|no-source-include|builtin-\S+|dopt|Ofast-compile|"
    r"modify-stack-limit|warn-as-error|device-float128|optimization-info|\S*pch\S*|frandom-seed)(?:=.*)?"
)
"""Options that nvcc does not know and that do not change the result here."""
_IS_DEVICE_CODE = "-D__CUDACC_RTC__=1"


@dataclass(frozen=True)
class Program:
    """A program to compile at run time, as the caller of NVRTC passed it."""

    name: str
    source: str
    headers: tuple[tuple[str, str], ...]
    """The headers as pairs of included name and text."""
    expressions: tuple[str, ...]
    """The names whose symbols the caller requested."""
    options: tuple[str, ...]

    def text(self) -> str:
        """Return the source, followed by lines that record the requested symbols."""
        asked = [f"OPBRIDGE_TWIN_NAMED({i}, {text})\n" for i, text in enumerate(self.expressions)]
        return "\n".join([self.source, "".join(asked)]) if asked else self.source


def main(home: Path) -> int:
    """Compile the program from standard input and write the answer's parts to standard output; return 0."""
    answer = _answer(_read(sys.stdin.buffer), home)
    for part in answer:
        sys.stdout.buffer.write(_LENGTH.pack(len(part)) + part)
    return 0


def _answer(program: Program, home: Path) -> tuple[bytes, bytes, bytes]:
    """Return the status byte, the compiler's messages, and the image."""
    try:
        arguments = [*_arguments(program.options), _IS_DEVICE_CODE]
        parse(arguments)
    except InputError as error:
        return bytes([WRONG_OPTION]), error.message.replace("nvcc", "NVRTC", 1).encode(), b""
    cache = Cache()
    key = KeyBuilder("NVRTC").add("program", repr(program), os.getcwd(), str(command_steps.CHECKS))
    key.add("compiler", compiler(host.find(), cache), processor(), *environment())
    key.add("twin", rewriting.state("cuda"), *sorted(Path(__file__).parent.glob("*.py")))
    try:
        entry = cache.fetch(
            key.key(), lambda folder: _compile(program, arguments, home, folder), about="compiling by NVRTC"
        ).path
    except ToolchainError as error:
        return bytes([WRONG_PROGRAM]), str(error).encode("utf-8", "surrogateescape"), b""
    return bytes([DONE]), (entry / "log").read_bytes(), (entry / "image").read_bytes()


def _arguments(options: Iterable[str]) -> Iterator[str]:
    """Yield the options that nvcc knows too."""
    for option in (option.strip() for option in options):
        if not _OF_NVRTC_ALONE.fullmatch(option) and not _is_cuda_s(option):
            yield option


def _is_cuda_s(option: str) -> bool:
    """Return whether an option names the headers of an installed CUDA, which the twin's replace."""
    folder = _INCLUDE_FOLDER.match(option)
    return folder is not None and os.path.exists(f"{folder[1]}/cuda_runtime_api.h")


def _compile(program: Program, arguments: Sequence[str], home: Path, folder: Path) -> Dependencies:
    with tempfile.TemporaryDirectory(prefix="opbridge-nvrtc-") as scratch:
        place = Path(scratch)
        source, depfile, log = place / "program.cu", place / "image.d", place / "log"
        called = {source: program.name, **{place / "headers" / name: name for name, _ in program.headers}}
        source.write_text(program.text(), errors="surrogateescape")
        for name, text in program.headers:
            _write_below(place / "headers", name, text)
        beside = os.path.dirname(program.name)
        words = [*arguments, f"-I{place / 'headers'}", *([f"-I{beside}"] if beside else []), "-cubin", str(source)]
        words += ["-o", str(folder / "image"), "-MD", "-MF", str(depfile)]
        code = _run_with_log(words, home, called, log)
        said = log.read_text(errors="surrogateescape").replace(f"{place / 'headers'}/", "")
        if code != 0:
            raise ToolchainError(said)
        (folder / "log").write_text(said, errors="surrogateescape")
        return Dependencies(tuple(files_read(depfile, Path.cwd(), [place])))


def _write_below(folder: Path, name: str, text: str) -> None:
    file = Path(os.path.normpath(folder / name))
    if not file.is_relative_to(folder):
        raise ToolchainError(f"{name}: a header of a program is named as it is included, and not by a way out of it")
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, errors="surrogateescape")


def _run_with_log(words: Sequence[str], home: Path, called: Mapping[Path, str], log: Path) -> int:
    """Run nvcc's steps with standard error redirected to a file, for the compilers they start too."""
    stderr = os.dup(2)
    with log.open("wb") as file:
        os.dup2(file.fileno(), 2)
        try:
            return command_steps.run(words, home, called)
        except InputError as error:
            sys.stderr.write(f"{error.where}: error: {error.message}\n" if error.where else f"error: {error.message}\n")
            return 1
        finally:
            sys.stderr.flush()
            os.dup2(stderr, 2)


def _read(stream: BinaryIO) -> Program:
    def part() -> str:
        return stream.read(*_LENGTH.unpack(stream.read(_LENGTH.size))).decode("utf-8", "surrogateescape")

    def parts() -> tuple[str, ...]:
        return tuple(part() for _ in range(int(part())))

    name, source, names, texts = part(), part(), parts(), parts()
    return Program(name, source, tuple(zip(names, texts, strict=True)), parts(), parts())
