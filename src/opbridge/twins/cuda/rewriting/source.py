"""A source while it is rewritten: its tokens, what they become, and where in it one is."""

from __future__ import annotations

from dataclasses import dataclass

from opbridge.cxx.reader import CLOSERS, PAIRS, Reader
from opbridge.twins.cuda.refused import is_of_devices
from opbridge.twins.cuda.rewriting.guards import Guard
from opbridge.twins.cuda.rewriting.unit import Namespace, Unit


@dataclass(frozen=True)
class Scope:
    kind: str
    """namespace, class, function (or a block in one), or initializer."""
    device: bool = False
    host: bool = False
    """It is the host's too."""
    kernel: bool = False
    leaves: bool = False
    """Its `return;` may leave a barrier to the others: it is a kernel's, or of a device function that has a barrier."""
    guard: Guard | None = None
    """Of a kernel."""
    c_linkage: bool = False
    name: str = ""
    """Of a namespace whose names are not known outside of it."""
    function: str = ""
    """The name of a kernel that is no template."""
    shields: bool = False
    """The function's own names stand in a block within that of the __shared__ variables it uses."""
    head: tuple[int, ...] = ()
    """What stands before it and its brace in a statement that goes on behind it."""


class Source(Reader):
    def __init__(self, source: str, file: str, unit: Unit, *, line: int = 1, in_macro: bool = False) -> None:
        super().__init__(source, file, line, directives=not in_macro)
        self.unit = unit
        self.in_macro = in_macro
        self.is_of_devices = is_of_devices(file, unit.folders)
        self.texts = [token.text for token in self.tokens]
        """What each token becomes, …"""
        self.before: dict[int, str] = {}
        """… and what is written before it; …"""
        self.behind: dict[int, str] = {}
        """… and behind it, whatever becomes of it."""
        self.scopes: list[Scope] = [Scope("namespace")]
        self.head: list[int] = []
        """The tokens since the last statement ended, without blanks."""

    def erase(self, first: int, last: int) -> None:
        for i in range(first, last + 1):
            self.texts[i] = ""

    def namespace(self) -> Namespace:
        return tuple(scope.name for scope in self.scopes if scope.name)

    def in_function(self) -> bool:
        return any(scope.kind == "function" for scope in self.scopes)


def outside_of_brackets(words: list[str]) -> list[str]:
    """The words with brackets, but not with what is in them."""
    outside: list[str] = []
    depth = 0
    for position, word in enumerate(words):
        angle = word == "<" and position > 0 and (words[position - 1].isidentifier() or depth > 0)
        closes = word in CLOSERS or (word == ">" and depth > 0)
        depth -= closes
        if depth == 0:
            outside.append(word)
        depth += word in PAIRS or angle
    return outside
