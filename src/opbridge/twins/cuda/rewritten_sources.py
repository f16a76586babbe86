"""The rewriting of a CUDA source and the user headers that it includes, side by side into one folder."""

from __future__ import annotations

import gc
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from opbridge.twins.common.message_columns import Columns
from opbridge.twins.common.rewritten_sources import Files, Included, Preprocess
from opbridge.twins.cuda.missing_headers import is_of_hopper
from opbridge.twins.cuda.rewriting import Unit, rewrite
from opbridge.twins.cuda.rewriting.directives import with_includes

_CUDA = re.compile(r"<<\s*<|__(?:global|device|host|shared|constant|managed)__|__CUDA_ARCH__|__builtin_mem")


@dataclass(frozen=True)
class Translation:
    """A rewritten source, and what the twin must know about it."""

    source: Path
    """The rewritten source, as C++."""
    read: tuple[Path, ...]
    """The user files that it comes from."""
    columns: Mapping[str, Columns]
    """The column mapping of each rewritten file, by its name in messages."""
    device_functions: frozenset[str]
    """Unqualified names of device functions."""
    own_functions: frozenset[str]
    """The device functions that belong to this source alone."""
    own_variables: frozenset[str]
    """The names of device variables, which belong to this source alone too."""


@contextmanager
def _keeping_garbage() -> Iterator[None]:
    """Disable garbage collection: library headers become millions of tokens, none of them garbage."""
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
    """Rewrite a source into a folder, together with the headers that hold CUDA code.

    Headers are rewritten if they are next to the source or below `include_dirs`; the compiler finds all others. Without
    `preprocess`, no host can call the source. Messages name files as in `called`.
    """
    # Relative include folders are relative to the sources, not to the folder where the compiler runs.
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
