"""A source and the user's headers that it includes, rewritten side by side into one folder."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from opbridge.errors import InputError
from opbridge.twins.common.host_calls import aot_functions_of, hides_calls, wrapped

INCLUDE_LINE = re.compile(r"^[ \t]*#\s*include\s*(?P<name>\"[^\"\n]+\"|<[^>\n]+>)", re.MULTILINE)

Included = Callable[[str], str | None]
"""The file to include in the place of a name that is written with its quotes or brackets."""

Preprocess = Callable[[Path], str]
"""What the compiler makes of a rewritten source before it parses it."""


@dataclass
class Files:
    folder: Path
    include_dirs: tuple[Path, ...]
    marks: re.Pattern[str]
    """What is found in a file of the language that is rewritten, and in no other."""
    rewrite: Callable[[str, str, Included], str]
    """From the text of a file and its name to the text that stands for it."""
    called: Mapping[Path, str] = field(default_factory=dict)
    """The names of those that are known by another than their own."""
    copies: dict[Path, Path] = field(default_factory=dict)
    """The user's files that were read, and what to include in their place."""

    def translate(self, source: Path, aot_functions: list[str], preprocess: Preprocess | None = None) -> Path:
        """The rewritten source, as C++; `aot_functions` are known when it has been rewritten, but for those that macros
        hide, which the preprocessor shows."""
        translated = self.rewritten(source)
        if preprocess is not None and any(hides_calls(_read(file)) for file in self.copies):
            shown = aot_functions_of(preprocess(translated), {str(file) for file in self.copies})
            aot_functions = list(dict.fromkeys((*aot_functions, *shown)))
        code = wrapped(_read(translated), aot_functions)
        translated.write_text(code, encoding="utf-8", errors="surrogateescape")
        return translated

    def rewritten(self, file: Path) -> Path:
        copy = self.folder / f"{len(self.copies)}_{file.stem}{file.suffix}.cpp"
        self.copies[file] = copy
        called = self.called.get(file, str(file))
        code = self.rewrite(_read(file), called, lambda name: self._included(name, file.parent))
        name = called.replace("\\", "\\\\").replace('"', '\\"')
        self.folder.mkdir(parents=True, exist_ok=True)
        copy.write_text(f'#line 1 "{name}"\n{code}', encoding="utf-8", errors="surrogateescape")
        return copy

    def _included(self, name: str, beside: Path) -> str | None:
        folders = (beside, *self.include_dirs) if name.startswith('"') else self.include_dirs
        for folder in folders:
            file = Path(os.path.normpath(folder / name[1:-1]))
            if not file.is_file():
                continue
            header = self._header(file)
            # What the compiler finds by its own search, it must: a header may go on to the next one of its name.
            return None if header == file and name.startswith("<") else os.path.abspath(header)
        return None

    def _header(self, file: Path) -> Path:
        if file in self.copies:
            return self.copies[file]
        text = _read(file)
        if file in self.called or self.marks.search(text) or self._includes_such(file, text):
            return self.rewritten(file)
        self.copies[file] = file
        return file

    def _includes_such(self, file: Path, text: str) -> bool:
        self.copies[file] = file  # a header may include itself by way of others
        named = [match["name"] for match in INCLUDE_LINE.finditer(text)]
        found = any(path.startswith(str(self.folder)) for name in named if (path := self._included(name, file.parent)))
        del self.copies[file]
        return found


def preprocessed(command: Sequence[str]) -> str:
    """What a compiler's command has before it parses the source; empty where that fails, for the same compiler will
    say so when it compiles."""
    words = list(command)
    for option in ("-o", "-MF"):
        while option in words:
            at = words.index(option)
            del words[at : at + 2]
    words = [word for word in words if word not in ("-MD", "-MMD", "-MP")]
    done = subprocess.run(
        [*words, "-E"], stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="surrogateescape"
    )
    return done.stdout


def _read(file: Path) -> str:
    # A byte order mark in front means nothing, and would stand amid the text of the rewritten file.
    try:
        return file.read_text(encoding="utf-8", errors="surrogateescape").removeprefix("\ufeff")
    except OSError as error:
        raise InputError(f"cannot read {file}: {error.strerror}") from None
