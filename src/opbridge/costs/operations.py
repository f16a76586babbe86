"""What stretches of code compute, read in the machine code that the twin ran.

It is this machine's code and not a GPU's: integers and addresses are counted by other instructions there.  Numbers with
a fraction are computed by the same operations, products and sums joined alike.
"""

from __future__ import annotations

import re
import subprocess
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache

_INSTRUCTION = re.compile(r"^\s*([0-9a-f]+)(?: <.*>:$|:\t(\S+)(.*)$)", re.MULTILINE)
"""Or the begin of a function."""
_BEGIN = "__sanitizer_cov_trace_pc"
_FUSED = re.compile(r"vfn?m(?:add|sub)\d+[sp][sdh]$")
_SIMPLE = re.compile(r"v?(?:add|sub|mul|div|sqrt|max|min)[sp][sdh]$")
_CONVERSION = re.compile(r"v?cvt")
_JUMP = re.compile(r"j[a-z]+$")
_GOT = re.compile(r"^([0-9a-f]+) R_\S+\s+([^\s@]+)", re.MULTILINE)
_OWN = ("__tsan", "__sanitizer", "__ubsan", "ob_twin", "__wrap_", "mem")
_WIDTHS = {"x": 16, "y": 32, "z": 64}
_SIZES = {"s": 4, "d": 8, "h": 2}


@dataclass
class Stretch:
    """Of code without a branch but at its end."""

    operations: Counter[str] = field(default_factory=Counter)
    """By kind: float, double, half, special (calls of functions) and conversion."""
    branch: int | None = None
    """The offset of the jump at its end, where it has a condition."""


@cache
def stretches(path: str) -> Mapping[int, Stretch]:
    """Those that are told of when they begin, by the offset in the file behind that call."""
    functions = _functions(path)
    found: dict[int, Stretch] = {}
    running: Stretch | None = None
    begins = False
    for at, name, rest in _INSTRUCTION.findall(_said(["objdump", "-d", "--no-show-raw-insn", path])):
        if not name:  # another function
            running, begins = None, False
            continue
        if begins:
            running = found[int(at, 16)] = Stretch()
            begins = False
        if name.startswith("call") and _callee(rest, functions) == _BEGIN:
            begins = True
        elif running is not None:
            running.operations.update(_of(name, rest, functions))
            if running.branch is None and name != "jmp" and _JUMP.match(name):
                running.branch = int(at, 16)
    return found


@cache
def _functions(path: str) -> Mapping[int, str]:
    """Of other libraries, by the address of the word that points to them."""
    return {int(at, 16): name for at, name in _GOT.findall(_said(["objdump", "-R", path]))}


def _said(command: list[str]) -> str:
    try:
        return subprocess.run(command, capture_output=True, text=True, errors="replace").stdout
    except FileNotFoundError:
        return ""


def _of(name: str, rest: str, functions: Mapping[int, str]) -> Counter[str]:
    if name.startswith("call"):
        return Counter() if _callee(rest, functions).startswith(_OWN) else Counter(special=1)
    made: Counter[str] = Counter()
    if _FUSED.match(name) or _SIMPLE.match(name):
        kind = {"s": "float", "d": "double", "h": "half"}[name[-1]]
        made[kind] = (2 if _FUSED.match(name) else 1) * _elements(name, rest)
    elif _CONVERSION.match(name):
        made["conversion"] = 1
    return made


def _callee(rest: str, functions: Mapping[int, str]) -> str:
    if by_word := re.search(r"# ([0-9a-f]+)", rest):
        return functions.get(int(by_word[1], 16), "")
    named = re.search(r"<([^>@+]+)", rest)
    return named[1] if named else ""


def _elements(name: str, rest: str) -> int:
    if name[-2] == "s":
        return 1
    register = re.search(r"%([xyz])mm\d+\s*$", rest.partition("#")[0])
    return _WIDTHS[register[1]] // _SIZES[name[-1]] if register else 1
