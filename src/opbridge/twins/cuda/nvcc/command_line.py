"""Parse an nvcc command line."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from opbridge.base.errors import InputError, did_you_mean
from opbridge.twins.cuda.nvcc.options import OPTIONS, Kind, canonical

_JOINED = ("-D", "-U", "-I", "-L", "-l", "-O", "-std", "-x", "-o", "-MF", "-m", "-isystem", "-t")
"""Options whose value may follow directly, without a space or `=`."""
_SOURCES = {".cu": "cu", ".c": "c", ".cc": "c++", ".cpp": "c++", ".cxx": "c++", ".C": "c++", ".c++": "c++"}
_BEFORE_17 = ("++98", "++03", "++0x", "++11", "++1y", "++14", "++1z")
_FOR_HOSTS = ("-f", "-W", "-march", "-mtune", "-m", "-n", "-d", "--sysroot")
"""Prefixes of host compiler options that nvcc rejects, but that build files pass nevertheless."""


@dataclass(frozen=True)
class Source:
    """A source file and its language."""

    path: Path
    language: str
    """One of cu, c and c++."""


@dataclass
class Words:
    """A parsed command line."""

    phase: str = ""
    """An option of Kind.PHASE; empty to build a program."""
    switches: dict[str, str] = field(default_factory=dict)
    sources: list[Source] = field(default_factory=list)
    host: list[str] = field(default_factory=list)
    """Arguments for the host compiler, in order."""
    link: list[str] = field(default_factory=list)
    """Arguments for the linker, in order, including objects and libraries."""

    @property
    def relocatable(self) -> bool:
        """Whether device code of several sources may call each other."""
        return self.phase in ("-dc", "-dw") or self.switches.get("-rdc") == "true"

    @property
    def shared(self) -> bool:
        """Whether to link a shared library."""
        return "-shared" in self.link


def parse(arguments: Iterable[str]) -> Words:
    """Parse the arguments of nvcc.

    Raises:
        InputError: An option is unknown, not supported, or lacks its value.
    """
    words = Words()
    language = ""
    rest = _expanded(arguments)
    for word in rest:
        if not word.startswith("-") or word == "-":
            _file(words, word, language)
            continue
        name, value = _split(word)
        kind = OPTIONS.get(name)
        if kind is None:
            _unknown(words, word)
            continue
        if kind.takes_value and value is None:
            value = next(rest, None)
            if value is None:
                raise InputError(f"nvcc's {word} needs a value")
        if name == "-x":
            language = {"cu": "cu", "c": "c", "c++": "c++"}.get(value or "", "")
        else:
            _option(words, name, kind, value or "")
    return words


def _option(words: Words, name: str, kind: Kind, value: str) -> None:
    match kind:
        case Kind.PHASE:
            words.phase = name
        case Kind.HOST:
            words.host.append(name)
            if name in ("-pg", "-fopenmp", "-pthread"):
                words.link.append(name)
        case Kind.LINK:
            words.link.append(name)
        case Kind.SWITCH:
            words.switches[name] = ""
        case Kind.SWITCH_VALUE:
            words.switches[name] = value
        case Kind.HOST_VALUE:
            words.host += _for_host(name, value)
        case Kind.LINK_VALUE:
            words.link.append(name + value)
        case Kind.FOR_HOST:
            given = _between_commas(value)
            words.host += given
            words.link += [
                word for word in given if word.startswith(("-fopenmp", "-pthread", "-fsanitize", "-Wl,", "-pg"))
            ]
        case Kind.FOR_LINKER:
            words.link += [f"-Wl,{value}"] if value else []
        case Kind.REFUSED:
            raise InputError(
                f"nvcc {name}: the CUDA twin compiles for this machine's processor, and has no code for a GPU to write",
                hint="it makes object files (-c), programs and libraries",
            )
        case Kind.IGNORED | Kind.VALUE:
            pass


def _for_host(name: str, value: str) -> list[str]:
    if name in ("-isystem", "-include"):
        return [name, value]
    if name == "-std":
        # The twin's headers need C++17, which also compiles sources written for earlier standards.
        if not value.endswith(_BEFORE_17):
            return [f"-std={value}"]
        print(f"nvcc: note: -std={value} is compiled as C++17, which the CUDA twin's headers need", file=sys.stderr)
        return ["-std=c++17"]
    return [name + value]


def _split(word: str) -> tuple[str, str | None]:
    """Return an option's name as in the table, and the value joined to it or None."""
    head, equals, value = word.partition("=")
    name = canonical(head)
    if name in OPTIONS:
        return name, value if equals else None
    for joined in _JOINED:
        if name.startswith(joined) and not word.startswith("--"):
            return joined, word[len(joined) :].removeprefix("=") if joined == "-std" else word[len(joined) :]
    return name, value if equals else None


def _unknown(words: Words, word: str) -> None:
    if word.startswith("-Wl,"):
        words.link.append(word)
        return
    forwards = any(name.startswith("-forward-unknown") for name in words.switches)
    if not forwards and not word.startswith(_FOR_HOSTS):
        close = did_you_mean(word, OPTIONS)
        raise InputError(f"nvcc {word}: the CUDA twin knows no such option", hint=close or "-Xcompiler passes it on")
    words.host.append(word)


def _file(words: Words, word: str, language: str) -> None:
    found = language or _SOURCES.get(Path(word).suffix, "")
    if found:
        words.sources.append(Source(Path(word), found))
    else:
        words.link.append(word)


def _expanded(arguments: Iterable[str]) -> Iterator[str]:
    """Yield the arguments with response files replaced by their contents."""
    words = iter(arguments)
    for word in words:
        name, _, value = word.partition("=")
        if canonical(name) == "-optf":
            for file in (value or next(words, "")).split(","):
                yield from _of_file(Path(file))
        elif word.startswith("@"):
            yield from _of_file(Path(word[1:]))
        else:
            yield word


def _of_file(file: Path) -> Iterator[str]:
    try:
        return _expanded(shlex.split(file.read_text()))
    except (OSError, ValueError) as error:
        raise InputError(f"nvcc's response file {file}: {error}") from None


def _between_commas(text: str) -> list[str]:
    """Return the arguments that nvcc finds in `a,b`: commas inside quotes or after -Wl do not separate."""
    text = text.strip()
    if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"":
        text = text[1:-1]
    if text.startswith("-Wl,"):
        return [text]
    return [word for part in text.split(",") for word in shlex.split(part)]
