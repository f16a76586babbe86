"""A precedence-climbing parser that turns Python-like expressions into syntax trees."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NoReturn

from opbridge.base.errors import Location, RuleError, TextLocation
from opbridge.waist.rules.syntax import (
    ATOM,
    BINARY_LEVEL,
    BOOLEAN_LEVEL,
    COMPARISON,
    NEGATION,
    NOT,
    OR,
    TERNARY,
    Attribute,
    Binary,
    Bool,
    BoolOp,
    Call,
    Compare,
    Dots,
    Expr,
    Float,
    IfElse,
    Index,
    Int,
    ListOf,
    Name,
    NoneLiteral,
    Slice,
    Str,
    Unary,
)

MAX_DEPTH = 64
"""The maximum depth of a tree, at which every recursive walk stays well within Python's recursion limit."""

_TOKEN = re.compile(
    r"(?P<space>[ \t\r\n]+)"
    r"|(?P<float>\d+\.\d*(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+)"
    r"|(?P<int>\d+)"
    # Only before a `(`: `x[n::m]` is a slice.
    r"|(?P<operator>[A-Za-z_]\w*::[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*(?=\s*\())"
    r"|(?P<name>[A-Za-z_]\w*)"
    r"|(?P<string>\"(?:[^\"\\\n]|\\[\"'\\])*\"|'(?:[^'\\\n]|\\[\"'\\])*')"
    r"|(?P<symbol>\.\.\.|\*\*|//|==|!=|<=|>=|[-+*/%@<>()\[\],:=.])",
    re.ASCII,
)
_KEYWORDS = frozenset({"if", "else", "and", "or", "not", "is", "None", "True", "False"})
_COMPARISON_SYMBOLS = frozenset({"==", "!=", "<", "<=", ">", ">="})


@dataclass(frozen=True)
class Source:
    """A text and its location, so that an error can point into it."""

    text: str
    where: Location | None = None

    def error(self, message: str, offset: int = 0, hint: str = "") -> RuleError:
        """Return an error that points at an offset in the text."""
        before = self.text[:offset]
        line = before.count("\n")
        if self.where is None or line:
            column = len(before) - (before.rfind("\n") + 1)
            first = self.where or TextLocation("rule", 1, 1)
            where = replace(first, line=first.line + line, column=column + 1, source=self.text.split("\n")[line])
        else:
            where = self.where.shifted(offset)
        return RuleError(message, where, hint)


def parse_expression(text: str, where: Location | None = None) -> Expr:
    """Parse an expression.

    Raises:
        RuleError: The text is not an expression, or is nested too deep.
    """
    return _Parser(Source(text, where)).parse()


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str
    offset: int


