"""asm statements: their parts, their replacements, and the PTX instructions that the twin has."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from opbridge.build.cxx.reader import CLOSERS, PAIRS
from opbridge.build.cxx.tokens import Kind, Token
from opbridge.twins.cuda.missing_headers import compile_error
from opbridge.twins.cuda.rewriting.source import Source

_SINCE = {
    "clusterlaunchcontrol": "Blackwell",
    "multimem": "Hopper",
    "tcgen05": "Blackwell",
    "tensormap": "Hopper",
    "wgmma": "Hopper",
}
"""The GPU generation that introduced each missing instruction: kernels that use it target such GPUs alone."""

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
        "elect",
        "ex2",
        "exit",
        "fence",
        "fma",
        "griddepcontrol",
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
        "mbarrier",
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
        "setmaxnreg",
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
"""The instructions in the tables at the ends of runtime/ptx_*.cpp."""


@dataclass
class Section:
    """One section of an asm statement between two colons: its items as token indices, and their separators."""

    items: list[list[int]] = field(default_factory=lambda: [[]])
    separators: list[int] = field(default_factory=list)


def split_assembly(tokens: Sequence[Token], opened: int, closed: int) -> list[Section]:
    """Split an asm statement into its text, outputs, inputs and clobbers, as far as present.

    All branches of a preprocessor condition start in the same section.
    """
    sections = [Section()]
    at, depth = 0, 0
    branches: list[int] = []
    for i in range(opened + 1, closed):
        text = tokens[i].text
        if tokens[i].kind is Kind.DIRECTIVE:
            at = _section_behind(text, at, branches)
            sections[at].items.append([])
        elif depth == 0 and text in (":", "::"):
            at += len(text)
            sections += [Section() for _ in range(len(sections), at + 1)]
            sections[at].separators.append(i)
            sections[at].items.append([])
        elif depth == 0 and text == ",":
            sections[at].separators.append(i)
            sections[at].items.append([])
        else:
            depth += (text in PAIRS) - (text in CLOSERS)
            sections[at].items[-1].append(i)
    return sections


def _section_behind(directive: str, at: int, branches: list[int]) -> int:
    word = directive[1:].lstrip()
    if word.startswith("if"):
        branches.append(at)
    elif word.startswith("el") and branches:
        return branches[-1]
    elif word.startswith("endif") and branches:
        branches.pop()
    return at


def unknown_instruction(texts: Sequence[str]) -> str | None:
    """Return the first instruction of an asm text that the twin lacks; None if the text is not all literals."""
    if not all(text.startswith('"') for text in texts):
        return None
    code = "".join(text[1:-1] for text in texts).replace("\\n", "\n").replace("\\t", "\t")
    code = re.sub(r"//[^\n]*|/\*.*?\*/", " ", code, flags=re.DOTALL)
    for statement in re.split(r"[;{}](?![^{]*\}[,\s]*[\[%\w])", code):
        found = re.match(r"\s*(?:[$\w]+:(?!:)\s*)*(?:@!?[%\w]+\s+)?([a-z]\w*)(?=[.\s;]|$)", statement)
        if found and found[1] not in INSTRUCTIONS:
            return found[1]
    return None


def rewrite_assembly(source: Source, index: int) -> None:
    """Rewrite an asm statement as a call of `ptx`.

    `asm volatile("..." : "=r"(x) : "r"(y))` becomes `ptx("...", ptx_output("=r", (x)), ptx_input("r", (y)))`.
    """
    opened = source.next(index + 1)
    while opened is not None and source.tokens[opened].text in ("volatile", "__volatile__", "__volatile"):
        source.texts[opened] = ""
        opened = source.next(opened + 1)
    if opened is None or source.tokens[opened].text != "(":
        return
    sections = split_assembly(source.tokens, opened, source.match(opened))
    for number, section in enumerate(sections[1:]):
        function = ("ptx_output", "ptx_input")[number] if number < 2 else ""
        for item in section.items:
            _rewrite_operand(source, item, function)
        for separator in section.separators:
            source.texts[separator] = ""
    source.texts[index] = "::opbridge_twin::ptx"
    text = [source.tokens[i].text for item in sections[0].items for i in item if not source.tokens[i].blank]
    if not (source.unit.is_library or source.is_of_devices) and (unknown := unknown_instruction(text)):
        since = f", which GPUs have since {_SINCE[unknown]}" if unknown in _SINCE else ""
        source.before[index] = compile_error(f"`{unknown}` of inline PTX assembly{since}")


def _rewrite_operand(source: Source, item: list[int], function: str) -> None:
    words = [i for i in item if not source.tokens[i].blank]
    if not words:
        return
    if not function:
        source.erase(words[0], words[-1])
        return
    opened = source.match_back(words[-1])
    source.before[words[0]] = f", ::opbridge_twin::{function}("
    source.texts[opened] = ", ("
    source.texts[words[-1]] += ")"
