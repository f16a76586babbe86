"""A tokenizer for C++: just enough to find the extensions of device code, and to change nothing else."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum, auto

_PATTERN = re.compile(
    r"""
    (?P<space>(?:\s|\\\r?\n)+)
  | (?P<comment>//(?:[^\\\n]|\\\r?\n|\\.)*|/\*.*?(?:\*/|\Z))
  | (?P<string>(?:u8|[uUL])?R"(?P<fence>[^()\\\s]{0,16})\(.*?\)(?P=fence)"|(?:u8|[uUL])?"(?:[^"\\\n]|\\.)*"?)
  | (?P<character>(?:u8|[uUL])?'(?:[^'\\\n]|\\.)*'?)
  | (?P<number>\.?[0-9](?:'?[\w.]|(?<=[eEpP])[+-])*)
  | (?P<name>[^\W\d][\w$]*)
  | (?P<mark><<<|<<=|<<|<=|>=|->|::|&&|\|\||==|!=|.)
    """,
    re.VERBOSE | re.DOTALL,
)
_DIRECTIVE_END = re.compile(
    r"(?:[^\\\n/\"']|\\\r?\n|\\.|/\*.*?\*/|//[^\n]*|/|\"(?:[^\"\\\n]|\\.)*\"?|'(?:[^'\\\n]|\\.)*'?)*", re.DOTALL
)


class Kind(Enum):
    """The kind of a token."""

    SPACE = auto()
    COMMENT = auto()
    STRING = auto()
    CHARACTER = auto()
    NUMBER = auto()
    NAME = auto()
    MARK = auto()
    DIRECTIVE = auto()


@dataclass(frozen=True)
class Token:
    """A token of a source."""

    kind: Kind
    text: str
    at: int
    """The offset of the token in the source."""

    @property
    def blank(self) -> bool:
        """Whether the token is space or a comment."""
        return self.kind in (Kind.SPACE, Kind.COMMENT)


def tokenize(source: str, directives: bool = True) -> list[Token]:
    """Return the tokens of a source; joined, they are its text.

    A preprocessor directive is one token, with all its lines.
    """
    tokens: list[Token] = []
    position = 0
    fresh_line = True
    while position < len(source):
        if directives and fresh_line and source[position] == "#":
            found = _DIRECTIVE_END.match(source, position)
            assert found is not None  # it matches the empty text too
            tokens.append(Token(Kind.DIRECTIVE, found.group(), position))
            position = found.end()
            fresh_line = False
            continue
        matched = _PATTERN.match(source, position)
        assert matched is not None  # its last alternative is any character
        kind = Kind[(matched.lastgroup or "mark").upper()]
        tokens.append(Token(kind, matched.group(), position))
        if kind is Kind.SPACE:
            fresh_line = fresh_line or "\n" in matched.group()
        elif kind is not Kind.COMMENT:
            fresh_line = False
        position = matched.end()
    return tokens
