"""A source during rewriting: its tokens, their replacements, and the current position in it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from opbridge.build.cxx.reader import CLOSERS, PAIRS, Reader
from opbridge.twins.cuda.missing_headers import is_of_devices
from opbridge.twins.cuda.rewriting.guards import Guard
from opbridge.twins.cuda.rewriting.translation_unit import Namespace, Unit


@dataclass(frozen=True)
class Scope:
    """A scope of a source."""

    kind: str
    """namespace, class, function (or a block in one), or initializer."""
    device: bool = False
    host: bool = False
    """Whether the host can call it too."""
    kernel: bool = False
    leaves: bool = False
    """Whether its `return;` may skip a barrier: it is in a kernel, or in a device function that has a barrier."""
    guard: Guard | None = None
    """The guard of a kernel."""
    c_linkage: bool = False
    name: str = ""
    """The name of a namespace, whose names are not visible outside of it."""
    function: str = ""
    """The name of a kernel that is not a template."""
    shields: bool = False
    """Whether the function's body is an inner block, inside that of the __shared__ variables it uses."""
    head: tuple[int, ...] = ()
    """The tokens before the scope and its brace, in a statement that continues after it."""


class Source(Reader):
    """The tokens of a source, with their replacements and the open scopes."""

    def __init__(self, source: str, file: str, unit: Unit, *, line: int = 1, in_macro: bool = False) -> None:
        super().__init__(source, file, line, directives=not in_macro)
        self.unit = unit
        self.in_macro = in_macro
        self.is_of_devices = is_of_devices(file, unit.folders)
        self.texts = [token.text for token in self.tokens]
        """The replacement of each token."""
        self.before: dict[int, str] = {}
        """Text written before a token."""
        self.behind: dict[int, str] = {}
        """Text written after a token, whatever its replacement."""
        self.scopes: list[Scope] = [Scope("namespace")]
        self.head: list[int] = []
        """The tokens since the last statement ended, without blanks."""
        self.device_bodies: list[tuple[str, int]] = []
        """The functions of devices alone, each with the brace that opens its body."""
        self.called_by_host: set[str] = set()
        """The names that functions of the host seem to call."""
        self.in_constant_function = False
        """Whether the function that was entered last may be constexpr."""

    @cached_property
    def has_labels(self) -> bool:
        """Return whether a jump may pass over a declaration."""
        return any(token.text == "goto" for token in self.tokens)

    def erase(self, first: int, last: int) -> None:
        """Remove the tokens from `first` to `last`, inclusive."""
        for i in range(first, last + 1):
            self.texts[i] = ""

    def namespace(self) -> Namespace:
        """Return the names of the enclosing namespaces, outermost first."""
        return tuple(scope.name for scope in self.scopes if scope.name)

    def in_function(self) -> bool:
        """Return whether a function encloses the current position."""
        return any(scope.kind == "function" for scope in self.scopes)


def outside_of_brackets(words: list[str]) -> list[str]:
    """Return the words outside of brackets, and the brackets themselves."""
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