class _Parser:
    def __init__(self, source: Source) -> None:
        self.source = source
        self.tokens = _tokens(source)
        self.position = 0
        self.nesting = 0

    def parse(self) -> Expr:
        expr = self.expression(TERNARY)
        if self.token.kind != "end":
            self.unexpected("the end of the rule")
        self._refuse_deep(expr)
        return expr

    @property
    def token(self) -> _Token:
        return self.tokens[self.position]

    def take(self) -> _Token:
        token = self.token
        self.position += 1
        return token

    def accept(self, text: str) -> bool:
        """Take the next token if it is this symbol or keyword, and return whether it was."""
        found = self.token.text == text and self.token.kind in ("symbol", "keyword")
        self.position += found
        return found

    def expect(self, text: str) -> None:
        if not self.accept(text):
            self.unexpected(f"{text!r}")

    def unexpected(self, wanted: str) -> NoReturn:
        found = "the end" if self.token.kind == "end" else repr(self.token.text)
        raise self.source.error(f"expected {wanted}, got {found}", self.token.offset)

    def expression(self, level: int) -> Expr:
        self.nesting += 1
        if self.nesting > MAX_DEPTH:
            raise self._too_deep(self.token.offset)
        left = self.prefix(level)
        while (operator := self.operator(level)) is not None:
            left = operator(left)
        self.nesting -= 1
        return left

    def operator(self, level: int) -> Callable[[Expr], Expr] | None:
        """Return a function that builds the next operation from its left operand; None if none binds at this level."""
        token = self.token
        if token.kind not in ("symbol", "keyword"):
            return None
        if BINARY_LEVEL.get(token.text, TERNARY - 1) >= level:
            return self.binary
        if BOOLEAN_LEVEL.get(token.text, TERNARY - 1) >= level:
            return self.boolean
        if level <= COMPARISON and (token.text in _COMPARISON_SYMBOLS or token.text == "is"):
            return self.comparison
        if level == TERNARY and token.text == "if":
            return self.ternary
        return None

    def binary(self, left: Expr) -> Expr:
        op = self.take().text
        right = self.expression(NEGATION if op == "**" else BINARY_LEVEL[op] + 1)
        return Binary(op, left, right, offset=left.offset)

    def boolean(self, left: Expr) -> Expr:
        op = self.take().text
        return BoolOp(op, left, self.expression(BOOLEAN_LEVEL[op] + 1), offset=left.offset)

    def comparison(self, left: Expr) -> Expr:
        op = self.take().text
        right: Expr
        if op != "is":
            right = self.expression(COMPARISON + 1)
        else:
            op = "is not" if self.accept("not") else "is"
            right = NoneLiteral(offset=self.token.offset)
            if not self.accept("None"):
                self.unexpected(f"None after {op!r}")
        if self.token.text == "is" or self.token.text in _COMPARISON_SYMBOLS:
            raise self.source.error("comparisons do not chain", self.token.offset, "write a < b and b < c")
        return Compare(op, left, right, offset=left.offset)

    def ternary(self, body: Expr) -> Expr:
        self.take()
        condition = self.expression(OR)
        self.expect("else")
        return IfElse(body, condition, self.expression(TERNARY), offset=body.offset)

    def prefix(self, level: int) -> Expr:
        offset = self.token.offset
        if level <= NOT and self.accept("not"):
            return Unary("not", self.expression(NOT), offset=offset)
        if level < ATOM and self.accept("-"):
            return Unary("-", self.expression(NEGATION), offset=offset)
        return self.postfix(self.atom())

    def postfix(self, value: Expr) -> Expr:
        while True:
            if self.accept("."):
                if self.token.kind != "name":
                    self.unexpected("an attribute's name")
                value = Attribute(value, self.take().text, offset=value.offset)
            elif self.accept("["):
                value = Index(value, self.sequence("]", self.index_item), offset=value.offset)
                if not value.items:
                    raise self.source.error("an index is empty", value.offset)
            elif self.token.kind == "symbol" and self.token.text == "(":
                hint = "write functions first, as in abs(a), and attributes such as x.shape or x.dtype without brackets"
                raise self.source.error("only a function's name can be called", self.token.offset, hint)
            else:
                return value

    def atom(self) -> Expr:
        token = self.take()
        offset = token.offset
        if token.kind in ("name", "operator"):
            if self.accept("("):
                return self.call(token.text, offset)
            return Name(token.text, offset=offset)
        if token.kind == "int":
            return Int(self._int(token), offset=offset)
        if token.kind == "float":
            value = float(token.text)
            if math.isinf(value):
                raise self.source.error(f"{token.text} is too large for a float", offset)
            return Float(value, offset=offset)
        if token.kind == "string":
            return Str(re.sub(r"\\(.)", r"\1", token.text[1:-1]), offset=offset)
        if token.kind == "keyword" and token.text in ("True", "False"):
            return Bool(token.text == "True", offset=offset)
        if token.kind == "keyword" and token.text == "None":
            return NoneLiteral(offset=offset)
        if token.kind == "symbol" and token.text == "[":
            return ListOf(self.sequence("]", self.item), offset=offset)
        if token.kind == "symbol" and token.text == "(":
            return self.parenthesised(offset)
        self.position -= 1
        return self.unexpected("a value")

    def call(self, name: str, offset: int) -> Expr:
        args: list[Expr] = []
        kwargs: dict[str, Expr] = {}

        def argument() -> Expr:
            token = self.token
            if token.kind == "name" and self.tokens[self.position + 1].text == "=":
                self.position += 2
                if token.text in kwargs:
                    raise self.source.error(f"{token.text} is given twice", token.offset)
                kwargs[token.text] = value = self.item()
                return value
            if kwargs:
                raise self.source.error("a positional argument follows a keyword", token.offset)
            value = self.item()
            args.append(value)
            return value

        self.sequence(")", argument)
        return Call(name, tuple(args), tuple(kwargs.items()), offset=offset)

    def parenthesised(self, offset: int) -> Expr:
        """Parse after `(`: `(a)` is a; `(a,)`, `(a, b)` and `()` are lists, as in an array-API `axis=(0, 1)`."""
        items = self.sequence(")", self.item)
        single = len(items) == 1 and self.tokens[self.position - 2].text != ","
        return replace(items[0], offset=offset) if single else ListOf(items, offset=offset)

    def sequence(self, end: str, item: Callable[[], Expr]) -> tuple[Expr, ...]:
        items: list[Expr] = []
        while not self.accept(end):
            if items:
                if not self.accept(","):
                    self.unexpected(f"',' or {end!r}")
                if self.accept(end):
                    break
            items.append(item())
        return tuple(items)

    def item(self) -> Expr:
        return self.expression(TERNARY)

    def index_item(self) -> Expr:
        offset = self.token.offset
        if self.accept("..."):
            return Dots(offset=offset)
        start = self.bound()
        if not self.accept(":"):
            return start if start is not None else self.unexpected("an index")
        stop = self.bound()
        return Slice(start, stop, self.bound() if self.accept(":") else None, offset=offset)

    def bound(self) -> Expr | None:
        absent = self.token.kind == "symbol" and self.token.text in (":", ",", "]")
        return None if absent else self.item()

    def _int(self, token: _Token) -> int:
        # The length comes first: Python raises its own error for thousands of digits.
        if len(token.text) > 20 or int(token.text) >= 2**63:
            raise self.source.error("the number does not fit in 64 bits", token.offset)
        return int(token.text)

    def _refuse_deep(self, root: Expr) -> None:
        """Raise if the tree is too deep: a long chain `a + b + c + ...` is deep without nesting the parser."""
        level, depth = [root], 0
        while level:
            depth += 1
            if depth > MAX_DEPTH:
                raise self._too_deep(level[0].offset)
            level = [child for node in level for child in node.children()]

    def _too_deep(self, offset: int) -> RuleError:
        return self.source.error(f"the rule is nested deeper than {MAX_DEPTH} levels", offset, "make it shorter")


def _tokens(source: Source) -> list[_Token]:
    tokens: list[_Token] = []
    offset = 0
    while offset < len(source.text):
        match = _TOKEN.match(source.text, offset)
        if match is None:
            quote = source.text[offset] in "\"'"
            what = "a string that ends, with no escape but \\\\ and its quote" if quote else "an expression"
            raise source.error(f"expected {what}, got {source.text[offset]!r}", offset)
        kind, text = str(match.lastgroup), match.group()
        if kind != "space":
            tokens.append(_Token("keyword" if text in _KEYWORDS else kind, text, offset))
        offset = match.end()
    return [*tokens, _Token("end", "", len(source.text))]
