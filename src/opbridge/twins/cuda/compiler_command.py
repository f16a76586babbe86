"""The command that replaces the compiler: it rewrites a source, compiles the result, and writes its dependencies."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from opbridge.base.errors import InputError
from opbridge.twins.common.compiler_messages import complain
from opbridge.twins.common.depfiles import add_dependencies
from opbridge.twins.common.message_columns import with_users_columns
from opbridge.twins.common.rewritten_sources import preprocessed
from opbridge.twins.cuda import cccl, torch_extension_sources
from opbridge.twins.cuda.rewritten_sources import Translation, translate
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
    source = arguments[0]
    compiler = arguments[arguments.index("--") + 1 :]
    is_for_host = torch_extension_sources.PRELUDE[-1] in compiler and Path(source).suffix != ".cu"
    as_cpp = (*compiler, "-x", "c++", "-include", torch_extension_sources.HOST if is_for_host else PRELUDE)
    if is_for_host:
        # PyTorch compiles such a source by the host compiler, not by nvcc.
        return subprocess.run([*as_cpp, "-c", source], stdin=subprocess.DEVNULL).returncode
    try:
        code, said = _compile(arguments, compiler, as_cpp)
        if code and cccl.STOP in said:
            code, said = _compile_with_more_headers(said, lambda: _compile(arguments, compiler, as_cpp))
    except InputError as error:
        complain(error)
        return 1
    sys.stderr.write(said)
    return code


def _compile_with_more_headers(said: str, compile_again: Callable[[], tuple[int, str]]) -> tuple[int, str]:
    """Compile again after a failure, as often as the compiler lacks headers that are rewritten on first use."""
    from opbridge.twins.cuda.rewritten_headers import Cccl  # most compilations need none of its imports

    headers, code = Cccl(), 1
    while code and headers.has_more(said):
        code, said = compile_again()
    return code, said


def _compile(arguments: Sequence[str], compiler: Sequence[str], as_cpp: Sequence[str]) -> tuple[int, str]:
    """Rewrite and compile the source, and return the exit status and the compiler's messages.

    Raises:
        InputError: The source cannot be rewritten.
    """
    source, folder, depfile = arguments[:3]
    include_dirs = [Path(word[2:]) for word in compiler if word.startswith("-I") and len(word) > 2]
    translation = translate(
        Path(source),
        Path(folder),
        include_dirs,
        lambda code: preprocessed([*as_cpp, str(code)]),
        cccl.MARK in compiler,
    )
    command = [*as_cpp, "-c", str(translation.source)]
    done = subprocess.run(
        command, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, errors="surrogateescape"
    )
    said, refused = _PERMITTED.subn("error: ", done.stderr)
    code = done.returncode or int(refused > 0)
    if code == 0:
        # The compiler read the rewritten files instead of the user's.
        add_dependencies(Path(depfile), translation.read, Path(folder))
        _make_own(compiler, translation)
    return code, with_users_columns(said, translation.columns)


def _make_own(compiler: Sequence[str], translation: Translation) -> None:
    macros = {word.removeprefix("-D").partition("=")[0] for word in compiler}
    if SEVERAL in macros and RELOCATABLE not in macros:
        made = Path(compiler[compiler.index("-o") + 1])
        make_own(made, translation.own_functions, translation.own_variables)
