"""Write derivative formulas as the `bprop` of MindSpore primitives: Python text, which Graph mode reads."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from opbridge.base.errors import UnsupportedError
from opbridge.frameworks.mindspore.cell import returns_one
from opbridge.frameworks.mindspore.formula_functions import FUNCTIONS, as_gradient, unknown_gradient
from opbridge.frameworks.mindspore.formula_shapes import matrix_transpose, transpose
from opbridge.frameworks.mindspore.formula_values import item, numel
from opbridge.waist.rules import ARRAY_FUNCTIONS, DTYPE_CODES, Derivative
from opbridge.waist.rules.formulas import meanings
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
from opbridge.waist.schema import Argument, Schema

HELPERS: Mapping[str, Callable[..., object]] = {
    **{f"array_{name}": function for name, function in FUNCTIONS.items()},
    **{helper.__name__: helper for helper in (as_gradient, item, matrix_transpose, numel, transpose, unknown_gradient)},
}
"""The functions that the text calls in addition to operators."""

_OPERATORS: Mapping[str, str] = {
    "+": "add",
    "-": "subtract",
    "*": "multiply",
    "/": "divide",
    "//": "floor_divide",
    "%": "remainder",
    "**": "pow",
    "@": "matmul",
    "==": "equal",
    "!=": "not_equal",
    "<": "less",
    "<=": "less_equal",
    ">": "greater",
    ">=": "greater_equal",
}


class BpropText:
    """The text of a function `make`, which takes the attributes and returns the bprop.

    Arguments are named `a_name`, so that no user name clashes with a Python name. The text needs the operators and
    element types in `operators` and `dtypes`, under the names given there.
    """

    def __init__(self, schema: Schema, derivatives: tuple[Derivative, ...], kinds: tuple[object, ...]) -> None:
        self._schema = schema
        self._meanings = meanings(schema)
        self._kinds = dict(zip((argument.name for argument in schema.tensor_arguments), kinds, strict=True))
        self._outputs = _output_places(schema, self._kinds)
        self.operators: dict[str, str] = {}
        self.dtypes: dict[str, str] = {}
        attributes = ", ".join(f"a_{argument.name}" for argument in schema.attributes)
        self.text = "".join(
            [
                f"def make({attributes}):\n",
                f"    def bprop({', '.join([*self._inputs(), 'outputs', 'grads'])}):\n",
                *(f"        {line}\n" for line in (*self._bindings(), *self._gradients(derivatives))),
                "    return bprop\n",
            ]
        )

    def _tensors(self, name: str) -> list[str]:
        """Return the variables of the tensors of an argument; "None" for a missing one."""
        kind = self._kinds[name]
        if isinstance(kind, tuple):
            return ["None" if one is None else f"t_{name}_{place}" for place, one in enumerate(kind)]
        return ["None" if kind is None else f"a_{name}"]

    def _inputs(self) -> list[str]:
        return [tensor for name in self._kinds for tensor in self._tensors(name) if tensor != "None"]

    def _bindings(self) -> list[str]:
        """Return the lines that give parameters their names in formulas."""
        bindings = ["outputs = (outputs,)", "grads = (grads,)"] if returns_one(self._schema) else []
        for name, kind in self._kinds.items():
            if isinstance(kind, tuple):
                bindings.append(f"a_{name} = {_tuple(self._tensors(name))}")
            elif kind is None:
                bindings.append(f"a_{name} = None")
        return bindings

    def _gradients(self, derivatives: tuple[Derivative, ...]) -> list[str]:
        lines = [] if derivatives else [f"refused = refuse({_tuple(self._gradient_types())})"]
        values: dict[str, str] = {}
        for derivative in derivatives:
            if any(self._kinds[name] is not None for name in derivative.arguments):
                lines += self._values(derivative, values)
        results = []
        for name, kind in self._kinds.items():
            for place, tensor in enumerate(self._tensors(name)):
                if tensor == "None":
                    continue
                if name in values:
                    value = f"{values[name]}[{place}]" if isinstance(kind, tuple) else values[name]
                    results.append(f"as_gradient({value}, {tensor})")
                else:
                    results.append(f"unknown_gradient({tensor})" if derivatives else f"as_gradient(refused, {tensor})")
        return [*lines, f"return {_tuple(results)}"]

    def _values(self, derivative: Derivative, values: dict[str, str]) -> list[str]:
        """Return the lines that compute a derivative, and record the variable for each argument in `values`."""
        expr, arguments = derivative.formula.expr, derivative.arguments
        exprs = expr.items if isinstance(expr, ListOf) and len(arguments) > 1 else (expr,)
        if len(exprs) < len(arguments):
            together = f"g_{'_'.join(arguments)}"
            values |= {name: f"{together}[{place}]" for place, name in enumerate(arguments)}
            return [f"{together} = {self.render(expr)}"]
        lines = []
        for name, value in zip(arguments, exprs, strict=True):
            if self._kinds[name] is not None:
                values[name] = f"g_{name}"
                lines.append(f"g_{name} = {self.render(value)}")
        return lines

    def _gradient_types(self) -> list[str]:
        count = len(self._schema.new_outputs) + len(_written(self._schema, self._kinds))
        return [f"grads[{place}].dtype" for place in range(count)]

    def render(self, expr: Expr) -> str:
        """Return a formula expression as Python text; raise UnsupportedError if it has no meaning in a derivative."""
        match expr:
            case Name(id):
                return self._name(id)
            case Int(value) | Float(value) | Bool(value) | Str(value):
                return repr(value)
            case NoneLiteral():
                return "None"
            case Dots():
                return "..."
            case ListOf(items):
                return _tuple(map(self.render, items))
            case Attribute(value, name):
                return self._attribute(self.render(value), name)
            case Index(value, items):
                return self._index(value, items)
            case Slice(start, stop, step):
                return f"slice({', '.join(self.render(bound or NoneLiteral()) for bound in (start, stop, step))})"
            case Unary(op, operand):
                return f"({op} {self.render(operand)})"
            case Compare("is" | "is not" as op, left, right) | BoolOp(op, left, right):
                return f"({self.render(left)} {op} {self.render(right)})"
            case Binary(op, left, right) | Compare(op, left, right):
                return f"array_{_OPERATORS[op]}({self.render(left)}, {self.render(right)})"
            case IfElse(body, condition, orelse):
                return f"({self.render(body)} if {self.render(condition)} else {self.render(orelse)})"
            case Call():
                return self._call(expr)
        raise UnsupportedError(f"'{expr}' has no meaning in a derivative")

    def _name(self, name: str) -> str:
        if name in DTYPE_CODES and name not in self._meanings:
            return self.dtypes.setdefault(name, f"dtype_{name}")
        (meaning,) = self._meanings[name]
        if meaning.argument:
            return f"a_{meaning.argument}"
        group, places = ("grads", meaning.grads) if meaning.grads else ("outputs", meaning.results)
        values = [f"{group}[{self._outputs[place]}]" for place in places]
        return _tuple(values) if name in ("grads", "results") else values[0]

    def _attribute(self, value: str, name: str) -> str:
        functions = {"T": "transpose", "mT": "matrix_transpose", "numel": "numel"}
        return f"{functions[name]}({value})" if name in functions else f"{value}.{name}"

    def _index(self, value: Expr, items: tuple[Expr, ...]) -> str:
        places = ", ".join(map(self.render, items))
        return f"item({self.render(value)}, {places if len(items) == 1 else f'({places})'})"

    def _call(self, expr: Call) -> str:
        if expr.name in ARRAY_FUNCTIONS:
            parameters = ARRAY_FUNCTIONS[expr.name].parameters
            given = dict(zip((parameter.name for parameter in parameters), expr.args, strict=False)) | dict(expr.kwargs)
            values = [
                self.render(given[parameter.name]) if parameter.name in given else repr(parameter.default)
                for parameter in parameters
            ]
            return f"array_{expr.name}({', '.join(values)})"
        name = self.operators.setdefault(expr.name, f"operator_{len(self.operators)}")
        values = [*map(self.render, expr.args), *(f"{key}={self.render(value)}" for key, value in expr.kwargs)]
        return f"{name}({', '.join(values)})"


def _output_places(schema: Schema, kinds: Mapping[str, object]) -> dict[int, int]:
    """Return the place of each return among primitive outputs, which begin with the values of written arguments."""
    written = _written(schema, kinds)
    places = {}
    fresh = len(written)
    for place, output in enumerate(schema.returns):
        aliased: Argument | None = schema.aliased_argument(output)
        if aliased is None:
            places[place] = fresh
            fresh += 1
        elif aliased.name in written:
            places[place] = written.index(aliased.name)
    return places


def _written(schema: Schema, kinds: Mapping[str, object]) -> list[str]:
    return [argument.name for argument in schema.mutable_arguments if kinds[argument.name] is not None]


def _tuple(items: Iterable[str]) -> str:
    return f"({''.join(f'{one}, ' for one in items)})"
