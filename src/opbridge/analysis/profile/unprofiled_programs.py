"""Sources of CUDA programs that have nothing to profile, by their text: compiling one takes seconds to minutes."""

from __future__ import annotations

import re
from pathlib import Path

from opbridge.base.errors import InputError
from opbridge.base.safe_open import read_file
from opbridge.build.cxx.tokens import Kind, tokenize

_INCLUDE = re.compile(r"#\s*include\s*(\S+)")
_OF_THE_HOST = re.compile(
    r"<([a-z_]+|(assert|float|limits|math|std(bool|def|int|io|lib)|string|time|unistd)\.h"
    r"|cuda(_runtime(_api)?|_fp16|_bf16)?\.h)>"
)
"""Headers that have no `main` and launch nothing."""
_LAUNCH = re.compile(r"cu(da)?Launch\w*|__global__")


def require_program(source: Path) -> None:
    """Check that a source may have a kernel and the `main` that launches it.

    A source that includes more than headers of the host may have both there.

    Raises:
        InputError: It is empty, or has no kernel or no `main`.
    """
    try:
        text = read_file(source).decode("utf-8", errors="replace")
    except OSError:
        return  # which the compiler says
    tokens = [token for token in tokenize(text) if not token.blank]
    hint = "expected a program: kernels, and a main that launches them; operators are profiled by their ops.yaml"
    if not tokens:
        raise InputError(f"{source} is empty", hint=hint)
    directives = [token.text for token in tokens if token.kind is Kind.DIRECTIVE]
    included = [found[1] for text in directives if (found := _INCLUDE.match(text))]
    if not all(map(_OF_THE_HOST.fullmatch, included)):
        return
    names = set(re.findall(r"\w+", " ".join([*directives, *(t.text for t in tokens if t.kind is Kind.NAME)])))
    if not any(map(_LAUNCH.fullmatch, names)):
        raise InputError(f"{source} has no kernel: it has no __global__ function", hint=hint)
    if "main" not in names:
        raise InputError(f"{source} has no main, which would launch its kernels", hint=hint)
