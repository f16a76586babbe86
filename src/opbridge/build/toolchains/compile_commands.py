"""Write compile_commands.json, which clangd and other tools look for next to the sources.

The twins rewrite their sources before compiling them. Editors get the source as the user wrote it: with the
twin's headers, all of it except a `<<<...>>>` launch is valid C++.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from opbridge.base.errors import InputError
from opbridge.build.toolchains.build_plan import prepared
from opbridge.build.toolchains.host import files_of
from opbridge.build.toolchains.interface import BuildRequest
from opbridge.build.toolchains.table import toolchain_for

NAME = "compile_commands.json"

_WRITTEN_WORDS = len(files_of(Path(), "")) - 2
_UNKNOWN = "-Wno-unknown-warning-option"
"""The commands are written for g++, but most editors use clang."""

Entry = dict[str, object]


def write(requests: Iterable[BuildRequest], folder: Path) -> Path:
    """Write the commands for the requests' sources into the folder, and return the path of the file.

    Entries that other tools wrote for other sources are kept.
    """
    file = folder / NAME
    entries = [entry for request in requests for entry in _entries(request)]
    ours = {entry["file"] for entry in entries}
    others = [entry for entry in _there(file) if entry.get("file") not in ours]
    file.write_text(json.dumps([*others, *entries], indent=2) + "\n", encoding="utf-8")
    return file


def _there(file: Path) -> list[Entry]:
    try:
        entries = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return []
    except ValueError as error:
        raise InputError(f"{file} is not JSON: {error}", hint="remove it; this command writes a new one") from None
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise InputError(f"{file} holds no list of commands", hint="remove it; this command writes a new one")
    return entries


def _entries(request: BuildRequest) -> Iterable[Entry]:
    request = prepared(replace(request, defines=()))
    commands = toolchain_for(request.language).commands(request, request.project)
    for source, command in zip(request.sources, commands.compiles, strict=True):
        words = _compile_only(toolchain_for(request.language).as_edited(source, command))
        yield {"directory": str(request.project), "file": str(source), "arguments": words}


def _compile_only(words: tuple[str, ...]) -> list[str]:
    """Return the command without the flags that write output files."""
    if "-o" not in words:
        return [*words, _UNKNOWN]
    written = words.index("-o")
    return [*words[:written], *words[written + _WRITTEN_WORDS :], _UNKNOWN]
