"""Precompile the header that nvcc includes before a source's first line, once for all sources, with g++ into the cache.

The first source does not wait for it: reading the text takes a third of the time.  The cache key contains the
compiler, the processor, every flag that affects a header, and the headers' contents. Other flags of a project are not
part of it. If one of a project's macros affects the header after all, g++ notices and reads the text instead.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from opbridge.base.errors import OpbridgeError, ToolchainError
from opbridge.build.cache import Cache, Dependencies, Key, KeyBuilder
from opbridge.build.toolchains.depfiles import files_read
from opbridge.build.toolchains.library_headers import standard_folders
from opbridge.build.toolchains.machine_identity import compiler, environment, processor
from opbridge.twins import cuda
from opbridge.twins.cuda.compiler_command import PRELUDE

NAME = "cuda_prelude.h"
"""The file name of the precompiled header, readable for people who inspect the cache."""
AS_TEXT = ("-include", PRELUDE)

_ONE_WORD = (
    *("-D", "-U", "-I", "-W", "-isystem/"),
    # These change what the compiler says or writes besides, and nothing that it reads from a header.
    *(
        "-M",
        "-fdiagnostics-",
        "-fno-diagnostics-",
        "-fmessage-length=",
        "-fmax-errors=",
        "-save-temps",
        "-ftime-report",
    ),
)
_WITH_NEXT = frozenset({"-isystem", "-include", "-iquote", "-MF", "-MT", "-MQ"})
_ALONE = frozenset({"-O1", "-O2", "-O3", "-O", "-w", "-H", "-v", "-Q", "-pipe", "-fmem-report", "-fno-show-column"})


def precompiled(source: Path, driver: Sequence[str], own: Sequence[str], given: Sequence[str]) -> tuple[str, ...]:
    """Return the flags that include the header first: precompiled, or as text for a first source or without success.

    Failures are ignored, because a source also compiles with the header as text.

    Args:
        own: opbridge's flags.
        given: The project's flags.
    """
    folders = [word[2:] for word in given if word.startswith("-I") and len(word) > 2]
    argv = (*driver, *own, *_that_shape_headers(given), "-x", "c++-header", str(cuda.INCLUDE / PRELUDE))
    cache = Cache()
    try:
        builder = KeyBuilder("CUDA prelude").add("compiler", compiler(tuple(driver), cache), processor())
        key = builder.add("environment", *environment()).add("command", *argv).key()
        if _is_first(source, key, cache):
            return AS_TEXT
        about = "precompiling the CUDA twin's headers"
        entry = cache.fetch(key, lambda folder: _make(argv, folder), about=about).path
    except OpbridgeError:
        return AS_TEXT
    names = (entry / f"{NAME}.names").read_text().split("\n")
    shadowed = any(os.path.exists(f"{folder}/{name}") for folder in folders for name in names)
    return AS_TEXT if shadowed else ("-include", str(entry / NAME))


def _is_first(source: Path, header: Key, cache: Cache) -> bool:
    """Return whether no other source has asked for this header yet."""
    this = KeyBuilder("text").add("source", source).key().encode()
    first = KeyBuilder("first source of a CUDA prelude").add("header", header).key()
    return cache.find(header) is None and cache.fetch_value(first, lambda: this) == this


def _make(argv: Sequence[str], folder: Path) -> Dependencies:
    depfile = folder / "prelude.d"
    command = [*argv, "-o", str(folder / f"{NAME}.gch"), "-MD", "-MF", str(depfile)]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace")
    if done.returncode != 0:
        raise ToolchainError(f"precompiling {PRELUDE} failed:\n{done.stderr}")
    # A compiler that rejects the precompiled file reads this text instead.
    (folder / NAME).write_text(f"#include <{PRELUDE}>\n")
    read = files_read(depfile, Path.cwd(), [folder])
    (folder / f"{NAME}.names").write_text("\n".join(_names(read)), errors="surrogateescape")
    depfile.unlink()
    return Dependencies(tuple(read))


def _that_shape_headers(given: Iterable[str]) -> Iterator[str]:
    words = iter(given)
    for word in words:
        if word in _WITH_NEXT:
            next(words, None)
        elif word not in _ALONE and not word.startswith(_ONE_WORD):
            yield word


def _names(files: Iterable[Path]) -> Iterator[str]:
    """Yield the names by which sources include these files; a project's folder with such a file would come first."""
    folders = sorted((cuda.INCLUDE, *standard_folders()), key=lambda folder: len(str(folder)), reverse=True)
    for file in files:
        if folder := next((folder for folder in folders if file.is_relative_to(folder)), None):
            yield str(file.relative_to(folder))
