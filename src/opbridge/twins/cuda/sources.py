"""A CUDA source and the user's headers that it includes, rewritten side by side into one folder."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from opbridge.twins.cuda.rewrite import INCLUDE_LINE, Unit, rewrite

_CUDA = re.compile(r"<<<|__(?:global|device|host|shared|constant|managed)__|__CUDA_ARCH__")

INNER = "opbridge_twin_runs_"
"""Begins the name of a function that hosts call by way of another one, which has its name."""


@dataclass(frozen=True)
class Translation:
    source: Path
    """The rewritten source, as C++."""
    read: tuple[Path, ...]
    """The user's files that it comes from."""


def translate(source: Path, folder: Path, include_dirs: Sequence[Path] = ()) -> Translation:
    """Rewrites a source into a folder of its own, and those of the headers below `include_dirs` and beside it that
    hold CUDA; what is found nowhere there is left to the compiler."""
    files = _Files(folder, tuple(include_dirs))
    translated = files.rewritten(source)
    _wrap(translated, files.unit.aot_functions)
    return Translation(translated, tuple(files.copies))


def _wrap(source: Path, aot_functions: Sequence[str]) -> None:
    """Gives each function that hosts call another name, and its own to one that lends it the host's tensors."""
    if not aot_functions:
        return
    renamed = {name: f"{INNER}{name}" for name in aot_functions}
    before = "".join(f"#define {name} {other}\n" for name, other in renamed.items())
    behind = "".join(f"#undef {name}\nOPBRIDGE_TWIN_AOT({name}, {other})\n" for name, other in renamed.items())
    code = source.read_text(encoding="utf-8", errors="surrogateescape")
    source.write_text(f"{before}{code}\n{behind}", encoding="utf-8", errors="surrogateescape")


@dataclass
class _Files:
    folder: Path
    include_dirs: tuple[Path, ...]
    unit: Unit = field(default_factory=Unit)
    copies: dict[Path, Path] = field(default_factory=dict)
    """The user's files that were read, and what to include in their place."""

    def rewritten(self, file: Path) -> Path:
        copy = self.folder / f"{len(self.copies)}_{file.stem}{file.suffix}.cpp"
        self.copies[file] = copy
        text = _read(file)
        outer, self.unit.include = self.unit.include, lambda name: self._included(name, file.parent)
        code = rewrite(text, str(file), self.unit)
        self.unit.include = outer
        name = str(file).replace("\\", "\\\\").replace('"', '\\"')
        self.folder.mkdir(parents=True, exist_ok=True)
        copy.write_text(f'#line 1 "{name}"\n{code}', encoding="utf-8", errors="surrogateescape")
        return copy

    def _included(self, name: str, beside: Path) -> str | None:
        folders = (beside, *self.include_dirs) if name.startswith('"') else self.include_dirs
        for folder in folders:
            file = Path(os.path.normpath(folder / name[1:-1]))
            if file.is_file():
                return str(self._header(file))
        return None

    def _header(self, file: Path) -> Path:
        if file in self.copies:
            return self.copies[file]
        text = _read(file)
        if _CUDA.search(text) or self._includes_cuda(file, text):
            return self.rewritten(file)
        self.copies[file] = file
        return file

    def _includes_cuda(self, file: Path, text: str) -> bool:
        self.copies[file] = file  # a header may include itself by way of others
        named = [match["name"] for match in INCLUDE_LINE.finditer(text)]
        found = any(path.startswith(str(self.folder)) for name in named if (path := self._included(name, file.parent)))
        del self.copies[file]
        return found


def _read(file: Path) -> str:
    return file.read_text(encoding="utf-8", errors="surrogateescape")
