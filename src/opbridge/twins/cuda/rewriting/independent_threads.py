"""Functions in which no thread waits for another, so that the threads of a block may run them one after another."""

from __future__ import annotations

import re
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from itertools import pairwise

from opbridge.twins.cuda.rewriting.changed_variables import is_name

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
    """Return the names that are called, directly or with template arguments."""
    called = (_called(words, i) for i in range(1, len(words)) if words[i] == "(")
    return {name for name in called if name is not None}


def _called(words: Sequence[str], opened: int) -> str | None:
    """Return the called name, with a leading dot for members; None if nothing is called."""
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
    """Return whether no thread waits in a function body; names in `allowed` may be called or are types."""
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
    """The functions, macros and variables of a translation unit, as far as it has been read."""

    functions: set[str] = field(default_factory=set)
    """Functions and macros in which no thread waits."""
    others: set[str] = field(default_factory=set)
    """Functions and macros in which a thread may wait."""
    takes_references: set[str] = field(default_factory=set)
    of_threads: set[str] = field(default_factory=set)
    """Macros that use threadIdx."""
    variables: set[str] = field(default_factory=set)
    """Device variables outside of functions."""

    @property
    def allowed(self) -> set[str]:
        """The names that harmless code may call."""
        return self.functions - self.others

    def note_function(self, name: str, head: Sequence[str], body: Sequence[str]) -> None:
        """Record a function by whether a thread may wait in it."""
        fine = is_harmless(body, self.allowed | types_of_template(head)) and not self.others & set(body)
        (self.functions if fine else self.others).add(name)
        if "&" in head or "&&" in head:
            self.takes_references.add(name)

    def note_macro(self, name: str, body: Sequence[str]) -> None:
        """Record a macro by whether it may wait, jump or change anything."""
        words = set(body)
        changes = any("=" in word and word not in ("==", "!=", "<=", ">=") for word in words) or "++" in "".join(body)
        leaves = words & {"return", "break", "continue", "{", ";", "#", "&"}
        fine = not (changes or leaves or self.others & words) and is_harmless(body, self.allowed)
        (self.functions if fine else self.others).add(name)
        if words & (self.of_threads | {"threadIdx"}):
            self.of_threads.add(name)


def types_of_template(head: Sequence[str]) -> set[str]:
    """Return the type parameters in a function's head."""
    return {name for word, name in pairwise(head) if word in ("typename", "class")}
