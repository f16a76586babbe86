"""The check of a shape or dtype expression against its schema, and its lowering to words for native/rule_vm.h.

The words of an expression are an operation, then its operands in the same form: prefix order. The kind of every operand
is known here, so the C++ reader needs no tags. One operation may exist for several kinds (`ADD` of ints and of floats);
its position decides which is meant.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum, auto

from opbridge.base.errors import RuleError, did_you_mean
from opbridge.waist.rules.dtypes import DTYPE_CODES
from opbridge.waist.rules.parser import Source
from opbridge.waist.rules.syntax import (
    Attribute,
    Binary,
    Bool,
    BoolOp,
    Call,
    Compare,
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
from opbridge.waist.rules.value_kinds import ELEMENTS, Kind, kind_of
from opbridge.waist.rules.words import word_of, words_of
from opbridge.waist.schema import Argument, Schema

Words = tuple[int, ...]


class Op(IntEnum):
    """The operations of rule_vm.h."""

    CONSTANT = 0
    ARGUMENT = auto()
    ITEM = auto()
    IF = auto()
    ADD = auto()
    SUBTRACT = auto()
    MULTIPLY = auto()
    DIVIDE = auto()
    FLOOR_DIVIDE = auto()
    CEIL_DIVIDE = auto()
    MODULO = auto()
    POWER = auto()
    NEGATE = auto()
    ABSOLUTE = auto()
    MINIMUM = auto()
    MAXIMUM = auto()
    TRUNCATE = auto()
    WIDEN = auto()
    RANK = auto()
    DIM = auto()
    LENGTH = auto()
    SIZE = auto()
    ELEMENT = auto()
    SUM = auto()
    PRODUCT = auto()
    LIST = auto()
    SHAPE = auto()
    CONCATENATE = auto()
    SLICE = auto()
    BROADCAST = auto()
    DTYPE = auto()
    PROMOTE = auto()
    IF_PRESENT = auto()
    EACH = auto()
    IS_NONE = auto()
    NOT = auto()
    AND = auto()
    OR = auto()
    COMPARE = auto()


class Relation(IntEnum):
    """The comparisons of a COMPARE."""

    EQUAL = 0
    NOT_EQUAL = auto()
    LESS = auto()
    LESS_EQUAL = auto()
    GREATER = auto()
    GREATER_EQUAL = auto()


class Comparable(IntEnum):
    """The type as which a COMPARE reads both of its sides."""

    INTEGERS = 0
    REALS = auto()
    TRUTHS = auto()
    DTYPES = auto()
    LISTS = auto()
    TEXTS = auto()


RELATIONS = dict(zip(("==", "!=", "<", "<=", ">", ">="), Relation, strict=True))
COMPARABLE = dict(
    zip((Kind.INT, Kind.FLOAT, Kind.BOOL, Kind.DTYPE, Kind.INTS, Kind.STR), Comparable, strict=True),
)

_ARITHMETIC = {
    "+": Op.ADD,
    "-": Op.SUBTRACT,
    "*": Op.MULTIPLY,
    "/": Op.DIVIDE,
    "//": Op.FLOOR_DIVIDE,
    "%": Op.MODULO,
    "**": Op.POWER,
}
_ONLY_INTS = (Op.FLOOR_DIVIDE, Op.MODULO, Op.POWER)
_NUMBERS = (Kind.INT, Kind.FLOAT)
_TENSOR_ATTRIBUTES = ("shape", "ndim", "numel", "dtype")


@dataclass(frozen=True, slots=True)
class Lowered:
    """The kind and the words of an expression."""

    kind: Kind
    words: Words


class Lowering:
    """The lowering of one rule, with errors that point into its text."""

    def __init__(self, schema: Schema, source: Source) -> None:
        self.schema = schema
        self.source = source
        self.arguments = {argument.name: index for index, argument in enumerate(schema.arguments)}

    def lower(self, expr: Expr, kind: Kind) -> Words:
        """Return the words of an expression that must be of this kind; an int widens to a float."""
        return self.coerced(self.any(expr), expr, kind)

    def coerced(self, lowered: Lowered, expr: Expr, kind: Kind) -> Words:
        """Return lowered words as `kind`, widening an int to a float.

        Raises:
            RuleError: The expression has another kind.
        """
        if lowered.kind is Kind.INT and kind is Kind.FLOAT:
            return (Op.WIDEN, *lowered.words)
        if lowered.kind is not kind:
            raise self.error(
                f"expected {kind.value}, got {lowered.kind.value}: {expr}", expr, _conversion(lowered, kind)
            )
        return lowered.words

    def any(self, expr: Expr) -> Lowered:
        """Lower an expression of any kind."""
        match expr:
            case Int(value):
                return Lowered(Kind.INT, (Op.CONSTANT, value))
            case Float(value):
                return Lowered(Kind.FLOAT, (Op.CONSTANT, word_of(value)))
            case Bool(value):
                return Lowered(Kind.BOOL, (Op.CONSTANT, int(value)))
            case Str(value):
                return Lowered(Kind.STR, (Op.CONSTANT, *words_of(value.encode())))
            case NoneLiteral():
                return Lowered(Kind.NONE, ())
            case Name():
                return self.name(expr)
            case Attribute():
                return self.attribute(expr)
            case Index():
                return self.index(expr)
            case ListOf(items):
                return Lowered(Kind.INTS, (Op.LIST, len(items), *self.each(items, Kind.INT)))
            case Unary("not", operand):
                return Lowered(Kind.BOOL, (Op.NOT, *self.lower(operand, Kind.BOOL)))
            case Unary("-", Int(value)):
                return Lowered(Kind.INT, (Op.CONSTANT, -value))
            case Unary(_, operand):
                number = self.number(operand)
                return Lowered(number.kind, (Op.NEGATE, *number.words))
            case Binary():
                return self.binary(expr)
            case Compare():
                return self.compare(expr)
            case BoolOp(op, left, right):
                return Lowered(Kind.BOOL, self.boolean(Op.AND if op == "and" else Op.OR, left, right))
            case IfElse():
                return self.if_else(expr)
            case Call():
                return self.call(expr)
        raise self.error(f"{expr} has no meaning here", expr)

    def error(self, message: str, at: Expr, hint: str = "") -> RuleError:
        """Return an error that points at a node."""
        return self.source.error(message, at.offset, hint)

    def each(self, items: tuple[Expr, ...], kind: Kind) -> Words:
        """Return the concatenated words of several expressions of one kind."""
        return tuple(word for item in items for word in self.lower(item, kind))

    def argument(self, expr: Expr) -> Argument | None:
        """Return the argument that an expression names, or None if it is not just a name."""
        index = self.arguments.get(expr.id) if isinstance(expr, Name) else None
        return None if index is None else self.schema.arguments[index]

    def name(self, expr: Name) -> Lowered:
        """Lower an argument or a dtype."""
        index = self.arguments.get(expr.id)
        if index is not None:
            kind = kind_of(self.schema.arguments[index].type)
            # A tensor is the argument's index, then a flag for an index into a list.
            if kind is Kind.TENSOR:
                return Lowered(kind, (index, 0))
            return Lowered(kind, (index,) if kind is Kind.TENSORS else (Op.ARGUMENT, index))
        if expr.id in DTYPE_CODES:
            return Lowered(Kind.DTYPE, (Op.CONSTANT, DTYPE_CODES[expr.id]))
        known = [*self.arguments, *DTYPE_CODES]
        hint = did_you_mean(expr.id, known) or f"the arguments are {', '.join(self.arguments) or 'none'}"
        raise self.error(f"'{expr.id}' is not an argument of {self.schema.full_name} and no dtype", expr, hint)

    def attribute(self, expr: Attribute) -> Lowered:
        """Lower the shape, ndim, numel or dtype of a tensor."""
        tensor = self.any(expr.value)
        if tensor.kind is not Kind.TENSOR:
            raise self.error(f"expected a tensor before .{expr.name}, got {tensor.kind.value}", expr.value)
        match expr.name:
            case "shape":
                return Lowered(Kind.INTS, (Op.SHAPE, *tensor.words))
            case "ndim":
                return Lowered(Kind.INT, (Op.RANK, *tensor.words))
            case "numel":
                return Lowered(Kind.INT, (Op.PRODUCT, Op.SHAPE, *tensor.words))
            case "dtype":
                return Lowered(Kind.DTYPE, (Op.DTYPE, *tensor.words))
        hint = did_you_mean(expr.name, _TENSOR_ATTRIBUTES) or f"a tensor has {', '.join(_TENSOR_ATTRIBUTES)}"
        raise self.error(f"a tensor has no attribute '{expr.name}' in this rule", expr, hint)

    def index(self, expr: Index) -> Lowered:
        """Lower an index into a shape, a list of values or a list of tensors."""
        value = self.any(expr.value)
        if value.kind is Kind.TENSOR:
            raise self.error(
                f"{expr.value} is a tensor, and this rule sees no values", expr, f"{expr.value}.shape[...]?"
            )
        if value.kind not in ELEMENTS or len(expr.items) != 1:
            raise self.error(f"expected one index of a shape or list, got {expr}", expr)
        item = expr.items[0]
        if isinstance(item, Slice):
            return self.slice(expr, value, item)
        index = self.lower(item, Kind.INT)
        if value.kind is Kind.TENSORS:
            return Lowered(Kind.TENSOR, (*value.words, 1, *index))
        # A single dimension or item is by far the most frequent index, and needs no temporary list.
        if value.words[0] == Op.SHAPE:
            return Lowered(Kind.INT, (Op.DIM, *value.words[1:], *index))
        if value.words[0] == Op.ARGUMENT:
            return Lowered(ELEMENTS[value.kind], (Op.ITEM, value.words[1], *index))
        return Lowered(Kind.INT, (Op.ELEMENT, *value.words, *index))

    def slice(self, expr: Index, value: Lowered, item: Slice) -> Lowered:
        """Lower a slice; a bit mask says which of its bounds are present."""
        if value.kind is not Kind.INTS:
            raise self.error(f"only a shape or list of ints has slices, got {value.kind.value}", expr)
        present = 0
        bounds: list[int] = []
        for bit, bound in enumerate((item.start, item.stop, item.step)):
            if bound is not None and not isinstance(bound, NoneLiteral):
                present |= 1 << bit
                bounds.extend(self.lower(bound, Kind.INT))
        return Lowered(Kind.INTS, (Op.SLICE, present, *value.words, *bounds))

    def number(self, expr: Expr) -> Lowered:
        """Lower an expression that must be a number."""
        return self.require_number(self.any(expr), expr)

    def require_number(self, lowered: Lowered, expr: Expr) -> Lowered:
        """Return the lowered expression, or raise if it is not a number."""
        if lowered.kind not in _NUMBERS:
            raise self.error(f"expected a number, got {lowered.kind.value}: {expr}", expr)
        return lowered

    def binary(self, expr: Binary) -> Lowered:
        """Lower arithmetic or the concatenation of shapes."""
        if expr.op not in _ARITHMETIC:
            raise self.error(f"'{expr.op}' is for arrays, not for sizes", expr)
        op = _ARITHMETIC[expr.op]
        left, right = self.any(expr.left), self.any(expr.right)
        if op is Op.ADD and left.kind is Kind.INTS:
            return Lowered(Kind.INTS, (Op.CONCATENATE, *left.words, *self.coerced(right, expr.right, Kind.INTS)))
        a, b = self.require_number(left, expr.left).kind, self.require_number(right, expr.right).kind
        kind = Kind.FLOAT if op is Op.DIVIDE else Kind.INT if op in _ONLY_INTS or a is b is Kind.INT else Kind.FLOAT
        return Lowered(kind, (op, *self.coerced(left, expr.left, kind), *self.coerced(right, expr.right, kind)))

    def compare(self, expr: Compare) -> Lowered:
        """Lower a comparison or a test for None."""
        if expr.op in ("is", "is not"):
            argument = self.argument(expr.left)
            if argument is None or not argument.type.is_optional:
                raise self.error(f"only an optional argument can be None, not {expr.left}", expr.left)
            words: Words = (Op.IS_NONE, self.arguments[argument.name])
            return Lowered(Kind.BOOL, words if expr.op == "is" else (Op.NOT, *words))
        left, right = self.any(expr.left), self.any(expr.right)
        kind = _common(left.kind, right.kind)
        if kind not in COMPARABLE or (expr.op not in ("==", "!=") and kind not in _NUMBERS):
            message = f"{left.kind.value} and {right.kind.value} do not compare with '{expr.op}': {expr}"
            hint = "write x is None" if Kind.NONE in (left.kind, right.kind) else ""
            raise self.error(message, expr, hint)
        relation, code = RELATIONS[expr.op], COMPARABLE[kind]
        return Lowered(Kind.BOOL, (Op.COMPARE, relation, code, *_widened(left, kind), *_widened(right, kind)))

    def boolean(self, op: Op, left: Expr, right: Expr) -> Words:
        """Return the words of `and` or `or`; the length of the right side allows skipping it."""
        skipped = self.lower(right, Kind.BOOL)
        return (op, *self.lower(left, Kind.BOOL), len(skipped), *skipped)

    def if_else(self, expr: IfElse) -> Lowered:
        """Lower a conditional expression; the length of each branch allows skipping it."""
        condition = self.lower(expr.condition, Kind.BOOL)
        body, orelse = self.any(expr.body), self.any(expr.orelse)
        kind = _common(body.kind, orelse.kind)
        if kind not in COMPARABLE or kind is Kind.STR:
            raise self.error(
                f"expected two numbers, bools, dtypes or shapes, got {body.kind.value} and {orelse.kind.value}", expr
            )
        a, b = _widened(body, kind), _widened(orelse, kind)
        return Lowered(kind, (Op.IF, *condition, len(a), *a, len(b), *b))

    def call(self, expr: Call) -> Lowered:
        """Lower a call of one of the functions for sizes."""
        function = _FUNCTIONS.get(expr.name)
        if function is None:
            hint = did_you_mean(expr.name, _FUNCTIONS) or f"the functions of sizes are {', '.join(_FUNCTIONS)}"
            raise self.error(f"unknown function '{expr.name}'", expr, hint)
        if expr.kwargs:
            raise self.error(f"{expr.name}() takes no keywords", expr)
        if not function.least <= len(expr.args) <= (function.most or len(expr.args)):
            wanted = f"{function.least} or more" if function.most is None else str(function.least)
            raise self.error(f"{expr.name}() takes {wanted} arguments, got {len(expr.args)}", expr)
        return function.lower(self, expr.args)

    def extreme(self, op: Op, args: tuple[Expr, ...]) -> Lowered:
        """Lower `min` or `max`."""
        numbers = [self.number(arg) for arg in args]
        kind = Kind.INT if all(number.kind is Kind.INT for number in numbers) else Kind.FLOAT
        words = _widened(numbers[0], kind)
        for number in numbers[1:]:
            words = (op, *words, *_widened(number, kind))
        return Lowered(kind, words)

    def absolute(self, args: tuple[Expr, ...]) -> Lowered:
        """Lower `abs`."""
        number = self.number(args[0])
        return Lowered(number.kind, (Op.ABSOLUTE, *number.words))

    def truncate(self, args: tuple[Expr, ...]) -> Lowered:
        """Lower `int`."""
        number = self.number(args[0])
        return number if number.kind is Kind.INT else Lowered(Kind.INT, (Op.TRUNCATE, *number.words))

    def length(self, args: tuple[Expr, ...]) -> Lowered:
        """Lower `len`."""
        value = self.any(args[0])
        if value.kind is Kind.TENSORS:
            return Lowered(Kind.INT, (Op.LENGTH, *value.words))
        if value.kind in (Kind.INTS, Kind.FLOATS, Kind.BOOLS, Kind.LIST):
            listed = value.words[0] == Op.ARGUMENT
            return Lowered(Kind.INT, (Op.LENGTH, value.words[1]) if listed else (Op.SIZE, *value.words))
        raise self.error(f"expected a shape or list, got {value.kind.value}: {args[0]}", args[0])

    def reduce(self, op: Op, args: tuple[Expr, ...]) -> Lowered:
        """Lower `sum` or `prod`."""
        return Lowered(Kind.INT, (op, *self.lower(args[0], Kind.INTS)))

    def ceil_divide(self, args: tuple[Expr, ...]) -> Lowered:
        """Lower `ceil_div`."""
        return Lowered(Kind.INT, (Op.CEIL_DIVIDE, *self.each(args, Kind.INT)))

    def combine(self, op: Op, kind: Kind, property_: Op, args: tuple[Expr, ...]) -> Lowered:
        """Lower `broadcast` or `promote` of tensors, lists of tensors, and shapes or dtypes.

        A missing tensor adds nothing.
        """
        words: list[int] = [op, len(args)]
        for arg in args:
            argument, lowered = self.argument(arg), self.any(arg)
            if lowered.kind is Kind.TENSORS:
                words.extend((Op.EACH, *lowered.words))
            elif lowered.kind is Kind.TENSOR and argument is not None and argument.type.is_optional:
                words.extend((Op.IF_PRESENT, lowered.words[0]))
            elif lowered.kind is Kind.TENSOR:
                words.extend((property_, *lowered.words))
            elif lowered.kind is kind:
                words.extend(lowered.words)
            else:
                raise self.error(f"expected a tensor or {kind.value}, got {lowered.kind.value}: {arg}", arg)
        return Lowered(kind, tuple(words))


@dataclass(frozen=True, slots=True)
class _Function:
    lower: Callable[[Lowering, tuple[Expr, ...]], Lowered]
    least: int
    most: int | None


_FUNCTIONS = {
    "min": _Function(lambda to, args: to.extreme(Op.MINIMUM, args), 2, None),
    "max": _Function(lambda to, args: to.extreme(Op.MAXIMUM, args), 2, None),
    "abs": _Function(Lowering.absolute, 1, 1),
    "int": _Function(Lowering.truncate, 1, 1),
    "len": _Function(Lowering.length, 1, 1),
    "sum": _Function(lambda to, args: to.reduce(Op.SUM, args), 1, 1),
    "prod": _Function(lambda to, args: to.reduce(Op.PRODUCT, args), 1, 1),
    "ceil_div": _Function(Lowering.ceil_divide, 2, 2),
    "broadcast": _Function(lambda to, args: to.combine(Op.BROADCAST, Kind.INTS, Op.SHAPE, args), 1, None),
    "promote": _Function(lambda to, args: to.combine(Op.PROMOTE, Kind.DTYPE, Op.DTYPE, args), 1, None),
}


def _common(a: Kind, b: Kind) -> Kind | None:
    if a is b:
        return a
    return Kind.FLOAT if a in _NUMBERS and b in _NUMBERS else None


def _widened(lowered: Lowered, kind: Kind) -> Words:
    return (Op.WIDEN, *lowered.words) if lowered.kind is Kind.INT and kind is Kind.FLOAT else lowered.words


def _conversion(got: Lowered, wanted: Kind) -> str:
    match (got.kind, wanted):
        case (Kind.FLOAT, Kind.INT):
            return "int() drops the fraction, // divides without one"
        case (Kind.TENSOR, Kind.INTS):
            return "write .shape"
        case (Kind.TENSOR, Kind.DTYPE):
            return "write .dtype"
    return ""
