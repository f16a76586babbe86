"""The checks of a derivative's formula: each name, function and keyword in it, and the values that it needs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from opbridge.base.errors import RuleError, did_you_mean
from opbridge.waist.rules.arrays import ARRAY_FUNCTIONS
from opbridge.waist.rules.dtypes import DTYPE_CODES
from opbridge.waist.rules.parser import MAX_DEPTH, Source, parse_expression
from opbridge.waist.rules.statements import Statement, statements
from opbridge.waist.rules.syntax import (
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
from opbridge.waist.rules.value_kinds import ELEMENTS, Kind, kind_of
from opbridge.waist.schema import Argument, Schema

_NUMBERS = frozenset({Kind.INT, Kind.FLOAT})
_ARRAYLIKE = _NUMBERS | {Kind.TENSOR, Kind.ANY}
_ATTRIBUTES = {
    "shape": Kind.INTS,
    "ndim": Kind.INT,
    "numel": Kind.INT,
    "dtype": Kind.DTYPE,
    "T": Kind.TENSOR,
    "mT": Kind.TENSOR,
}
_LARGEST = 2000
"""Nodes of a formula, which all become operators of a framework."""
_LISTS = {single: kind for kind, single in ELEMENTS.items()}


@dataclass(frozen=True)
class Formula:
    """An expression and the values of the forward call that it needs.

    Adapters save these values for backward, and nothing else.
    """

    expr: Expr
    arguments: tuple[str, ...]
    grads: tuple[int, ...]
    results: tuple[int, ...]

    def __str__(self) -> str:
        return str(self.expr)


@dataclass(frozen=True)
class Meaning:
    """The meaning of a name in a formula: an argument, or the gradients or values of outputs."""

    kind: Kind
    argument: str = ""
    grads: tuple[int, ...] = ()
    results: tuple[int, ...] = ()


def meanings(schema: Schema) -> dict[str, set[Meaning]]:
    """Return the meanings of every name that a formula can use; a formula must avoid names with two meanings."""
    names: dict[str, set[Meaning]] = {}

    def add(name: str, meaning: Meaning) -> None:
        names.setdefault(name, set()).add(meaning)

    for argument in schema.arguments:
        add(argument.name, Meaning(kind_of(argument.type), argument.name))
    everything = tuple(range(len(schema.returns)))
    add("grads", Meaning(Kind.TENSORS, grads=everything))
    add("results", Meaning(Kind.TENSORS, results=everything))
    for index, output in enumerate(schema.returns):
        # An output that is an argument adds no name of its own, so the argument's name stays unambiguous.
        named = [output.name] if output.name and output.alias is None else []
        kind = kind_of(output.type)
        for name in [*named, *(["result"] if index == 0 else [])]:
            add(name, Meaning(kind, results=(index,)))
        for name in [*(f"grad_{name}" for name in named), *(["grad"] if index == 0 else [])]:
            add(name, Meaning(kind, grads=(index,)))
    return names


def formula_environment(
    schema: Schema, arguments: Mapping[str, object], grads: Mapping[int, object], results: Mapping[int, object]
) -> dict[str, object]:
    """Return the values of a formula's names, for the given arguments, gradients and results."""
    environment: dict[str, object] = {}
    for name, found in meanings(schema).items():
        if len(found) > 1:
            continue
        (meaning,) = found
        if meaning.argument:
            if meaning.argument in arguments:
                environment[name] = arguments[meaning.argument]
        elif name in ("grads", "results"):
            values = grads if name == "grads" else results
            environment[name] = tuple(values.get(index) for index in range(len(schema.returns)))
        else:
            values, (index,) = (grads, meaning.grads) if meaning.grads else (results, meaning.results)
            if index in values:
                environment[name] = values[index]
    return environment


