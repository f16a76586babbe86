"""A CUDA source and the user's headers that it includes, rewritten side by side into one folder."""

from __future__ import annotations

import gc
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from opbridge.twins.common.columns import Columns
from opbridge.twins.common.rewriting import Files, Included, Preprocess
from opbridge.twins.cuda.refused import is_of_hopper
from opbridge.twins.cuda.rewriting import Unit, rewrite
from opbridge.twins.cuda.rewriting.directives import with_includes

_CUDA = re.compile(r"<<\s*<|__(?:global|device|host|shared|constant|managed)__|__CUDA_ARCH__|__builtin_mem")


@dataclass(frozen=True)
class Translation:
    source: Path
    """The rewritten source, as C++."""
    read: tuple[Path, ...]
    """The user's files that it comes from."""
    columns: Mapping[str, Columns]
    """Of each of those that were rewritten, by its name in messages."""
    device_functions: frozenset[str]
    """Their names alone."""
    own_functions: frozenset[str]
    """Of these the names of those that no other source has."""
    own_variables: frozenset[str]
    """The names of the device's variables, which no other source has either."""


@contextmanager
def _keeping_garbage() -> Iterator[None]:
    """A library's headers become millions of tokens, none of them garbage, which to look for takes long."""
    was_collected = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_collected:
            gc.enable()


def translate(
    source: Path,
    folder: Path,
    include_dirs: Sequence[Path] = (),
    preprocess: Preprocess | None = None,
    has_cccl: bool = False,
    is_program: bool = False,
    is_image: bool = False,
    called: Mapping[Path, str] | None = None,
) -> Translation:
    """Rewrites a source into a folder of its own, and those of the headers below `include_dirs` and beside it that
    hold CUDA; what is found nowhere there is left to the compiler.  Without `preprocess`, no host is to call it.
    Messages know files by what they are `called`."""
    # The compiler looks for what is named relatively where the sources are, and not where it runs.
    folders = tuple(Path(os.path.abspath(path)) for path in include_dirs)
    unit = Unit(folders=folders, has_cccl=has_cccl, is_program=is_program, is_image=is_image)

    def rewrite_file(text: str, file: str, included: Included) -> str:
        outer, unit.include = unit.include, included
        code = with_includes(text, unit) if is_of_hopper(file, folders) else rewrite(text, file, unit)
        unit.include = outer
        return code

    files = Files(folder, folders, _CUDA, rewrite_file, called or {})
    with _keeping_garbage():
        code = files.translate(source, unit.aot_functions, preprocess)
    return Translation(
        code,
        tuple(files.copies),
        unit.columns,
        frozenset(unit.device_functions),
        frozenset(unit.own_functions),
        frozenset(unit.own_variables),
    )
