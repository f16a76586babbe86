"""The `bin/bisheng` command in the folder that replaces CANN.

It accepts the options of the vendor's compiler, and compiles and links by the host's.
"""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from opbridge.base.errors import InputError
from opbridge.base.progress import step
from opbridge.twins.ascend import LANGUAGE
from opbridge.twins.ascend.compiler_command import compile_source
from opbridge.twins.common.compiler_messages import complain

_ASCEND_C = frozenset({"asc", "cce"})
"""The -x languages and file suffixes that are Ascend C, not plain C++."""
_SOURCES = frozenset({".asc", ".cce", ".cpp", ".cc", ".cxx", ".c"})
_INCLUDED = {"-I", "-include", "-isystem", "-iquote", "-idirafter"}
_WITH_ARGUMENT = frozenset({*_INCLUDED, "-D", "-U", "-L", "-l", "-T", "-u", "-MF", "-MT", "-MQ", "-Xlinker"})
# A project's own options come later and win.
_DEFAULTS = ("-O2", "-g", *LANGUAGE)


@dataclass
class _Command:
    sources: list[tuple[Path, bool]] = field(default_factory=list)
    """The source files, and whether each is Ascend C."""
    options: list[str] = field(default_factory=list)
    linked: list[str] = field(default_factory=list)
    """Objects and libraries, the folders where the linker looks for them, and its other options."""
    output: Path | None = None
    links: bool = True


def _read(arguments: Sequence[str]) -> _Command:
    command = _Command()
    words = iter(arguments)
    language = ""
    for word in words:
        if word in ("-x", "-o"):
            following = next(words, "")
            if word == "-o":
                command.output = Path(following)
            else:
                language = following
        elif word.startswith("-x"):
            language = word[2:]
        elif word == "-c":
            command.links = False
        elif word.startswith("-"):
            given = [word, next(words, "")] if word in _WITH_ARGUMENT else [word]
            is_linkers = word.startswith(("-l", "-L", "-Wl,", "-shared", "--shared", "-Xlinker", "-T", "-u"))
            (command.linked if is_linkers else command.options).extend(given)
        elif Path(word).suffix in _SOURCES:
            command.sources.append((Path(word), (language or Path(word).suffix[1:]) in _ASCEND_C))
        else:
            command.linked.append(word)
    return command


def main(arguments: Sequence[str]) -> int:
    """Compile and link by the command line LIBRARY COMPILER... -- WORD...

    These are the library of the twin, the host compiler, and the arguments of bisheng. Returns the exit status.
    """
    division = arguments.index("--")
    library, *compiler = arguments[:division]
    command = _read(arguments[division + 1 :])
    with step(f"compiling {', '.join(path.name for path, _ in command.sources) or 'by bisheng'}"):
        try:
            if not command.sources and not command.links:
                raise InputError("bisheng: no input files")
            return _run(command, library, compiler)
        except InputError as error:
            complain(error)
            return 1
        except OSError as error:
            complain(InputError(f"bisheng: {error.filename}: {error.strerror}"))
            return 1


def _run(command: _Command, library: str, compiler: Sequence[str]) -> int:
    include = f"-isystem{Path(library).parents[1] / 'include'}"
    if not command.links:
        for source, is_ascend_c in command.sources:
            target = command.output or Path(source.with_suffix(".o").name)
            if code := _compile(source, is_ascend_c, target, [*compiler, *_DEFAULTS, include, *command.options]):
                return code
        return 0
    with tempfile.TemporaryDirectory() as folder:
        objects = []
        for number, (source, is_ascend_c) in enumerate(command.sources):
            objects.append(Path(folder) / f"{number}_{source.stem}.o")
            if code := _compile(source, is_ascend_c, objects[-1], [*compiler, *_DEFAULTS, include, *command.options]):
                return code
        output = str(command.output or "a.out")
        twin = (library, f"-Wl,-rpath,{Path(library).parent}")
        return subprocess.run([*compiler, *map(str, objects), *command.linked, "-o", output, *twin]).returncode


def _compile(source: Path, is_ascend_c: bool, target: Path, compiler: Sequence[str]) -> int:
    command = [*compiler, "-o", str(target)]
    if is_ascend_c:
        depfile = Path(command[command.index("-MF") + 1]) if "-MF" in command else None
        return compile_source(source, target.with_suffix(".rewritten"), depfile, command)
    plain = [word for word in command if not word.startswith(("--npu-", "--cce-"))]
    return subprocess.run([*plain, "-x", "c++", "-c", str(source)]).returncode