def parse_formula(
    source: Source,
    schema: Schema,
    operators: Mapping[str, Schema],
    targets: tuple[str, ...],
    known: dict[str, set[Meaning]],
) -> Formula:
    """Parse the formula for the gradients of `targets`, with one value for each.

    `known` holds the meanings of the schema.

    Raises:
        RuleError: The formula is invalid or does not fit the schema.
    """
    expr = _with_parts(source, known)
    expr = expr.rewritten(lambda node: qualified(node, schema, operators))
    checker = FormulaChecker(schema, operators, source, known)
    checker.check_values(expr, targets)
    return checker.formula(expr)


def _with_parts(source: Source, known: Mapping[str, set[Meaning]]) -> Expr:
    """Return the value of a formula with its named parts put in place of their names."""
    found = statements(source.text)
    if len(found) < 2 and not any(statement.name for statement in found):
        return parse_expression(source.text, source.where)
    *lets, last = found
    if last.name:
        raise source.error(f"'{last.name}' is named and then not used", last.offset, "the last line is the value")
    parts: dict[str, Expr] = {}
    for statement in lets:
        if not statement.name or statement.name in parts or statement.name in known:
            message = f"'{statement.name}' is taken already" if statement.name else "expected a name for this part"
            raise source.error(message, statement.offset, "name = ..., on a separate line or followed by `;`")
        parts[statement.name] = _in_full(statement, parts, source)
    return _in_full(last, parts, source)


def _in_full(statement: Statement, parts: Mapping[str, Expr], source: Source) -> Expr:
    expr = statement.parsed(source)
    sizes = (_size(parts[node.id]) if isinstance(node, Name) and node.id in parts else 1 for node in expr.walk())
    found = expr.rewritten(lambda node: parts.get(node.id, node) if isinstance(node, Name) else node)
    if sum(sizes) > _LARGEST or depth(found) > MAX_DEPTH:
        hint = "compute it in a separate operator, and write backward: NAME"
        raise source.error("a formula of such size, with its parts written out, is not read", statement.offset, hint)
    return found


def _size(expr: Expr) -> int:
    return sum(1 for _ in expr.walk())


def depth(expr: Expr) -> int:
    """Return how many levels the tree has."""
    level, found = [expr], 0
    while level:
        found += 1
        level = [child for node in level for child in node.children()]
    return found


def qualified(node: Expr, schema: Schema, operators: Mapping[str, Schema]) -> Expr:
    """Return a call of an operator of the same library with its full name; array functions take precedence."""
    if (
        not isinstance(node, Call)
        or node.name in ARRAY_FUNCTIONS
        or f"{schema.namespace}::{node.name}" not in operators
    ):
        return node
    return Call(f"{schema.namespace}::{node.name}", node.args, node.kwargs, offset=node.offset)


