"""What runs in the place of the compiler: rewrites a source, writes the headers that declare kernels to their hosts,
compiles the result, and says which files it came from."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from opbridge.errors import InputError
from opbridge.twins.ascend.rewrite import rewrite
from opbridge.twins.common.depfiles import add_dependencies


def main(arguments: Sequence[str]) -> int:
    """SOURCE FOLDER DEPFILE OTHER-SOURCE... -- COMPILER...: the compiler's command lacks only its input."""
    division = arguments.index("--")
    source, folder, depfile, *others = map(Path, arguments[:division])
    try:
        translated = _translate(source, folder, others)
    except InputError as error:
        where = error.where
        # As a compiler says it, for whoever reads compilers' messages.
        print(f"{where}: error: {error.message}{where.excerpt() if where else ''}", file=sys.stderr)
        return 1
    lookup = (f"-iquote{source.parent}", f"-I{folder}")
    command = [*arguments[division + 1 :], *lookup, "-x", "c++", "-c", str(translated)]
    code = subprocess.run(command, stdin=subprocess.DEVNULL).returncode
    if code == 0:
        add_dependencies(depfile, [source, *others])
    return code


def _translate(source: Path, folder: Path, others: Sequence[Path]) -> Path:
    """Kernels of all sources are declared, as a host may stand in another one."""
    folder.mkdir(parents=True, exist_ok=True)
    for one in dict.fromkeys((*others, source)):
        rewritten = rewrite(one.read_text(encoding="utf-8", errors="surrogateescape"), str(one))
        for kernel in rewritten.kernels:
            (folder / f"aclrtlaunch_{kernel.name}.h").write_text(kernel.declaration, encoding="utf-8")
    copy = folder / f"{source.name}.cpp"
    name = str(source).replace("\\", "\\\\").replace('"', '\\"')
    copy.write_text(f'#line 1 "{name}"\n{rewritten.code}', encoding="utf-8", errors="surrogateescape")
    return copy
