"""Find the kernels that macros define, which only a preprocessor can show."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Container, Sequence
from itertools import takewhile
from pathlib import Path

from opbridge.build.cxx.ascend_kernels import AscendKernel, AscendSource
from opbridge.twins.common.rewritten_sources import Files

_IN_A_MACRO = re.compile(r"^[ \t]*#[ \t]*define\b(?:[^\n]*\\\n)*[^\n]*\b__global__\b", re.MULTILINE)
_DEFINES = ("-D", "-U")
_ARCHITECTURE = ("-D__CCE_AICORE__=220", "-D__NPU_ARCH__=2201")
"""What opbridge_ascend/qualifiers.h defines, which such a text does not include."""


def hidden_kernels(
    source: Path, files: Files, compiler: Sequence[str], known: Container[str]
) -> tuple[AscendKernel, ...]:
    """Return the kernels that macros define in a source and its headers, except for `known` ones."""
    # Without the headers of the twin, __global__ stays a word of the text.
    text = files.flattened(source, set())
    if not _IN_A_MACRO.search(text):
        return ()
    shown = AscendSource(_preprocessed(text, compiler), str(source))
    return tuple({kernel.name: kernel for kernel in shown.kernels if kernel.name not in known}.values())


def _preprocessed(text: str, compiler: Sequence[str]) -> str:
    program = takewhile(lambda word: not word.startswith("-"), compiler)
    defines = (word for word in compiler if word.startswith(_DEFINES) and word not in _DEFINES)
    command = [*program, *_ARCHITECTURE, *defines, "-E", "-P", "-x", "c++", "-"]
    done = subprocess.run(command, input=text.encode(errors="surrogateescape"), capture_output=True)
    # A failure needs no report here: compiling the same source reports it.
    return done.stdout.decode(errors="surrogateescape")
