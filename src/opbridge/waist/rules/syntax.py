"""The syntax tree of a rule and its printed form, with `parse_expression(str(tree)) == tree`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, fields, replace
from typing import Any

TERNARY, OR, AND, NOT, COMPARISON, SUM, PRODUCT, NEGATION, POWER, ATOM = range(10)
"""How tightly an operator binds; an operand that binds less tightly than its position requires gets parentheses."""

BINARY_LEVEL = {"+": SUM, "-": SUM, "*": PRODUCT, "/": PRODUCT, "//": PRODUCT, "%": PRODUCT, "@": PRODUCT, "**": POWER}
BOOLEAN_LEVEL = {"or": OR, "and": AND}


@dataclass(frozen=True, slots=True)
class Expr:
    """A node; `offset` is its position in the parsed text."""

    offset: int = field(default=0, compare=False, repr=False, kw_only=True)

    @property
    def level(self) -> int:
        """How tightly the node binds."""
        return ATOM

    def children(self) -> Iterator[Expr]:
        """Yield the direct children."""
        for item in fields(self):
            value = getattr(self, item.name)
            for child in value if isinstance(value, tuple) else (value,):
                node = child[1] if isinstance(child, tuple) else child
                if isinstance(node, Expr):
                    yield node

    def walk(self) -> Iterator[Expr]:
        """Yield this node and all below it, without recursion, so that any depth can be measured."""
        waiting = [self]
        while waiting:
            node = waiting.pop()
            yield node
            waiting.extend(node.children())

    def rewritten(self, change: Callable[[Expr], Expr]) -> Expr:
        """Return the tree with `change` applied to every node, bottom up."""

        def rewrite(value: object) -> Any:
            if isinstance(value, Expr):
                return value.rewritten(change)
            return tuple(map(rewrite, value)) if isinstance(value, tuple) else value

        return change(replace(self, **{item.name: rewrite(getattr(self, item.name)) for item in fields(self)}))


@dataclass(frozen=True, slots=True)
class Name(Expr):
    """A name."""

    id: str

    def __str__(self) -> str:
        return self.id


@dataclass(frozen=True, slots=True)
class Int(Expr):
    """An integer."""

    value: int

    def __str__(self) -> str:
        return str(self.value)


@dataclass(frozen=True, slots=True)
class Float(Expr):
    """A float."""

    value: float

    def __str__(self) -> str:
        return repr(self.value)


@dataclass(frozen=True, slots=True)
class Bool(Expr):
    """`True` or `False`."""

    value: bool

    def __str__(self) -> str:
        return str(self.value)


@dataclass(frozen=True, slots=True)
class Str(Expr):
    """A string."""

    value: str

    def __str__(self) -> str:
        return '"' + self.value.replace("\\", "\\\\").replace('"', '\\"') + '"'


@dataclass(frozen=True, slots=True)
class NoneLiteral(Expr):
    """`None`."""

    def __str__(self) -> str:
        return "None"


@dataclass(frozen=True, slots=True)
class Dots(Expr):
    """The `...` in an index."""

    def __str__(self) -> str:
        return "..."


@dataclass(frozen=True, slots=True)
class Attribute(Expr):
    """An attribute, as in `x.shape`."""

    value: Expr
    name: str

    def __str__(self) -> str:
        # `1.shape` would parse as the number `1.` and a name.
        value = f"({self.value})" if isinstance(self.value, (Int, Float)) else _operand(self.value, ATOM)
        return f"{value}.{self.name}"


@dataclass(frozen=True, slots=True)
class Slice(Expr):
    """A slice in an index."""

    start: Expr | None
    stop: Expr | None
    step: Expr | None

    def __str__(self) -> str:
        start, stop, step = ("" if part is None else str(part) for part in (self.start, self.stop, self.step))
        # `n::abs(k)` would parse as a call of the operator `abs` of the library `n`.
        return f"{start}:{stop or (start and ' ')}:{step}" if step else f"{start}:{stop}"


@dataclass(frozen=True, slots=True)
class Index(Expr):
    """An index with one item or several."""

    value: Expr
    items: tuple[Expr, ...]

    def __str__(self) -> str:
        return f"{_operand(self.value, ATOM)}[{_joined(self.items)}]"


@dataclass(frozen=True, slots=True)
class ListOf(Expr):
    """A list or tuple."""

    items: tuple[Expr, ...]

    def __str__(self) -> str:
        return f"[{_joined(self.items)}]"


@dataclass(frozen=True, slots=True)
class Unary(Expr):
    """`-x` or `not x`."""

    op: str
    operand: Expr

    @property
    def level(self) -> int:
        """How tightly the operator binds."""
        return NOT if self.op == "not" else NEGATION

    def __str__(self) -> str:
        return f"{'not ' if self.op == 'not' else self.op}{_operand(self.operand, self.level)}"


@dataclass(frozen=True, slots=True)
class Binary(Expr):
    """An arithmetic operation."""

    op: str
    left: Expr
    right: Expr

    @property
    def level(self) -> int:
        """How tightly the operator binds."""
        return BINARY_LEVEL[self.op]

    def __str__(self) -> str:
        # As in Python, `**` is right-associative and allows a bare minus there; all others are left-associative.
        left, right = (ATOM, NEGATION) if self.op == "**" else (self.level, self.level + 1)
        return f"{_operand(self.left, left)} {self.op} {_operand(self.right, right)}"


@dataclass(frozen=True, slots=True)
class Compare(Expr):
    """One comparison; `is` and `is not` have `None` on their right."""

    op: str
    left: Expr
    right: Expr

    @property
    def level(self) -> int:
        """How tightly the operator binds."""
        return COMPARISON

    def __str__(self) -> str:
        return f"{_operand(self.left, COMPARISON + 1)} {self.op} {_operand(self.right, COMPARISON + 1)}"


@dataclass(frozen=True, slots=True)
class BoolOp(Expr):
    """`and` or `or`."""

    op: str
    left: Expr
    right: Expr

    @property
    def level(self) -> int:
        """How tightly the operator binds."""
        return BOOLEAN_LEVEL[self.op]

    def __str__(self) -> str:
        return f"{_operand(self.left, self.level)} {self.op} {_operand(self.right, self.level + 1)}"


@dataclass(frozen=True, slots=True)
class IfElse(Expr):
    """A conditional expression."""

    body: Expr
    condition: Expr
    orelse: Expr

    @property
    def level(self) -> int:
        """How tightly the operator binds."""
        return TERNARY

    def __str__(self) -> str:
        return f"{_operand(self.body, OR)} if {_operand(self.condition, OR)} else {self.orelse}"


@dataclass(frozen=True, slots=True)
class Call(Expr):
    """A call of a function by its plain name, or of an operator as `ns::name` or `ns::name.overload`."""

    name: str
    args: tuple[Expr, ...]
    kwargs: tuple[tuple[str, Expr], ...] = ()

    def __str__(self) -> str:
        return f"{self.name}({', '.join([*map(str, self.args), *(f'{key}={value}' for key, value in self.kwargs)])})"


def _operand(node: Expr, level: int) -> str:
    return f"({node})" if node.level < level else str(node)


def _joined(nodes: tuple[Expr, ...]) -> str:
    return ", ".join(map(str, nodes))
