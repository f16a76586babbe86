"""Wrap the functions with the plain C call in a source: a wrapper shares the tensors of its host with one."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator, Sequence

from opbridge.build.cxx.tokens import Token, tokenize

INNER = "opbridge_twin_runs_"
"""The prefix of a function that hosts call through a wrapper, which takes over the original name."""

_AOT_CALL = ("int", "void * *", "int *", "int64_t * *", "char * *", "void *", "void *")
_AOT_FUNCTION = re.compile(
    r"(?P<name>[^\W\d]\w*) \( " + " , ".join(rf"{re.escape(kind)}(?: [^\W\d]\w*)?" for kind in _AOT_CALL) + r" \)"
)

_IN_A_MACRO = re.compile(
    r'^[ \t]*#[ \t]*define\b(?:[^\n]*\\\n)*[^\n]*(?:\bextern[ \t]*"C"|\bvoid[ \t]*\*[ \t]*\*)', re.MULTILINE
)
_LINE_MARKER = re.compile(r'# \d+ "(?P<file>(?:[^"\\]|\\.)*)"')


def aot_function(tokens: Iterable[Token]) -> str | None:
    """Return the name of the function that the tokens define, if it has the plain C call."""
    words = (token.text for token in tokens if token.text not in ("const", "std", "::"))
    matched = _AOT_FUNCTION.search(" ".join(words))
    return matched["name"] if matched else None


def hides_calls(text: str) -> bool:
    """Return whether a macro may hide part of the head of such a function: its linkage or its parameters."""
    return _IN_A_MACRO.search(text) is not None


def aot_functions_of(preprocessed: str, files: Container[str]) -> Iterator[str]:
    """Yield the functions that hosts may call, from the lines of `files` in preprocessed text."""
    head: list[Token] = []
    depth = 0
    for token in tokenize(_lines_of(preprocessed, files), directives=False):
        opens, closes = token.text == "{", token.text == "}"
        words = [word.text for word in head]
        if opens and depth == 0 and words == ["extern", '"C"']:
            head = []
            continue
        if opens and depth == 0 and "static" not in words and (name := aot_function(head)):
            yield name
        depth = max(depth + opens - closes, 0)
        if opens or closes or token.text == ";":
            head = []
        elif not token.blank and depth == 0:
            head.append(token)


def _lines_of(preprocessed: str, files: Container[str]) -> str:
    kept, wanted = [], False
    for line in preprocessed.splitlines():
        if marker := _LINE_MARKER.match(line):
            wanted = marker["file"] in files
        elif wanted:
            kept.append(line)
    return "\n".join(kept)


def wrapped(code: str, aot_functions: Sequence[str]) -> str:
    """Rename each function that hosts call, and define a wrapper of its old name that passes the host's tensors on."""
    if not aot_functions:
        return code
    renamed = {name: f"{INNER}{name}" for name in aot_functions}
    before = "".join(f"#define {name} {other}\n" for name, other in renamed.items())
    behind = "".join(f"#undef {name}\nOPBRIDGE_TWIN_AOT({name}, {other})\n" for name, other in renamed.items())
    return f"{before}{code}\n{behind}"
