"""The functions with the plain C call in a source: hosts reach each by way of one that lends it their tensors."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from opbridge.cxx.tokens import Token

INNER = "opbridge_twin_runs_"
"""Begins the name of a function that hosts call by way of another one, which has its name."""

_AOT_CALL = ("int", "void * *", "int *", "int64_t * *", "char * *", "void *", "void *")
_AOT_FUNCTION = re.compile(
    r"(?P<name>[^\W\d]\w*) \( " + " , ".join(rf"{re.escape(kind)}(?: [^\W\d]\w*)?" for kind in _AOT_CALL) + r" \)"
)


def aot_function(tokens: Iterable[Token]) -> str | None:
    """The name of a function that is defined here, if it has the plain C call."""
    words = (token.text for token in tokens if token.text not in ("const", "std", "::"))
    matched = _AOT_FUNCTION.search(" ".join(words))
    return matched["name"] if matched else None


def wrapped(code: str, aot_functions: Sequence[str]) -> str:
    """Gives each function that hosts call another name, and its own to one that lends it the host's tensors."""
    if not aot_functions:
        return code
    renamed = {name: f"{INNER}{name}" for name in aot_functions}
    before = "".join(f"#define {name} {other}\n" for name, other in renamed.items())
    behind = "".join(f"#undef {name}\nOPBRIDGE_TWIN_AOT({name}, {other})\n" for name, other in renamed.items())
    return f"{before}{code}\n{behind}"
