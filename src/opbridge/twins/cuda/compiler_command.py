"""The command that replaces the compiler: it rewrites a source, compiles the result, and writes its dependencies."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from opbridge.base.errors import InputError
from opbridge.twins.common.compiler_messages import complain
from opbridge.twins.common.depfiles import add_dependencies
from opbridge.twins.common.message_columns import with_users_columns
from opbridge.twins.common.rewritten_sources import preprocessed
from opbridge.twins.cuda import cccl, torch_extension_sources
from opbridge.twins.cuda.rewritten_sources import translate
from opbridge.twins.cuda.unique_symbols import RELOCATABLE, SEVERAL, make_own

PRELUDE = "cuda_runtime.h"
"""The header included before the first line of a source, as nvcc does."""

AS_NVCC_READS = ("-fpermissive",)
"""A g++ option that lets an alias in a class have the name of its target; `main` rejects what else it permits."""

_PERMITTED = re.compile(r"warning: (?=.*\[-fpermissive\]$)(?!declaration of .* changes meaning of )", re.MULTILINE)


def main(arguments: Sequence[str]) -> int:
    """Compile a source by the command line SOURCE FOLDER DEPFILE OTHER-SOURCE... -- COMPILER...

    The compiler command lacks only its input. Returns the exit status.
    """
    source, folder, depfile = arguments[:3]
    compiler = arguments[arguments.index("--") + 1 :]
    include_dirs = [Path(word[2:]) for word in compiler if word.startswith("-I") and len(word) > 2]
    is_for_host = torch_extension_sources.PRELUDE[-1] in compiler and Path(source).suffix != ".cu"
    as_cpp = (*compiler, "-x", "c++", "-include", torch_extension_sources.HOST if is_for_host else PRELUDE)
    if is_for_host:
        # PyTorch compiles such a source by the host compiler, not by nvcc.
        return subprocess.run([*as_cpp, "-c", source], stdin=subprocess.DEVNULL).returncode
    try:
        translation = translate(
            Path(source),
            Path(folder),
            include_dirs,
            lambda code: preprocessed([*as_cpp, str(code)]),
            cccl.MARK in compiler,
        )
    except InputError as error:
        complain(error)
        return 1
    command = [*as_cpp, "-c", str(translation.source)]
    done = subprocess.run(
        command, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, errors="surrogateescape"
    )
    said, refused = _PERMITTED.subn("error: ", done.stderr)
    sys.stderr.write(with_users_columns(said, translation.columns))
    code = done.returncode or int(refused > 0)
    if code == 0:
        # The compiler read the rewritten files instead of the user's.
        add_dependencies(Path(depfile), translation.read, Path(folder))
        macros = {word.removeprefix("-D").partition("=")[0] for word in compiler}
        if SEVERAL in macros and RELOCATABLE not in macros:
            made = Path(compiler[compiler.index("-o") + 1])
            make_own(made, translation.own_functions, translation.own_variables)
    return code
