"""Functions in which no thread waits for another, so that those of a block may run them one after the other."""

from __future__ import annotations

import re
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from itertools import pairwise

from opbridge.twins.cuda.rewriting.changes import is_name

_NO_CALLS = frozenset({"if", "for", "while", "switch", "return", "sizeof", "alignof", "decltype", "else", "constexpr"})
TYPES = re.compile(
    r"int|unsigned|long|short|char|signed|bool|float|double|size_t|u?int(?:8|16|32|64)_t|uint|uchar|ushort|half2?|__half2?"
    r"|__nv_bfloat16|(?:u?(?:char|short|int|long|longlong)|float|double)[1-4]"
)
_MATHEMATICS = re.compile(
    r"""(?:std)?(?:sqrt|rsqrt|cbrt|rcbrt|exp|exp2|exp10|expm1|log|log2|log10|log1p|pow|powi|sin|cos|tan|asin|acos|atan|atan2
    |sinh|cosh|tanh|asinh|acosh|atanh|sincos|sinpi|cospi|erf|erfc|erfcx|erfinv|erfcinv|normcdf|normcdfinv|lgamma|tgamma|abs
    |fabs|labs|llabs|fmin|fmax|floor|ceil|round|rint|nearbyint|trunc|lrint|lround|fmod|remainder|fma|hypot|rhypot|copysign
    |ldexp|frexp|modf|isnan|isinf|isfinite|signbit|fdim|fdivide|nextafter)[fl]?""",
    re.VERBOSE,
)
_OTHERS = re.compile(
    r"u?(?:ll)?min|u?(?:ll)?max|make_\w+|printf|assert|infinity|lowest|quiet_NaN|epsilon"
    r"|(?:static|reinterpret|const)_cast|__(?!shfl|sync|any|all|ballot|reduce|match|activemask|nanosleep|asm|trap)\w+"
    r"|atomic(?:Add|Sub|Min|Max|And|Or|Xor|Inc|Dec)(?:_block|_system)?"
)
_WAITS = re.compile(
    r"asm|__asm\w*|goto|static|try|throw|volatile|cooperative_groups|cg|co_\w+|<<<"
    r"|__(?:any|all|ballot|reduce|match|activemask|nanosleep|trap)\w*"
)
_MEETS = ("sync", "shfl", "CAS", "Exch", "exchange", "barrier", "pipeline", "Launch")


def calls(words: Sequence[str]) -> set[str]:
    """The names that something in parentheses follows, directly or behind template arguments."""
    called = (_called(words, i) for i in range(1, len(words)) if words[i] == "(")
    return {name for name in called if name is not None}


def _called(words: Sequence[str], opened: int) -> str | None:
    """With a dot before it where it is a member's, and nothing where it is no name."""
    name = opened - 1
    if words[name] == ">":
        depth = 0
        while name > 0 and (depth or name == opened - 1):
            depth += (words[name] == ">") - (words[name] == "<")
            name -= 1
    if is_name(words[name]):
        return f".{words[name]}" if name and words[name - 1] in (".", "->") else words[name]
    is_cast = words[name] == ")" and (TYPES.fullmatch(words[name - 1]) or words[name - 1] == "*")
    return None if is_cast or words[name] not in (")", "]") else ""


def is_harmless(words: Sequence[str], allowed: AbstractSet[str]) -> bool:
    """Of a function's body.  `allowed` are names that may be called too: functions like it, and types."""
    if any(_WAITS.fullmatch(word) or any(part in word for part in _MEETS) for word in words):
        return False
    if any(word == "[" and not (is_name(before) or before in ")]") for before, word in pairwise(words)):
        return False  # a lambda
    return all(
        name in allowed or name in _NO_CALLS or any(known.fullmatch(name) for known in (TYPES, _MATHEMATICS, _OTHERS))
        for name in calls(words)
    )


@dataclass
class Harmless:
    """What a translation unit was seen to have, in what was read so far."""

    functions: set[str] = field(default_factory=set)
    """Functions and macros without a thread that waits, …"""
    others: set[str] = field(default_factory=set)
    """… and those with one, or something that cannot be told."""
    takes_references: set[str] = field(default_factory=set)
    of_threads: set[str] = field(default_factory=set)
    """Macros that name something of a thread."""
    variables: set[str] = field(default_factory=set)
    """Of the device, outside of all functions."""

    @property
    def allowed(self) -> set[str]:
        return self.functions - self.others

    def note_function(self, name: str, head: Sequence[str], body: Sequence[str]) -> None:
        fine = is_harmless(body, self.allowed | types_of_template(head)) and not self.others & set(body)
        (self.functions if fine else self.others).add(name)
        if "&" in head or "&&" in head:
            self.takes_references.add(name)

    def note_macro(self, name: str, body: Sequence[str]) -> None:
        words = set(body)
        changes = any("=" in word and word not in ("==", "!=", "<=", ">=") for word in words) or "++" in "".join(body)
        leaves = words & {"return", "break", "continue", "{", ";", "#", "&"}
        fine = not (changes or leaves or self.others & words) and is_harmless(body, self.allowed)
        (self.functions if fine else self.others).add(name)
        if words & (self.of_threads | {"threadIdx"}):
            self.of_threads.add(name)


def types_of_template(head: Sequence[str]) -> set[str]:
    return {name for word, name in pairwise(head) if word in ("typename", "class")}
