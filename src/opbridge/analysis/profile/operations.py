"""Count the operations of stretches of code, from the machine code that the twin ran.

It is the code of this machine and not of a GPU, which uses other instructions for integers and addresses.
Floating-point numbers are computed by the same operations on both, with products and sums fused in the same way.
"""

from __future__ import annotations

import re
import subprocess
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise

_INSTRUCTION = re.compile(r"^\s*([0-9a-f]+)(?: <(.*)>:$|:\t(\S+)(.*)$)", re.MULTILINE)
"""Matches an instruction, or the beginning of a function."""
_BEGIN = "__sanitizer_cov_trace_pc"
_OF_THE_TWIN = re.compile(r"_ZNK?13opbridge_twin(?!9run_block)")
"""Matches functions that a GPU does not have, if they have their own stretches."""
_CONVERTS = re.compile(r"_ZN2ob6detail\d+(?:half_to_float|float_to_half|float_to_bfloat16)E")
"""Matches functions that are a single GPU instruction."""
_FUSED = re.compile(r"vfn?m(?:add|sub)\d+[sp][sdh]$")
_SIMPLE = re.compile(r"v?(?:add|sub|mul|div|sqrt|max|min)[sp][sdh]$")
_CONVERSION = re.compile(r"v?cvt")
_NAMED = re.compile(r"<([^>@+]+)")
_JUMP = re.compile(r"j[a-z]+$")
_ADDRESS = re.compile(r"[0-9a-f]+")
_INTEGER = re.compile(
    r"(?:i?mul|add|adc|sub|sbb|and|andn|or|xor|neg|not|inc|dec|sa[lr]x?|sh[lr]x?|ro[lr]x?|lea|set[a-z]+|cmov[a-z]+)[lq]?$"
)
"""Matches integer instructions, without comparisons: those are counted by the jump after them."""
_DIVISION = re.compile(r"i?div[lq]?$")
_DIVIDED = {4: 20, 8: 80}
"""Approximate GPU instructions of an integer division, by size in bytes; a GPU has no instruction for it."""
_LONG = re.compile(r"%r(?:[a-ds][xip]|[sbd][ip]|\d+)$")
_OF_STACK = re.compile(r"\$0x[0-9a-f]+,%rsp$")
_STEP = re.compile(r"(?:add|sub)[lq]? +\$|(?:inc|dec)[lq]? ")
"""Matches a step of a counter or an address."""
_COMPARED = 2
"""Instructions per branch."""
_UNROLLED = 4
"""The fewest rounds that nvcc unrolls of a loop without branches; of a known number of rounds, it unrolls all."""
_GOT = re.compile(r"^([0-9a-f]+) R_\S+\s+([^\s@]+)", re.MULTILINE)
_OWN = ("__tsan", "__sanitizer", "__ubsan", "ob_twin", "__wrap_", "mem")
_WIDTHS = {"x": 16, "y": 32, "z": 64}
_SIZES = {"s": 4, "d": 8, "h": 2}


@dataclass
class Stretch:
    """A stretch of code whose only branch is at its end."""

    operations: Counter[str] = field(default_factory=Counter)
    """Operations by kind: float, double, half, special (calls of functions) and conversion."""
    integers: float = 0.0
    """GPU instructions for integers: sums, comparisons, addresses, branches."""
    rounds: int = 1
    """Rounds of its loop that GPU code performs together."""
    branch: int | None = None
    """The offset of the conditional jump at its end, if it has one."""


@lru_cache(maxsize=64)
def stretches(path: str) -> Mapping[int, Stretch]:
    """Return the stretches that are reported when they begin, by the file offset after the reporting call."""
    functions = _functions(path)
    bodies = [_Body(begin, body[0].at, body) for begin, body in _bodies(path, functions) if body]
    for before, body in pairwise(bodies):
        body.take_back(before)
    return {body.told: _stretch(body, functions) for body in bodies}


@dataclass(frozen=True)
class _Instruction:
    at: int
    name: str
    operands: str


