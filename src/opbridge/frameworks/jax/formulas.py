"""Evaluate derivative formulas in JAX: from the cotangents of operator outputs to those of its inputs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import jax.numpy as jnp

from opbridge.base.errors import UnsupportedError
from opbridge.frameworks.jax.call import Array, Like
from opbridge.frameworks.jax.formula_functions import DTYPES, FUNCTIONS, sum_to
from opbridge.frameworks.jax.mesh_types import described
from opbridge.waist.rules import Derivative, evaluate, formula_environment
from opbridge.waist.schema import Schema


class DifferentiatedCall(Protocol):
    """The properties of a call that a derivative needs."""

    @property
    def name(self) -> str:
        """The full name of the operator."""

    @property
    def schema(self) -> Schema:
        """The schema of the operator."""

    @property
    def values(self) -> Mapping[str, Array]:
        """The attributes of the call."""

    @property
    def places(self) -> tuple[tuple[int, int | None], ...]:
        """For each present tensor, the number of its argument, and its place in a list argument."""

    @property
    def returned(self) -> tuple[int | None, ...]:
        """For each return of the schema its place among the outputs; None for an absent argument."""

    def grouped(self, tensors: Mapping[int, Array], /) -> dict[str, Array]:
        """Group the available tensors by argument name."""


class Functions(dict[str, Array]):
    """The functions and names of a formula; operators are looked up when a formula calls them."""

    def __init__(self, operator: Callable[[str], object]) -> None:
        super().__init__({**FUNCTIONS, **DTYPES})
        self._operator = operator

    def __missing__(self, name: str) -> object:
        self[name] = found = self._operator(name)
        return found


@dataclass(frozen=True)
class FormulaLinear:
    """A Linear by formulas: the derivative of one call for the inputs that move."""

    call: DifferentiatedCall
    derivatives: tuple[Derivative, ...] = field(compare=False)
    functions: Functions = field(compare=False)
    inputs: tuple[tuple[int, Like], ...]
    """The inputs that move: numbers, shapes and element types."""
    moved: tuple[tuple[int, Like], ...]
    """The outputs that have tangents: numbers, shapes and element types."""
    saved_inputs: tuple[int, ...]
    saved_outputs: tuple[int, ...]

    @property
    def residuals(self) -> int:
        """The number of saved tensors."""
        return len(self.saved_inputs) + len(self.saved_outputs)

    @property
    def outputs(self) -> tuple[Like, ...]:
        """The outputs that have tangents."""
        return tuple(output for _, output in self.moved)

    def __call__(self, residuals: Sequence[Array], cotangents: Sequence[Array]) -> list[Array]:
        """Evaluate the formulas and return the cotangents of the inputs that move."""
        environment = self._environment(residuals, cotangents)
        found: dict[str, Array] = {}
        for derivative in self.derivatives:
            value = evaluate(derivative.formula.expr, environment, self.functions)
            several = len(derivative.arguments) > 1
            found |= dict(zip(derivative.arguments, value if several else (value,), strict=True))
        return [self._gradient(found, number, like) for number, like in self.inputs]

    def _environment(self, residuals: Sequence[Array], cotangents: Sequence[Array]) -> dict[str, object]:
        call, schema = self.call, self.call.schema
        split = len(self.saved_inputs)
        arguments = dict(_attributes(call))
        arguments |= call.grouped(dict(zip(self.saved_inputs, residuals[:split], strict=True)))
        results = dict(zip(self.saved_outputs, residuals[split:], strict=True))
        # A gradient in a formula is the conjugate of a cotangent in JAX.
        gradients = {place: jnp.conj(cotangent) for (place, _), cotangent in zip(self.moved, cotangents, strict=True)}
        by_return = dict(enumerate(call.returned[: len(schema.returns)]))
        return formula_environment(
            schema,
            arguments,
            {number: gradients.get(place) for number, place in by_return.items() if place is not None},
            {number: results[place] for number, place in by_return.items() if place in results},
        )

    def _gradient(self, found: Mapping[str, Array], number: int, like: Like) -> Array:
        argument, item = self.call.places[number]
        name = self.call.schema.arguments[argument].name
        if name not in found:
            raise missing_derivative(self.call.name, name)
        value = found[name]
        return as_cotangent(value if item is None or value is None else value[item], like)


def formula_linear(
    call: DifferentiatedCall,
    derivatives: tuple[Derivative, ...],
    functions: Functions,
    inputs: Sequence[Array],
    outputs: Sequence[Array],
    moving: tuple[int, ...],
) -> tuple[FormulaLinear, list[Array]]:
    """Return the derivative of a call, and the tensors of the call that its formulas read."""
    arguments = call.schema.arguments
    wanted = {arguments[call.places[number][0]].name for number in moving}
    used = tuple(derivative for derivative in derivatives if wanted & set(derivative.arguments))
    read = {name for derivative in used for name in derivative.formula.arguments}
    returns = {result for derivative in used for result in derivative.formula.results}
    saved_inputs = tuple(number for number, (place, _) in enumerate(call.places) if arguments[place].name in read)
    saved_outputs = tuple(sorted({place for result in returns if (place := call.returned[result]) is not None}))
    linear = FormulaLinear(
        call,
        used,
        functions,
        tuple((number, described(inputs[number])) for number in moving),
        tuple((place, described(value)) for place, value in enumerate(outputs) if _is_inexact(value)),
        saved_inputs,
        saved_outputs,
    )
    return linear, [*(inputs[number] for number in saved_inputs), *(outputs[place] for place in saved_outputs)]


def as_cotangent(value: Array, like: Like) -> Array:
    """Return the value of a formula in the shape and element type of its input; zeros for None."""
    if value is None:
        return jnp.zeros(like.shape, like.dtype)
    value = jnp.conj(jnp.asarray(value))
    if value.shape != like.shape:
        value = sum_to(jnp.broadcast_to(value, jnp.broadcast_shapes(value.shape, like.shape)), like.shape)
    if jnp.iscomplexobj(value) and not jnp.issubdtype(like.dtype, jnp.complexfloating):
        value = value.real
    return value.astype(like.dtype)


def missing_derivative(name: str, argument: str) -> UnsupportedError:
    """Return the error for an argument without a derivative."""
    return UnsupportedError(
        f"{name} has no derivative for '{argument}'; add one to its `derivatives`, "
        "or stop the gradient before it with jax.lax.stop_gradient"
    )


def _attributes(call: DifferentiatedCall) -> Mapping[str, object]:
    dtypes = {item.name for item in call.schema.attributes if item.type.base == "ScalarType"}
    return {name: DTYPES[value] if name in dtypes and value else value for name, value in call.values.items()}


def _is_inexact(value: Like) -> bool:
    return bool(jnp.issubdtype(value.dtype, jnp.inexact))
