"""Inputs of a derived operator, one that computes the gradients of another: what the other operator calls it with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import numpy as np

from opbridge.frameworks.numpy.adapter import FUNCTIONS
from opbridge.verify.check.arrays import Argument, Array
from opbridge.waist.manifest.samples import TensorSample, Value
from opbridge.waist.rules.evaluation import Evaluator
from opbridge.waist.rules.formulas import formula_environment, meanings
from opbridge.waist.rules.syntax import Call, Expr, Name
from opbridge.waist.schema import Argument as Parameter
from opbridge.waist.schema import Schema

if TYPE_CHECKING:
    from opbridge.frameworks.interface import Library
    from opbridge.waist.op import Op


@dataclass(frozen=True)
class Origin:
    """The operator whose gradients are computed, and its call that computes them."""

    op: Op
    call: Call


def origin_of(op: Op, without: frozenset[str] = frozenset()) -> Origin | None:
    """Find the operator of the same library whose derivatives pass their gradients to `op`; `without` are left out."""
    for index, spec in enumerate(getattr(op._runtime, "specs", ())):
        parent = spec.schema
        if parent.full_name in without:
            continue
        for derivative in spec.rules.gradients:
            for node in derivative.formula.expr.walk():
                if isinstance(node, Call) and node.name == op.name and _takes_gradients(node, parent):
                    return Origin(cast("Library", op._runtime).op(index), node)
    return None


def _takes_gradients(call: Call, parent: Schema) -> bool:
    """Tell `f_backward(grad, x)` from a factor such as the cosine in `grad * cos(x)`."""
    known = meanings(parent)
    values = [*call.args, *(value for _, value in call.kwargs)]
    names = {node.id for value in values for node in value.walk() if isinstance(node, Name)}
    return any(meaning.grads for name in names for meaning in known.get(name, ()))


def arguments_of_call(
    origin: Origin, schema: Schema, given: Mapping[str, Argument], results: Sequence[Array], seed: int
) -> dict[str, Argument]:
    """Evaluate the call's arguments for a call of the parent: `given`, its `results`, and gradients drawn for them."""
    generator = np.random.default_rng((seed, 1))  # gradients equal to an input would cancel out
    grads = {place: _gradient(result, generator) for place, result in enumerate(results) if result.is_float}
    arrays = [*given.values(), *results, *grads.values()]
    dtypes = {id(array.values): array.dtype for array in arrays if isinstance(array, Array)}
    environment = formula_environment(
        origin.op.schema,
        {name: _plain(value) for name, value in given.items()},
        {place: grad.values for place, grad in grads.items()},
        {place: result.values for place, result in enumerate(results)},
    )
    usual = next((grad.dtype for grad in grads.values()), "float64")
    evaluator = Evaluator(environment, FUNCTIONS)

    def argument(parameter: Parameter, expr: Expr) -> Argument:
        return _argument(parameter, evaluator.run(expr), dtypes, usual)

    by_name = [(schema.argument(name), expr) for name, expr in origin.call.kwargs]
    pairs = [*zip(schema.positional, origin.call.args, strict=False), *by_name]
    return {parameter.name: argument(parameter, expr) for parameter, expr in pairs}


def described(value: Argument) -> Value:
    """Describe an argument as a sample does, without its elements."""
    if isinstance(value, Array):
        return TensorSample(value.dtype, value.shape)
    return tuple(map(described, value)) if isinstance(value, tuple) else value


def in_types_of(value: Argument, sample: Value) -> Argument:
    """Return the same elements in the element types of the samples."""
    if isinstance(value, Array) and isinstance(sample, TensorSample):
        return value if value.dtype == sample.dtype else Array.of(value.values, sample.dtype)
    if isinstance(value, tuple) and isinstance(sample, tuple):
        return tuple(in_types_of(*pair) for pair in zip(value, sample, strict=True))
    return value


def _gradient(result: Array, generator: np.random.Generator) -> Array:
    """Draw values away from zero, where operators have kinks and poles."""
    drawn = generator.uniform(0.1, 2.0, result.shape) * generator.choice((-1.0, 1.0), result.shape)
    return Array.of(np.asarray(drawn), result.dtype)


def _plain(value: Argument) -> object:
    if isinstance(value, Array):
        return value.values
    return tuple(map(_plain, value)) if isinstance(value, tuple) else value


def _argument(parameter: Parameter, value: object, dtypes: Mapping[int, str], usual: str) -> Argument:
    if not parameter.is_tensor or value is None:
        return value
    if isinstance(value, (list, tuple)):
        return tuple(_argument(parameter, item, dtypes, usual) for item in value)
    array = np.asarray(value)
    is_float = array.dtype.kind == "f"
    return Array.of(array, dtypes.get(id(value)) or (usual if is_float else array.dtype.name))
