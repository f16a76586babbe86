"""What runs in the place of the compiler: rewrites a source, writes the headers that declare kernels to their hosts,
compiles the result, and says which files it came from."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from opbridge.errors import InputError
from opbridge.twins.ascend.rewrite import Kernel, rewrite
from opbridge.twins.common.depfiles import add_dependencies
from opbridge.twins.common.rewriting import Files, Included

PRELUDE = "opbridge_ascend/aot.h"
"""Included before a source's first line: what hosts call stands behind its last one."""

_ASCEND_C = re.compile(r"<<<|__(?:global|aicore)__")


def main(arguments: Sequence[str]) -> int:
    """SOURCE FOLDER DEPFILE OTHER-SOURCE... -- COMPILER...: the compiler's command lacks only its input."""
    division = arguments.index("--")
    source, folder, depfile, *others = map(Path, arguments[:division])
    compiler = arguments[division + 1 :]
    include_dirs = [Path(word[2:]) for word in compiler if word.startswith("-I") and len(word) > 2]
    try:
        read = [file for other in others for file in translate(other, folder / "others", include_dirs)[1]]
        for header in (folder / "others").glob("aclrtlaunch_*.h"):
            header.replace(folder / header.name)
        translated, own = translate(source, folder, include_dirs)
    except InputError as error:
        where = error.where
        # As a compiler says it, for whoever reads compilers' messages.
        print(f"{where}: error: {error.message}{where.excerpt() if where else ''}", file=sys.stderr)
        return 1
    lookup = (f"-iquote{source.parent}", f"-I{folder}", "-include", PRELUDE)
    command = [*compiler, *lookup, "-x", "c++", "-c", str(translated)]
    code = subprocess.run(command, stdin=subprocess.DEVNULL).returncode
    if code == 0:
        add_dependencies(depfile, [*own, *read])
    return code


def translate(source: Path, folder: Path, include_dirs: Sequence[Path]) -> tuple[Path, list[Path]]:
    """The rewritten source, with an aclrtlaunch_k.h beside it for each of its kernels, and the files it comes from."""
    kernels: list[Kernel] = []
    aot_functions: list[str] = []

    def rewrite_file(text: str, file: str, included: Included) -> str:
        rewritten = rewrite(text, file, included)
        kernels.extend(rewritten.kernels)
        aot_functions.extend(rewritten.aot_functions)
        return rewritten.code

    files = Files(folder, tuple(include_dirs), _ASCEND_C, rewrite_file)
    translated = files.translate(source, aot_functions)
    for kernel in kernels:
        (folder / f"aclrtlaunch_{kernel.name}.h").write_text(kernel.declaration, encoding="utf-8")
    return translated, list(files.copies)
