"""The parts of an asm statement, and the instructions of PTX that the twin has."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from opbridge.cxx.reader import CLOSERS, PAIRS
from opbridge.cxx.tokens import Token

INSTRUCTIONS = frozenset(
    [
        "abs",
        "activemask",
        "add",
        "addc",
        "and",
        "applypriority",
        "atom",
        "bar",
        "barrier",
        "bfe",
        "bfi",
        "bfind",
        "bra",
        "brev",
        "brkpt",
        "clz",
        "cnot",
        "copysign",
        "cos",
        "cp",
        "cvt",
        "cvta",
        "discard",
        "div",
        "dp2a",
        "dp4a",
        "ex2",
        "exit",
        "fence",
        "fma",
        "isspacep",
        "ld",
        "ldmatrix",
        "ldu",
        "lg2",
        "lop3",
        "mad",
        "mad24",
        "madc",
        "match",
        "max",
        "membar",
        "min",
        "mma",
        "mov",
        "mul",
        "mul24",
        "nanosleep",
        "neg",
        "not",
        "or",
        "popc",
        "prefetch",
        "prefetchu",
        "prmt",
        "rcp",
        "red",
        "redux",
        "rem",
        "ret",
        "rsqrt",
        "sad",
        "selp",
        "set",
        "setp",
        "shf",
        "shfl",
        "shl",
        "shr",
        "sin",
        "slct",
        "sqrt",
        "st",
        "stmatrix",
        "sub",
        "subc",
        "tanh",
        "trap",
        "vote",
        "xor",
    ]
)
"""What runtime/ptx_instructions.cpp and ptx_matrices.cpp have."""


@dataclass
class Section:
    """What stands between two colons: items, by their tokens, and the marks that separate them."""

    items: list[list[int]] = field(default_factory=lambda: [[]])
    separators: list[int] = field(default_factory=list)


def split_assembly(tokens: Sequence[Token], opened: int, closed: int) -> list[Section]:
    """The text of an asm statement, its outputs, its inputs and its clobbers, as far as there are any."""
    sections = [Section()]
    depth = 0
    for i in range(opened + 1, closed):
        text = tokens[i].text
        if depth == 0 and text in (":", "::"):
            sections += [Section() for _ in text]
            sections[-1].separators.append(i)
        elif depth == 0 and text == ",":
            sections[-1].separators.append(i)
            sections[-1].items.append([])
        else:
            depth += (text in PAIRS) - (text in CLOSERS)
            sections[-1].items[-1].append(i)
    return sections


def unknown_instruction(texts: Sequence[str]) -> str | None:
    """The first instruction that the twin lacks in the text of an asm statement, where that is plain literals."""
    if not all(text.startswith('"') for text in texts):
        return None
    code = "".join(text[1:-1] for text in texts).replace("\\n", "\n").replace("\\t", "\t")
    code = re.sub(r"//[^\n]*|/\*.*?\*/", " ", code, flags=re.DOTALL)
    for statement in re.split(r"[;{}](?![^{]*\}[,\s]*[\[%\w])", code):
        found = re.match(r"\s*(?:[$\w]+:(?!:)\s*)*(?:@!?[%\w]+\s+)?([a-z]\w*)(?=[.\s;]|$)", statement)
        if found and found[1] not in INSTRUCTIONS:
            return found[1]
    return None
