"""The array functions a formula can call, with the array API's names and parameters; each framework provides them.

An `array` parameter also accepts a Python number. `zeros` and `ones` create their array on the device of the
operator's tensors. `sum_to` undoes a broadcast: it sums an array down to a shape.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from opbridge.waist.rules.value_kinds import Kind

_NUMBERS = frozenset({Kind.INT, Kind.FLOAT, Kind.BOOL})
_ACCEPTED = {
    "array": _NUMBERS | {Kind.TENSOR},
    "arrays": frozenset({Kind.TENSORS}),
    "axis": frozenset({Kind.INT}),
    "axes": frozenset({Kind.INT, Kind.INTS}),
    "shape": frozenset({Kind.INTS}),
    "number": _NUMBERS,
    "bool": frozenset({Kind.BOOL}),
    "dtype": frozenset({Kind.DTYPE}),
}
_DEFAULTS = {"None": None, "False": False, "0": 0, "2": 2}


@dataclass(frozen=True)
class ArrayParameter:
    """A parameter of an array function, with the kinds of values that it accepts."""

    name: str
    accepts: frozenset[Kind]
    required: bool
    default: object = None


@dataclass(frozen=True)
class ArrayFunction:
    """An array function and its parameters in order."""

    name: str
    parameters: tuple[ArrayParameter, ...]

    def values(self, args: Sequence[object], kwargs: Mapping[str, object]) -> list[Any]:
        """Return the value of each parameter for a call, in the order of the parameters."""
        rest = self.parameters[len(args) :]
        return [*args, *(kwargs.get(parameter.name, parameter.default) for parameter in rest)]

    def with_parameters(self, function: Callable[..., object]) -> Callable[..., object]:
        """Wrap a framework function so that it accepts these parameter names."""
        return lambda *args, **kwargs: function(*self.values(args, kwargs))

    def __str__(self) -> str:
        spelled = (item.name if item.required else f"{item.name}={item.default}" for item in self.parameters)
        return f"{self.name}({', '.join(spelled)})"


def _parameter(text: str) -> ArrayParameter:
    kind, _, rest = text.strip().partition(" ")
    name, equals, default = rest.partition("=")
    accepts = _ACCEPTED[kind]
    return ArrayParameter(
        name, accepts | {Kind.NONE} if default == "None" else accepts, not equals, _DEFAULTS.get(default)
    )


def _table(names: str, parameters: str) -> dict[str, ArrayFunction]:
    parsed = tuple(map(_parameter, parameters.split(",")))
    return {name: ArrayFunction(name, parsed) for name in names.split()}


ARRAY_FUNCTIONS: Mapping[str, ArrayFunction] = MappingProxyType(
    _table("abs negative sign square sqrt rsqrt reciprocal exp expm1 log log1p log2 log10 sigmoid erf", "array x")
    | _table("sin cos tan sinh cosh tanh asin acos atan asinh acosh atanh", "array x")
    | _table("floor ceil round trunc isnan isinf isfinite logical_not real imag conj", "array x")
    | _table("zeros_like ones_like matrix_transpose", "array x")
    | _table("add subtract multiply divide floor_divide remainder pow atan2 maximum minimum", "array x1, array x2")
    | _table("equal not_equal less less_equal greater greater_equal", "array x1, array x2")
    | _table("logical_and logical_or logical_xor matmul", "array x1, array x2")
    | _table("tensordot", "array x1, array x2, axes axes=2")
    | _table("where", "array condition, array x1, array x2")
    | _table("clip", "array x, array min=None, array max=None")
    | _table("sum prod mean max min all any", "array x, axes axis=None, bool keepdims=False")
    | _table("var std", "array x, axes axis=None, number correction=0, bool keepdims=False")
    | _table("argmax argmin", "array x, axis axis=None, bool keepdims=False")
    | _table("cumulative_sum", "array x, axis axis=None")
    | _table("reshape broadcast_to sum_to", "array x, shape shape")
    | _table("permute_dims", "array x, axes axes")
    | _table("expand_dims", "array x, axis axis")
    | _table("squeeze", "array x, axes axis")
    | _table("flip", "array x, axes axis=None")
    | _table("roll", "array x, axes shift, axes axis=None")
    | _table("take", "array x, array indices, axis axis")
    | _table("tril triu", "array x, axis k=0")
    | _table("concat stack", "arrays arrays, axis axis=0")
    | _table("full_like", "array x, number fill_value")
    | _table("zeros ones", "shape shape, dtype dtype")
    | _table("astype", "array x, dtype dtype")
)
