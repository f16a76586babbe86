"""Find what a source contains before the first of PyTorch's large headers and could change the header's meaning."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

INCLUDE_LINE = re.compile(r"^[ \t]*#[ \t]*include[ \t]*([<\"])([^>\"\n]+)[>\"]", re.MULTILINE)
_LARGE = re.compile(r"torch/(extension|torch|all|script|types|library)\.h|ATen/ATen\.h")
"""The headers that take long to compile; the slim headers declare most of their contents."""
_HARMLESS = re.compile(
    r"Python\.h|(torch|ATen|c10|pybind11|thrust|cub|sys)/.*|[a-z_]+"
    r"|(assert|float|inttypes|limits|math|stdbool|stddef|stdint|stdio|stdlib|string|time|unistd|pthread|omp)\.h"
    r"|([a-z]*intrin|cuda|cuda_runtime|cuda_runtime_api|cuda_fp16|cuda_bf16|device_launch_parameters)\.h"
)
"""Headers that may come first: PyTorch's headers use or define the same names, or do not depend on them."""
_MACRO = re.compile(r"[ \t]*#[ \t]*(?:define|undef)[ \t]+(\w+)")
_CONDITION = re.compile(r"[ \t]*#[ \t]*(if|ifdef|ifndef|elif|else|endif)\b[ \t]*(\w*)")
_NOTHING = re.compile(r"[ \t]*(#[ \t]*(pragma[ \t]+once|error\b.*|warning\b.*)?)?[ \t]*")


class Text(Protocol):
    """The text of one file and the files that it includes."""

    @property
    def text(self) -> str:
        """The source text without comments."""

    @property
    def includes(self) -> tuple[tuple[str, Path | None], ...]:
        """The names in the #include lines, each with its file in the request's folders or None."""


def macros_before(source: Path, texts: Mapping[Path, Text], known: Path) -> frozenset[str] | None:
    """Return the macros that a source defines before the large header; None if it has other code there.

    Headers in the folder `known` count as PyTorch's large ones.
    """
    reader = _Reader(texts, known)
    return frozenset(reader.macros) if reader.reaches_torch(source) else None


@dataclass
class _Reader:
    texts: Mapping[Path, Text]
    known: Path
    macros: set[str] = field(default_factory=set)
    seen: set[Path] = field(default_factory=set)
    conditions: list[str] = field(default_factory=list)
    """The open conditions: for each the macro that guards its header, or an empty string."""

    def reaches_torch(self, path: Path) -> bool | None:
        """Return whether the file reaches the large header with only macros before it; None if it ends before."""
        if path in self.seen:
            return None
        self.seen.add(path)
        files = dict(self.texts[path].includes)
        for line in self.texts[path].text.replace("\\\n", " ").splitlines():
            reached = self._line(line, files)
            if reached is not None:
                return reached
        return None

    def _line(self, line: str, files: Mapping[str, Path | None]) -> bool | None:
        if _NOTHING.fullmatch(line):
            return None
        if condition := _CONDITION.match(line):
            self._condition(condition[1], condition[2])
            return None
        if macro := _MACRO.match(line):
            self.macros.add(macro[1])
            return None
        include = INCLUDE_LINE.match(line)
        return self._included(include[2], files.get(include[2])) if include else False

    def _condition(self, word: str, name: str) -> None:
        if word == "endif" and self.conditions:
            self.conditions.pop()
        elif word.startswith("if"):
            self.conditions.append(name if word == "ifndef" else "")

    def _included(self, name: str, file: Path | None) -> bool | None:
        if _LARGE.fullmatch(name) or (file is not None and file.is_relative_to(self.known)):
            # A header guard is a condition that holds. Whether other conditions hold is unknown here.
            return all(name in self.macros for name in self.conditions)
        if file is not None:
            return self.reaches_torch(file)
        return None if _HARMLESS.fullmatch(name) else False
