"""The files that words of a command name: response files, profiles, version scripts, lists for sanitizers."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from opbridge.build.cache.dependencies import digest_of

_NAME_IN_WORD = re.compile(r"[=,@]")
_LINKED = re.compile(r"\.(so(\.[\d.]+)?|[ao])$")
"""Files that a linker names: libraries and objects."""
_DEEPEST = 20
"""Response files in response files."""


def named_files(words: Iterable[str], folder: Path) -> tuple[str, ...]:
    """Return what response files hold, and each file that the words name, with a digest of its content.

    Relative names start at `folder`.
    """
    given = list(words)
    whole = expanded(given, folder)
    found = [] if whole == given else list(whole)
    names = dict.fromkeys(name for word in whole for name in (word, *_NAME_IN_WORD.split(word)))
    for name in names:
        if name and not _LINKED.search(name) and os.path.isfile(folder / name):
            with suppress(OSError):  # what cannot be read is not part of a result
                found.append(f"{name} {digest_of(folder / name)}")
    return tuple(found)


def expanded(words: Iterable[str], folder: Path, depth: int = 0) -> list[str]:
    """Return the words of a command with the words of each `@file` in its place; the names start at `folder`."""
    result: list[str] = []
    for word in words:
        text = response_file(word, folder)
        if text is None or depth > _DEEPEST:
            result.append(word)
        else:
            result += expanded(_split(text), folder, depth + 1)
    return result


def response_file(word: str, folder: Path) -> str | None:
    """Return what a word `@file` stands for; None where a compiler would take it for the name of a source."""
    if not word.startswith("@"):
        return None
    try:
        return (folder / word[1:]).read_text(encoding="utf-8", errors="surrogateescape")
    except (OSError, ValueError):
        return None


def _split(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError:
        return text.split()
