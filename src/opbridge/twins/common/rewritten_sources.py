"""The rewriting of a source and the user headers that it includes, side by side into one folder."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from opbridge.base.errors import InputError
from opbridge.twins.common.host_calls import aot_functions_of, hides_calls, wrapped

INCLUDE_LINE = re.compile(r"^[ \t]*#\s*include\s*(?P<name>\"[^\"\n]+\"|<[^>\n]+>)", re.MULTILINE)

Included = Callable[[str], str | None]
"""Maps an include name, with its quotes or brackets, to the file to include instead, or to None."""

Preprocess = Callable[[Path], str]
"""Returns the preprocessed text of a rewritten source."""


@dataclass
class Files:
    """The files of one compilation, each rewritten once."""

    folder: Path
    include_dirs: tuple[Path, ...]
    marks: re.Pattern[str]
    """Matches the files that must be rewritten, and no others."""
    rewrite: Callable[[str, str, Included], str]
    """Returns the rewritten text, given the text of a file, its name and the include mapping."""
    called: Mapping[Path, str] = field(default_factory=dict)
    """The names to use in messages for files that are known by another name than their own."""
    copies: dict[Path, Path] = field(default_factory=dict)
    """The user files that were read, each with the file to include instead."""

    def translate(self, source: Path, aot_functions: list[str], preprocess: Preprocess | None = None) -> Path:
        """Rewrite a source and return the path of the resulting C++ file.

        `rewrite` fills `aot_functions`, except for functions that macros hide; `preprocess` is used to find those.
        """
        translated = self.rewritten(source)
        if preprocess is not None and any(hides_calls(_read(file)) for file in self.copies):
            shown = aot_functions_of(preprocess(translated), {str(file) for file in self.copies})
            aot_functions = list(dict.fromkeys((*aot_functions, *shown)))
        code = wrapped(_read(translated), aot_functions)
        translated.write_text(code, encoding="utf-8", errors="surrogateescape")
        return translated

    def rewritten(self, file: Path) -> Path:
        """Rewrite a file into the folder and return the path of the copy."""
        copy = self.folder / f"{len(self.copies)}_{file.stem}{file.suffix}.cpp"
        self.copies[file] = copy
        called = self.called.get(file, str(file))
        code = self.rewrite(_read(file), called, lambda name: self._included(name, file.parent))
        name = called.replace("\\", "\\\\").replace('"', '\\"')
        self.folder.mkdir(parents=True, exist_ok=True)
        copy.write_text(f'#line 1 "{name}"\n{code}', encoding="utf-8", errors="surrogateescape")
        return copy

    def _included(self, name: str, beside: Path) -> str | None:
        file = self.found(name, beside)
        if file is None:
            return None
        header = self._header(file)
        # The compiler must search for this header itself: the header may use #include_next.
        return None if header == file and name.startswith("<") else os.path.abspath(header)

    def found(self, name: str, beside: Path) -> Path | None:
        """Return the user's file for an include name in a file that is in the folder `beside`."""
        folders = (beside, *self.include_dirs) if name.startswith('"') else self.include_dirs
        paths = (Path(os.path.normpath(folder / name[1:-1])) for folder in folders)
        return next((path for path in paths if path.is_file()), None)

    def flattened(self, file: Path, seen: set[Path]) -> str:
        """Return the text of a file, with the user's own headers in place of their first include lines.

        All other include lines are removed. `seen` collects the files.
        """
        seen.add(file)

        def text_for(line: re.Match[str]) -> str:
            header = self.found(line["name"], file.parent)
            return self.flattened(header, seen) if header is not None and header not in seen else ""

        return INCLUDE_LINE.sub(text_for, _read(file))

    def _header(self, file: Path) -> Path:
        if file in self.copies:
            return self.copies[file]
        text = _read(file)
        if file in self.called or self.marks.search(text) or self._includes_such(file, text):
            return self.rewritten(file)
        self.copies[file] = file
        return file

    def _includes_such(self, file: Path, text: str) -> bool:
        self.copies[file] = file  # a header may include itself through others
        named = [match["name"] for match in INCLUDE_LINE.finditer(text)]
        found = any(path.startswith(str(self.folder)) for name in named if (path := self._included(name, file.parent)))
        del self.copies[file]
        return found


def preprocessed(command: Sequence[str]) -> str:
    """Return the output of a compiler's preprocessor, or nothing if it fails.

    A failure needs no report here: compiling the same source reports it.
    """
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
    # A leading byte order mark has no meaning, and would end up in the middle of the rewritten file.
    try:
        return file.read_text(encoding="utf-8", errors="surrogateescape").removeprefix("\ufeff")
    except OSError as error:
        raise InputError(f"cannot read {file}: {error.strerror}") from None
