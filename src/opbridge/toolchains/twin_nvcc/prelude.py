"""What nvcc puts before a source's first line, parsed once for all sources: kept in the cache as g++ precompiles it.

Under one key stand the compiler, the processor, every flag that shapes a header, and what the headers say.  Flags of
one project that shape none do not: where a macro of it does after all, g++ sees that, and reads the text instead.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from opbridge.cache import Cache, Dependencies, KeyBuilder
from opbridge.errors import OpbridgeError, ToolchainError
from opbridge.toolchains.depfiles import files_read
from opbridge.toolchains.identity import compiler, environment, processor
from opbridge.toolchains.library_headers import standard_folders
from opbridge.twins import cuda
from opbridge.twins.cuda.compiling import PRELUDE

NAME = "cuda_prelude.h"
"""Of the header that is precompiled, for whoever looks into the cache."""
AS_TEXT = ("-include", PRELUDE)

_ONE_WORD = ("-D", "-U", "-I", "-W", "-isystem/")
_WITH_NEXT = frozenset({"-isystem", "-include", "-iquote"})
_LEVELS = frozenset({"-O1", "-O2", "-O3", "-O", "-w"})


def precompiled(driver: Sequence[str], own: Sequence[str], given: Sequence[str]) -> tuple[str, ...]:
    """The flags that stand before all others; `own` are opbridge's, and `given` the project's.

    A source compiles without it too, so what goes wrong here is no error.
    """
    folders = [word[2:] for word in given if word.startswith("-I") and len(word) > 2]
    argv = (*driver, *own, *_that_shape_headers(given), "-x", "c++-header", str(cuda.INCLUDE / PRELUDE))
    cache = Cache()
    try:
        key = KeyBuilder("CUDA prelude").add("compiler", compiler(tuple(driver), cache), processor(), *environment())
        key.add("command", *argv)
        about = "precompiling the CUDA twin's headers"
        entry = cache.fetch(key.key(), lambda folder: _make(argv, folder), about=about).path
    except OpbridgeError:
        return AS_TEXT
    names = (entry / f"{NAME}.names").read_text().split("\n")
    shadowed = any(os.path.exists(f"{folder}/{name}") for folder in folders for name in names)
    return AS_TEXT if shadowed else ("-include", str(entry / NAME))


def _make(argv: Sequence[str], folder: Path) -> Dependencies:
    depfile = folder / "prelude.d"
    command = [*argv, "-o", str(folder / f"{NAME}.gch"), "-MD", "-MF", str(depfile)]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace")
    if done.returncode != 0:
        raise ToolchainError(f"precompiling {PRELUDE} failed:\n{done.stderr}")
    # For a compiler that finds that it does not fit.
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
        elif word not in _LEVELS and not word.startswith(_ONE_WORD):
            yield word


def _names(files: Iterable[Path]) -> Iterator[str]:
    """By which sources include them: a project's folder that has such a file comes before."""
    folders = sorted((cuda.INCLUDE, *standard_folders()), key=lambda folder: len(str(folder)), reverse=True)
    for file in files:
        if folder := next((folder for folder in folders if file.is_relative_to(folder)), None):
            yield str(file.relative_to(folder))
