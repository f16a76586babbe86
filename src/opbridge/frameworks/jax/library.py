"""Represent operators with rules and a kernel, and their calls, in JAX."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from opbridge._core import RuleOperator, infer_target
from opbridge.base.errors import CallError, UnsupportedError
from opbridge.frameworks.jax.call import Array, Like
from opbridge.frameworks.jax.formula_functions import DTYPES
from opbridge.frameworks.jax.formulas import FormulaLinear, Functions, formula_linear
from opbridge.waist.rules import DTYPES as NAMES
from opbridge.waist.rules import evaluate_out
from opbridge.waist.rules.batches import batching
from opbridge.waist.rules.sharding import Layout, Shape, Sharding, Tensor, lay_out
from opbridge.waist.schema import Schema

if TYPE_CHECKING:
    from opbridge.frameworks.interface import Library

Kinds = tuple[Any, ...]
"""For each tensor argument of the schema its dtype code, None if it is absent, or a tuple of these for a list."""


class LibraryOperator:
    """An operator with rules and a kernel."""

    def __init__(self, library: Library, index: int) -> None:
        spec = library.spec(index)
        self.name = spec.schema.full_name
        self.schema = spec.schema
        # Shapes are inferred by the kernel of the first device, before a program is compiled for one.
        self.devices = library.kernels.devices(index)
        self.batch = spec.rules.batch
        self.shard = spec.rules.shard
        self.batching = batching(spec.rules.batch, spec.rules.out, spec.schema)
        self.broadcasts = self.batching is not None and self.batching.broadcasts
        out = [str(rule.field()) for rule in spec.rules.out]
        self.declared = hashlib.sha256("\n".join([str(spec.schema), *out]).encode()).hexdigest()[:16]
        self._rules = spec.rules
        self._library = library
        self._index = index
        self._native = RuleOperator(library.catalog.plan, index)
        self._functions = Functions(self._operator)

    def attributes(self, values: Mapping[str, object]) -> bytes:
        """Check the attributes of a call and encode them; equal attributes give equal bytes."""
        return self._native.attributes(values)

    def values(self, attributes: bytes) -> dict[str, object]:
        """Decode the attributes of a call."""
        return self._native.values(attributes)

    def target(self, attributes: bytes, kinds: Kinds, device: str) -> object:
        """Return the Target of a call on a device, building the kernel on first use."""
        return self._native.target(attributes, kinds, self._library.kernel(self._index, device), device)

    def on_host(self, arguments: Mapping[str, object]) -> Any:
        """Run the operator on NumPy arrays."""
        schema = self.schema
        function = self._library.view(self._index, "numpy")
        positional = [arguments[item.name] for item in schema.positional]
        return function(*positional, **{item.name: arguments[item.name] for item in schema.keyword_only})

    def symbolic_outputs(self, call: LibraryCall, inputs: Sequence[Like]) -> list[tuple[tuple[Any, ...], str]]:
        """Return the shape and dtype of each output for inputs with symbolic sizes, by the `out` rules."""
        arguments = call.values | call.grouped(dict(enumerate(inputs)))
        if self.batch == "elementwise" and not self.broadcasts and len({value.shape for value in inputs}) > 1:
            raise CallError(
                f"{self.name}: expected inputs of one shape, got {', '.join(str(value.shape) for value in inputs)}"
            )
        written = [(inputs[number].shape, str(inputs[number].dtype)) for number in call.written]
        return written + evaluate_out(self._rules.out, self.schema, arguments)

    def pullback(
        self, call: LibraryCall, inputs: Sequence[Array], outputs: Sequence[Array], moving: tuple[int, ...]
    ) -> tuple[FormulaLinear, list[Array]]:
        """Return the derivative of a call for the inputs that move, and its residuals."""
        return formula_linear(call, self._rules.gradients, self._functions, inputs, outputs, moving)

    def _operator(self, name: str) -> object:
        """Return the operator that a formula calls by this name."""
        if name.startswith("aten::"):
            from opbridge.frameworks.aten.aten_runtime import open_operator

            return open_operator(name).jax
        names = self._library.catalog.names
        if name not in names:
            raise UnsupportedError(f"{self.name}: its derivative calls {name}, which JAX has not")
        return self._library.view(names.index(name), "jax")


@dataclass(frozen=True)
class LibraryCall:
    """A Call of an operator with rules and a kernel."""

    operator: LibraryOperator
    attributes: bytes
    """The attributes, encoded by the native core."""
    kinds: Kinds

    def __repr__(self) -> str:
        return self.name

    @property
    def name(self) -> str:
        """The full name of the operator."""
        return self.operator.name

    @property
    def schema(self) -> Schema:
        """The schema of the operator."""
        return self.operator.schema

    @property
    def values(self) -> dict[str, object]:
        """The attributes of the call."""
        return self.operator.values(self.attributes)

    @property
    def devices(self) -> tuple[str, ...]:
        """The devices that the operator has kernels for."""
        return self.operator.devices

    @property
    def elementwise(self) -> bool:
        """Whether the `batch` rule says that every element is treated alone."""
        return self.operator.batch == "elementwise"

    @property
    def broadcasts(self) -> bool:
        """Whether inputs that take a batch may differ in rank."""
        return self.operator.broadcasts

    @property
    def advice(self) -> str:
        """What to do if jax.vmap calls the operator slice by slice; empty if it has a `batch` rule."""
        if self.operator.batch is not None:
            return ""
        return (
            "Say `batch: elementwise` or a pattern such as `... h, h -> ... h` to make it one call, "
            "or `batch: loop` to accept it."
        )

    @cached_property
    def text(self) -> str:
        """The representation of the call in a program, as JSON."""
        operator = self.operator
        said = {"op": operator.name, "declared": operator.declared, "tensors": _named(self.kinds)}
        return json.dumps(said | {"attributes": self.values})

    @cached_property
    def places(self) -> tuple[tuple[int, int | None], ...]:
        """For each present tensor, the number of its argument, and its place in a list argument."""
        found: list[tuple[int, int | None]] = []
        for argument, kind in zip(self._tensor_arguments, self.kinds, strict=True):
            if isinstance(kind, tuple):
                found += [(argument, place) for place, item in enumerate(kind) if item is not None]
            elif kind is not None:
                found.append((argument, None))
        return tuple(found)

    @cached_property
    def written(self) -> tuple[int, ...]:
        """The tensors that the operator writes to; their new values are the first outputs."""
        arguments = self.operator.schema.arguments
        return tuple(number for number, (argument, _) in enumerate(self.places) if arguments[argument].mutable)

    @cached_property
    def returned(self) -> tuple[int | None, ...]:
        """For each return of the schema its place among the outputs; None for an absent argument.

        Arguments that are written to and not returned follow: in JAX there is no other way to see them.
        """
        schema = self.operator.schema
        new = iter(range(len(self.written), len(self.written) + len(schema.new_outputs)))
        names = [schema.arguments[self.places[number][0]].name for number in self.written]
        found: list[int | None] = []
        for output in schema.returns:
            argument = schema.aliased_argument(output)
            if argument is None:
                found.append(next(new))
            else:
                found.append(names.index(argument.name) if argument.name in names else None)
        return (*found, *(place for place in range(len(names)) if place not in found))

    @property
    def returns(self) -> bool:
        """Whether the call has outputs."""
        return bool(self.returned)

    @property
    def least_ranks(self) -> tuple[int | None, ...]:
        """The number of dimensions of a sample of each input by the `batch` rule; empty if that is unknown."""
        if self.operator.batching is None:
            return ()
        ranks = dict(zip(self._tensor_arguments, self.operator.batching.ranks, strict=True))
        return tuple(ranks[argument] for argument, _ in self.places)

    def layout(self, inputs: Sequence[Shape], outputs: Sequence[Shape]) -> Layout | None:
        """Return how the call may be divided over devices, by the `shard` rule; None if there is no rule."""
        rule, schema = self.operator.shard, self.operator.schema
        if rule is None:
            return None
        tensors = [Tensor(*place, shape) for place, shape in zip(self.places, inputs, strict=True)]
        if isinstance(rule, Sharding) and not self.elementwise and self.operator.batching:
            ranks = self.operator.batching.ranks
            rule = rule.led_by({place for place, rank in enumerate(ranks) if rank is not None})
        return lay_out(rule, schema, tensors, outputs)

    def target(self, device: str | None = None) -> object:
        """Return the Target for a device, by default the first one."""
        return self.operator.target(self.attributes, self.kinds, device or self.operator.devices[0])

    def outputs(self, inputs: Sequence[Like]) -> list[jax.ShapeDtypeStruct]:
        """Return the shapes and element types of the outputs, also for symbolic sizes."""
        shapes = [tuple(value.shape) for value in inputs]
        target = self.target()
        if all(isinstance(size, int) for shape in shapes for size in shape):
            described = [(shape, NAMES[code]) for shape, code in infer_target(target, shapes)]
        else:
            described = self.operator.symbolic_outputs(self, inputs)
        return [jax.ShapeDtypeStruct(shape, DTYPES[dtype]) for shape, dtype in described]

    def on_host(self, arrays: Sequence[np.ndarray[Any, Any]]) -> list[np.ndarray[Any, Any]]:
        """Compute the outputs immediately, for programs without the native handler."""
        # The kernel must not write to JAX arrays.
        mine = {number: np.array(array) if number in self.written else array for number, array in enumerate(arrays)}
        found = self.operator.on_host({**self.values, **self.grouped(mine)})
        schema = self.schema
        results = found if len(schema.returns) > 1 else (found,)
        fresh = zip(schema.returns, results, strict=True) if schema.returns else ()
        return [
            *(mine[number] for number in self.written),
            *(result for output, result in fresh if schema.aliased_argument(output) is None),
        ]

    def arranged(self, outputs: Sequence[Array]) -> Array | tuple[Array, ...]:
        """Return the outputs as the schema returns them."""
        values = tuple(None if place is None else outputs[place] for place in self.returned)
        return values[0] if len(values) == 1 else values or None

    def pullback(
        self, inputs: Sequence[Array], outputs: Sequence[Array], moving: tuple[int, ...]
    ) -> tuple[FormulaLinear, list[Array]]:
        """Return the derivative for the inputs that move, and its residuals."""
        return self.operator.pullback(self, inputs, outputs, moving)

    def grouped(self, tensors: Mapping[int, Array]) -> dict[str, Array]:
        """Group the available tensors by argument name."""
        arguments = self.operator.schema.arguments
        found: dict[str, Array] = {
            arguments[argument].name: [None] * len(kind) if isinstance(kind, tuple) else None
            for argument, kind in zip(self._tensor_arguments, self.kinds, strict=True)
        }
        for number, value in tensors.items():
            argument, item = self.places[number]
            if item is None:
                found[arguments[argument].name] = value
            else:
                found[arguments[argument].name][item] = value
        return found

    @cached_property
    def _tensor_arguments(self) -> tuple[int, ...]:
        return tuple(place for place, item in enumerate(self.operator.schema.arguments) if item.is_tensor)


def _named(kinds: Kinds) -> list[object]:
    return [_named(kind) if isinstance(kind, tuple) else None if kind is None else NAMES[kind] for kind in kinds]
