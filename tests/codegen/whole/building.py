"""A generated backend as a library, each file compiled for itself; PyTorch's headers are read once for all of them."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.codegen.compiling import compiler, libraries

_INCLUDED = re.compile(r'#include "(.+)"')


def _read_with(source: Path) -> set[Path]:
    """A source and what it includes from beside it."""
    found, left = set(), [source]
    while left:
        path = left.pop()
        if path not in found and path.exists():
            found.add(path)
            left += [path.with_name(name) for name in _INCLUDED.findall(path.read_text())]
    return found


def failures(folder: Path, files: Mapping[str, str]) -> dict[str, str]:
    """Writes and compiles the sources, and links what comes of them to library.so; what the compiler says, by file."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or path.read_text() != text:
            path.write_text(text)
    command = [*compiler(), "-DNDEBUG"]
    (folder / "all.h").write_text("#include <ATen/ATen.h>\n#include <torch/library.h>\n")
    if not (folder / "all.h.gch").exists():
        subprocess.run([*command, "-x", "c++-header", "all.h", "-o", "all.h.gch"], cwd=folder, check=True)

    def compiled(source: Path) -> str:
        made = source.with_suffix(".o")
        if made.exists() and made.stat().st_mtime > max(path.stat().st_mtime for path in _read_with(source)):
            return ""
        compiling = [*command, "-include", "all.h", "-c", source.name, "-o", made.name]
        return subprocess.run(compiling, cwd=folder, stderr=subprocess.PIPE, text=True, check=False).stderr

    sources = sorted(folder.glob("*.cpp"))
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        said = dict(zip((source.name for source in sources), pool.map(compiled, sources), strict=True))
    found = {name: errors for name, errors in said.items() if errors}
    if not found:
        objects = [source.with_suffix(".o").name for source in sources]
        linking = ["g++", "-shared", *objects, *libraries(), "-Wl,--no-undefined", "-o", "library.so"]
        subprocess.run(linking, cwd=folder, check=True)
    return found
