"""The command that replaces the compiler.

It rewrites a source, writes the headers that declare kernels to hosts, compiles the result, and writes its
dependencies.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

from opbridge.base.errors import InputError
from opbridge.build.cxx.ascend_kernels import AscendKernel
from opbridge.twins.ascend.hidden_kernels import hidden_kernels
from opbridge.twins.ascend.rewriter import UNKNOWN, LaunchFunction, rewrite
from opbridge.twins.common.compiler_messages import complain
from opbridge.twins.common.depfiles import add_dependencies
from opbridge.twins.common.rewritten_sources import Files, Included, Preprocess, preprocessed

PRELUDE = "opbridge_ascend/aot.h"
"""The header included before the first line of a source; the functions that hosts call follow its last line."""

FOR_AN_NPU = ("--npu-", "--cce-", "-xasc", "--enable-simt")
"""Prefixes of options that mean nothing to other compilers."""

_MEANS = {"--cce-auto-sync=off": "-DOPBRIDGE_ASCEND_AUTO_SYNC=0"}
_OLDER_STANDARD = re.compile(r"-std=(?:c|gnu)\+\+(?:11|14|17)")
"""The standard that a project chooses; the twin uses a newer one, which includes it."""

_MIXED = f"#define {UNKNOWN} ::opbridge_ascend::Cores::mixed\n"

_ASCEND_C = re.compile(r"<<<|__(?:global|aicore)__")


def main(arguments: Sequence[str]) -> int:
    """Compile a source by the command line SOURCE FOLDER DEPFILE OTHER-SOURCE... -- COMPILER...

    The compiler command lacks only its input. Returns the exit status.
    """
    division = arguments.index("--")
    source, folder, depfile, *others = map(Path, arguments[:division])
    return compile_source(source, folder, depfile, arguments[division + 1 :], others)


def compile_source(
    source: Path, folder: Path, depfile: Path | None, compiler: Sequence[str], others: Sequence[Path] = ()
) -> int:
    """Compile a source and return the compiler's exit status; `others` hold kernels that it may launch too."""
    named = [Path(word[2:]) for word in compiler if word.startswith("-I") and len(word) > 2]
    # The headers of the twin are already C++.
    include_dirs = [path for path in named if not (path / PRELUDE).is_file()]
    folder = folder.absolute()
    options = [_MEANS.get(word, word) for word in compiler if word in _MEANS or not _says_nothing(word)]
    as_cpp = (*options, f"-iquote{source.parent}", f"-I{folder}", "-include", PRELUDE, "-x", "c++")
    read: list[Path] = []
    try:
        for other in others:
            read += translate(other, folder / "others", include_dirs, headers=folder, compiler=options)[1]
        translated, own = translate(
            source, folder, include_dirs, folder, options, lambda code: preprocessed([*as_cpp, str(code)])
        )
    except InputError as error:
        complain(error)
        return 1
    code = subprocess.run([*as_cpp, "-c", str(translated)], stdin=subprocess.DEVNULL).returncode
    if code == 0 and depfile is not None:
        add_dependencies(depfile, [*own, *read], folder)
    return code


def _says_nothing(word: str) -> bool:
    return word.startswith(FOR_AN_NPU) or _OLDER_STANDARD.fullmatch(word) is not None


def translate(
    source: Path,
    folder: Path,
    include_dirs: Sequence[Path],
    headers: Path,
    compiler: Sequence[str],
    preprocess: Preprocess | None = None,
) -> tuple[Path, list[Path]]:
    """Rewrite a source; return the result and the files that it comes from.

    An aclrtlaunch_k.h for each kernel is written to `headers`. `compiler` preprocesses sources whose kernels are
    defined by macros. Without `preprocess`, no host can call the source.
    """
    kernels: list[AscendKernel] = []
    aot_functions: list[str] = []
    multiply: list[str] = []
    """Files with kernels that use Matmul."""

    def rewrite_file(text: str, file: str, included: Included) -> str:
        rewritten = rewrite(text, file, included)
        kernels.extend(rewritten.kernels)
        aot_functions.extend(rewritten.aot_functions)
        multiply.extend([file] * rewritten.multiplies)
        return rewritten.code

    files = Files(folder, tuple(include_dirs), _ASCEND_C, rewrite_file)
    translated = files.translate(source, aot_functions, preprocess)
    hidden = hidden_kernels(source, files, compiler, {kernel.name for kernel in kernels})
    kernels.extend(hidden)
    if hidden:
        with translated.open("a", encoding="utf-8") as end:
            end.writelines(f"\n{LaunchFunction(kernel).definition}" for kernel in hidden)
    if multiply:
        code = translated.read_text(encoding="utf-8", errors="surrogateescape")
        translated.write_text(f"{_MIXED}{code}", encoding="utf-8", errors="surrogateescape")
    for kernel in kernels:
        (headers / f"aclrtlaunch_{kernel.name}.h").write_text(LaunchFunction(kernel).declaration, encoding="utf-8")
    return translated, list(files.copies)