@dataclass
class _Body:
    """The code of a stretch."""

    begin: int
    """The offset of the call that reports it."""
    told: int
    """The offset after that call."""
    code: list[_Instruction]

    @property
    def jumps(self) -> list[_Instruction]:
        """The conditional jumps; those before the last belong to the twin's checks."""
        return [one for one in self.code if one.at >= self.told and one.name != "jmp" and _JUMP.match(one.name)]

    @property
    def goes_back_to(self) -> int:
        named = _ADDRESS.match(self.jumps[-1].operands) if self.jumps else None
        return int(named[0], 16) if named else 0

    @property
    def is_loop(self) -> bool:
        return min(self.begin, self.code[0].at) <= self.goes_back_to <= self.begin

    def take_back(self, before: _Body) -> None:
        """Take the part of a loop before its report, which runs as often: it is entered in its middle."""
        if before.told < self.goes_back_to < self.begin:
            self.code = [one for one in before.code if one.at >= self.goes_back_to] + self.code
            before.code = [one for one in before.code if one.at < self.goes_back_to]


def _bodies(path: str, functions: Mapping[int, str]) -> Iterator[tuple[int, list[_Instruction]]]:
    """Yield the offset of each call that reports a stretch, and the instructions after it."""
    begin = 0
    body: list[_Instruction] | None = None
    is_left_out = False
    for at, function, name, rest in _INSTRUCTION.findall(_said(["objdump", "-d", "--no-show-raw-insn", path])):
        if function:
            is_left_out = bool(_OF_THE_TWIN.match(function) or _CONVERTS.match(function))
        begins = not is_left_out and name.startswith("call") and _callee(rest, functions) == _BEGIN
        if body is not None and name and not begins:
            body.append(_Instruction(int(at, 16), name, rest.strip()))
            continue
        if body is not None:
            yield begin, body
        begin, body = int(at, 16), [] if begins else None
    if body is not None:
        yield begin, body


def _stretch(body: _Body, functions: Mapping[int, str]) -> Stretch:
    found = Stretch()
    for one in body.code:
        found.operations.update(_of(one.name, one.operands, functions))
        found.integers += _integers(one)
    if jumps := body.jumps:
        found.branch = jumps[0].at
        found.integers += _COMPARED
        if body.is_loop:
            stepped = _COMPARED + sum(bool(_STEP.match(f"{one.name} {one.operands}")) for one in body.code)
            found.integers -= stepped * (1 - 1 / _UNROLLED)
            found.rounds = _UNROLLED
    return found


@lru_cache(maxsize=64)
def _functions(path: str) -> Mapping[int, str]:
    """Return functions of other libraries, by the address of the word that points to them."""
    return {int(at, 16): name for at, name in _GOT.findall(_said(["objdump", "-R", path]))}


def _said(command: list[str]) -> str:
    try:
        return subprocess.run(command, capture_output=True, text=True, errors="replace").stdout
    except FileNotFoundError:
        return ""


def _of(name: str, rest: str, functions: Mapping[int, str]) -> Counter[str]:
    if name.startswith("call"):
        if (named := _NAMED.search(rest)) and _CONVERTS.match(named[1]):
            return Counter(conversion=1)
        # A function in the same file has its own stretches.
        is_here = "#" not in rest and "@" not in rest
        return Counter() if is_here or _callee(rest, functions).startswith(_OWN) else Counter(special=1)
    made: Counter[str] = Counter()
    if _FUSED.match(name) or _SIMPLE.match(name):
        kind = {"s": "float", "d": "double", "h": "half"}[name[-1]]
        made[kind] = (2 if _FUSED.match(name) else 1) * _elements(name, rest)
    elif _CONVERSION.match(name):
        made["conversion"] = 1
    return made


def _integers(one: _Instruction) -> int:
    if _DIVISION.match(one.name):
        return _DIVIDED[8 if one.name.endswith("q") or _LONG.search(one.operands) else 4]
    is_zero = one.name == "xor" and len(set(one.operands.split(","))) == 1
    return int(bool(_INTEGER.match(one.name)) and not is_zero and not _OF_STACK.match(one.operands))


def _callee(rest: str, functions: Mapping[int, str]) -> str:
    if by_word := re.search(r"# ([0-9a-f]+)", rest):
        return functions.get(int(by_word[1], 16), "")
    named = _NAMED.search(rest)
    return named[1] if named else ""


def _elements(name: str, rest: str) -> int:
    if name[-2] == "s":
        return 1
    register = re.search(r"%([xyz])mm\d+\s*$", rest.partition("#")[0])
    return _WIDTHS[register[1]] // _SIZES[name[-1]] if register else 1