class FormulaChecker:
    """A checker of one formula, which records the arguments, gradients and results that it uses."""

    def __init__(
        self, schema: Schema, operators: Mapping[str, Schema], source: Source, known: dict[str, set[Meaning]]
    ) -> None:
        self.schema = schema
        self.operators = operators
        self.source = source
        self.meanings = known
        self.arguments: set[str] = set()
        self.grads: set[int] = set()
        self.results: set[int] = set()

    def formula(self, expr: Expr) -> Formula:
        """Return the formula with everything that it uses."""
        order = [argument.name for argument in self.schema.arguments if argument.name in self.arguments]
        return Formula(expr, tuple(order), tuple(sorted(self.grads)), tuple(sorted(self.results)))

    def error(self, message: str, at: Expr, hint: str = "") -> RuleError:
        """Return an error that points at a node."""
        return self.source.error(message, at.offset, hint)

    def check_values(self, expr: Expr, targets: tuple[str, ...]) -> None:
        """Check that the expression gives one gradient of the right kind for each target."""
        kind = self.kind(expr)
        wanted = [kind_of(self.schema.argument(target).type) for target in targets]
        called = self.operators.get(expr.name) if isinstance(expr, Call) else None
        values = len(expr.items) if isinstance(expr, ListOf) else len(called.returns) if called else None
        if len(targets) > 1 and (values or len(targets)) == len(targets) and kind in (Kind.TENSORS, Kind.ANY):
            return
        if len(targets) == 1 and kind in (*wanted, Kind.ANY, Kind.NONE):
            return
        got = f"{values} values" if values is not None else kind.value
        expected = wanted[0].value if len(targets) == 1 else f"{len(targets)} tensors"
        hint = f"zeros_like({targets[0]}) is a gradient of zero" if kind in _NUMBERS else ""
        raise self.error(f"expected {expected} for the gradient of {', '.join(targets)}, got {got}: {expr}", expr, hint)

    def kind(self, expr: Expr) -> Kind:
        """Return the kind of an expression, checking all of it."""
        match expr:
            case Int():
                return Kind.INT
            case Float():
                return Kind.FLOAT
            case Bool():
                return Kind.BOOL
            case Str():
                return Kind.STR
            case NoneLiteral():
                return Kind.NONE
            case Name():
                return self.name(expr)
            case Attribute():
                return self.attribute(expr)
            case Index():
                return self.index(expr)
            case ListOf(items):
                return self.list_of([self.kind(item) for item in items], expr)
            case Unary("not", operand):
                self.condition(operand, f"logical_not({operand})")
                return Kind.BOOL
            case Unary(_, operand):
                return self.arithmetic((self.kind(operand),), expr)
            case Binary():
                return self.binary(expr)
            case Compare():
                return self.compare(expr)
            case BoolOp(op, left, right):
                for side in (left, right):
                    self.condition(side, f"logical_{op}({left}, {right})")
                return Kind.BOOL
            case IfElse(body, condition, orelse):
                self.condition(condition, f"where({condition}, {body}, {orelse})")
                return self.joined([self.kind(body), self.kind(orelse)], expr)
            case Call():
                return self.call(expr)
        raise self.error(f"{expr} has no meaning here", expr)

    def condition(self, expr: Expr, hint: str) -> None:
        """Check that an expression can be a condition; `hint` shows the form for arrays."""
        kind = self.kind(expr)
        if kind is Kind.TENSOR:
            raise self.error(f"an array is not a condition: {expr}", expr, f"write {hint}")
        if kind not in (Kind.BOOL, Kind.ANY):
            raise self.error(f"expected a condition, got {kind.value}: {expr}", expr)

    def name(self, expr: Name) -> Kind:
        """Return the kind of a name and record its use."""
        found = self.meanings.get(expr.id)
        if not found:
            if expr.id in DTYPE_CODES:
                return Kind.DTYPE
            hint = did_you_mean(expr.id, [*self.meanings, *DTYPE_CODES]) or f"there are {', '.join(self.meanings)}"
            known = f"an argument, gradient or result of {self.schema.full_name}"
            raise self.error(f"'{expr.id}' is not {known}", expr, hint)
        if len(found) > 1:
            hint = "write grads[i] or results[i] for those of an output, or rename the argument"
            raise self.error(f"'{expr.id}' is an argument and an output's gradient or value", expr, hint)
        (meaning,) = found
        return self.used(meaning)

    def used(self, meaning: Meaning) -> Kind:
        """Record that the formula uses a meaning, and return its kind."""
        self.arguments |= {meaning.argument} - {""}
        self.grads |= set(meaning.grads)
        self.results |= set(meaning.results)
        return meaning.kind

    def attribute(self, expr: Attribute) -> Kind:
        """Return the kind of an array attribute."""
        kind = self.kind(expr.value)
        if kind not in (Kind.TENSOR, Kind.ANY):
            raise self.error(f"expected an array before .{expr.name}, got {kind.value}", expr.value)
        if expr.name not in _ATTRIBUTES:
            hint = did_you_mean(expr.name, _ATTRIBUTES) or f"an array has {', '.join(_ATTRIBUTES)}"
            if expr.name in ARRAY_FUNCTIONS:
                hint = f"write {expr.name}({expr.value})"
            raise self.error(f"an array has no attribute '{expr.name}' in a formula", expr, hint)
        return _ATTRIBUTES[expr.name]

    def index(self, expr: Index) -> Kind:
        """Return the kind of an indexed array, list, `grads[i]` or `results[i]`."""
        match expr:
            case Index(Name("grads" | "results" as group), (Int(value),)) if len(self.meanings[group]) == 1:
                return self.output(group, value, expr)
        kind = self.kind(expr.value)
        for item in expr.items:
            self.check_index(item)
        if kind in (Kind.TENSOR, Kind.ANY):
            return kind
        if kind not in ELEMENTS or len(expr.items) != 1 or isinstance(expr.items[0], (Dots, NoneLiteral)):
            raise self.error(f"{kind.value} has no such index: {expr}", expr)
        return kind if isinstance(expr.items[0], Slice) else ELEMENTS[kind]

    def check_index(self, item: Expr) -> None:
        """Check one index: an int, a slice, None or `...`."""
        if isinstance(item, (Dots, NoneLiteral)):
            return
        for bound in item.children() if isinstance(item, Slice) else (item,):
            if self.kind(bound) not in (Kind.INT, Kind.ANY) and not isinstance(bound, NoneLiteral):
                raise self.error(f"expected an int in an index, got {bound}", bound, "take(x, indices, axis) gathers")

    def output(self, group: str, index: int, expr: Expr) -> Kind:
        """Return the kind of `grads[i]` or `results[i]` and record its use."""
        outputs = self.schema.returns
        if index >= len(outputs):
            raise self.error(f"{self.schema.full_name} has {len(outputs)} outputs, there is no {expr}", expr)
        kind = kind_of(outputs[index].type)
        return self.used(Meaning(kind, grads=(index,)) if group == "grads" else Meaning(kind, results=(index,)))

    def list_of(self, kinds: list[Kind], expr: Expr) -> Kind:
        """Return the kind of a list from the kinds of its items."""
        if not kinds:
            return Kind.INTS
        kind = self.joined(kinds, expr)
        return Kind.TENSORS if kind is Kind.ANY else _LISTS.get(kind, Kind.LIST)

    def joined(self, kinds: Iterable[Kind], expr: Expr) -> Kind:
        """Return the common kind of several values: numbers widen, an array absorbs, None adds nothing."""
        left = set(kinds) - {Kind.NONE} or {Kind.NONE}
        for absorbing in (Kind.TENSOR, Kind.FLOAT):
            if absorbing in left and left <= _ARRAYLIKE:
                return absorbing
        if len(left - {Kind.ANY}) > 1:
            raise self.error(f"{' and '.join(sorted(kind.value for kind in left))} do not go together: {expr}", expr)
        return next(iter(left - {Kind.ANY}), Kind.ANY)

    def arithmetic(self, kinds: tuple[Kind, ...], expr: Expr) -> Kind:
        """Return the kind of an arithmetic result of arrays and numbers."""
        if not set(kinds) <= _ARRAYLIKE:
            got = " and ".join(kind.value for kind in kinds)
            raise self.error(f"expected arrays and numbers, got {got}: {expr}", expr)
        return self.joined(kinds, expr)

    def binary(self, expr: Binary) -> Kind:
        """Return the kind of a binary expression."""
        kinds = (self.kind(expr.left), self.kind(expr.right))
        if expr.op == "+" and kinds == (Kind.INTS, Kind.INTS):
            return Kind.INTS
        if expr.op == "@" and not set(kinds) <= {Kind.TENSOR, Kind.ANY}:
            raise self.error(f"'@' takes two arrays: {expr}", expr)
        kind = self.arithmetic(kinds, expr)
        return Kind.FLOAT if expr.op == "/" and kind is Kind.INT else kind

    def compare(self, expr: Compare) -> Kind:
        """Return the kind of a comparison, which is an array if a side is one."""
        left, right = self.kind(expr.left), self.kind(expr.right)
        if expr.op in ("is", "is not"):
            return Kind.BOOL
        if Kind.NONE in (left, right):
            raise self.error(f"None does not compare with '{expr.op}': {expr}", expr, "write x is None")
        if Kind.TENSOR in (left, right) and {left, right} <= _ARRAYLIKE:
            return Kind.TENSOR
        if self.joined((left, right), expr) not in _ARRAYLIKE and expr.op not in ("==", "!="):
            raise self.error(f"{left.value} and {right.value} do not compare with '{expr.op}': {expr}", expr)
        return Kind.BOOL

    def call(self, expr: Call) -> Kind:
        """Return the kind of a call; an `aten::` call may return anything."""
        if expr.name in ARRAY_FUNCTIONS:
            self.check_array_call(expr)
            return Kind.TENSOR
        schema = self.operators.get(expr.name)
        if schema is not None:
            self.check_operator_call(expr, schema)
            return kind_of(schema.returns[0].type) if len(schema.returns) == 1 else Kind.TENSORS
        for value in expr.children():
            self.kind(value)
        if expr.name.startswith("aten::"):
            return Kind.ANY  # the framework that runs the formula knows ATen's operators
        known = [*ARRAY_FUNCTIONS, *self.operators]
        hint = did_you_mean(expr.name, known) or "a formula calls array-API functions, operators and aten::name"
        raise self.error(f"unknown function '{expr.name}'", expr, hint)

    def check_array_call(self, expr: Call) -> None:
        """Check a call of an array function."""
        function = ARRAY_FUNCTIONS[expr.name]
        required = [parameter.name for parameter in function.parameters if parameter.required]
        names = [parameter.name for parameter in function.parameters]
        accepts = {parameter.name: parameter.accepts for parameter in function.parameters}
        for name, value in self.bound(expr, names, required, names, str(function)):
            kind = self.kind(value)
            if kind not in accepts[name] and kind is not Kind.ANY:
                raise self.error(f"{function} got {kind.value} for {name}: {value}", value)

    def check_operator_call(self, expr: Call, schema: Schema) -> None:
        """Check a call of an operator against its schema."""
        names = [argument.name for argument in schema.arguments]
        required = [argument.name for argument in schema.arguments if argument.default is None]
        positional = [argument.name for argument in schema.positional]
        for name, value in self.bound(expr, names, required, positional, str(schema)):
            kind, argument = self.kind(value), schema.argument(name)
            if not accepts_kind(argument, kind):
                raise self.error(
                    f"expected {argument.type} for {name}, got {kind.value}: {value}", value, f"in {schema}"
                )

    def bound(
        self, expr: Call, names: list[str], required: list[str], positional: list[str], signature: str
    ) -> list[tuple[str, Expr]]:
        """Return the values of a call with the parameter of each.

        Raises:
            RuleError: A parameter is missing, unknown, or given twice.
        """
        if len(expr.args) > len(positional):
            message = f"{expr.name}() takes {len(positional)} positional arguments, got {len(expr.args)}"
            raise self.error(message, expr, f"it is {signature}")
        pairs = [*zip(positional, expr.args, strict=False), *expr.kwargs]
        given: set[str] = set()
        for name, value in pairs:
            if name not in names:
                hint = did_you_mean(name, names) or f"it is {signature}"
                raise self.error(f"{expr.name}() has no parameter '{name}'", value, hint)
            if name in given:
                raise self.error(f"{expr.name}() got {name} twice", value, f"it is {signature}")
            given.add(name)
        missing = [name for name in required if name not in given]
        if missing:
            raise self.error(f"{expr.name}() needs {', '.join(missing)}", expr, f"it is {signature}")
        return pairs


def accepts_kind(argument: Argument, kind: Kind) -> bool:
    """Return whether an argument accepts a kind of value; kinds that only a framework can check pass."""
    wanted = kind_of(argument.type)
    if kind is Kind.NONE:
        return argument.type.is_optional
    widened = wanted is Kind.FLOAT and kind in (Kind.INT, Kind.BOOL)
    return widened or kind in (wanted, Kind.ANY) or wanted in (Kind.OTHER, Kind.LIST) or kind is Kind.OTHER
