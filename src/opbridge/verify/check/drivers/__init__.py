"""The framework operations that checks need: tensors, calls, gradients, batches. One module per framework."""

from __future__ import annotations

import importlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from opbridge.verify.check.arrays import Argument, Array
from opbridge.waist.schema import Schema

if TYPE_CHECKING:
    from opbridge.waist.op import Op

Span = tuple[int, int]
"""The first address of a tensor's memory, and the address after its end."""


class NotHere(Exception):
    """Raised if the framework lacks a type or a feature, so that there is nothing to check."""


Tensor = Any
"""A tensor of the framework, or a list of them, or a plain argument; the driver of the framework knows its type."""


class Driver(ABC):
    """A framework on one device, used through the functions that its users would call."""

    name: str
    has_gradients = True
    has_batches = True
    has_layouts = True
    one_thread_only = ""
    """The reason why calls must come from one thread; empty if several threads may call."""
    written_leaves_memory = ""
    """The reason why the framework leaks memory when an operator writes to an argument; empty if it does not."""

    writes_in_place = True
    """Whether an operator changes its mutable arguments in place, instead of returning new values."""

    @abstractmethod
    def tensor(self, array: Array) -> Tensor:
        """Return a new tensor with these values.

        Raises:
            NotHere: The framework lacks the element type.
        """

    @abstractmethod
    def array(self, tensor: Tensor) -> Array:
        """Return a tensor's values."""

    @abstractmethod
    def dtype(self, name: str) -> Any:
        """Return an element type as the framework's own object.

        Raises:
            NotHere: The framework lacks the element type.
        """

    @abstractmethod
    def gradients(
        self, op: Op, schema: Schema, values: Mapping[str, object], names: Sequence[str], weights: Sequence[object]
    ) -> list[Tensor]:
        """Return the gradients of the weighted sum of the outputs by the named tensors.

        A weight is None if the output is not a float.
        """

    def batch(self, op: Op, schema: Schema, values: Mapping[str, object], batched: Sequence[str]) -> list[Tensor]:
        """Call the operator on a batch with the framework's own vmap; return the outputs."""
        raise NotHere

    def layouts(self, array: Array) -> Iterator[tuple[str, Tensor]]:
        """Yield tensors with the same values in memory that is not contiguous, each with a description."""
        return iter(())

    def prepared(
        self, function: Callable[..., object], args: list[object], kwargs: dict[str, object]
    ) -> tuple[Callable[..., object], list[object], dict[str, object]]:
        """Return a call as users would write it for speed: the function and its arguments."""
        return function, args, kwargs

    def finish(self, outputs: Sequence[object]) -> None:
        """Wait until all calls are done; `outputs` are those of the last one."""
        for output in outputs:
            self.array(output)

    def span(self, tensor: Tensor) -> Span | None:
        """Return the addresses of a tensor's memory; None if the framework does not provide them."""
        return None

    def values(self, schema: Schema, arguments: Mapping[str, Argument]) -> dict[str, Tensor]:
        """Return a call's arguments as the framework's own values."""
        dtypes = {item.name for item in schema.attributes if item.type.base == "ScalarType"}
        return {
            name: self.dtype(value) if name in dtypes and value is not None else self.value(value)
            for name, value in arguments.items()
        }

    def value(self, argument: Argument) -> Tensor:
        """Return an argument as the framework's own value."""
        if isinstance(argument, Array):
            return self.tensor(argument)
        return [self.value(item) for item in argument] if isinstance(argument, tuple) else argument

    def call(self, op: Callable[..., object], schema: Schema, values: Mapping[str, object]) -> list[Tensor]:
        """Call the operator, and return its outputs, or the arguments it wrote if it has no outputs."""
        args, kwargs = packed(schema, values)
        target = op if schema.tensor_arguments else getattr(op, self.name)
        outputs = listed(target(*args, **kwargs))
        if not schema.returns and self.writes_in_place:
            return [values[argument.name] for argument in schema.mutable_arguments]
        return outputs


def driver(name: str, device: str = "cpu") -> Driver:
    """Return the driver of a framework on a device, importing the framework."""
    module = importlib.import_module(f"opbridge.verify.check.drivers.{name}")
    made: Driver = module.make(device)
    return made


def packed(schema: Schema, values: Mapping[str, object]) -> tuple[list[object], dict[str, object]]:
    """Return the positional and keyword arguments of a call; arguments after an omitted one are passed by keyword."""
    args: list[object] = []
    kwargs: dict[str, object] = {}
    gap = False
    for argument in schema.arguments:
        if argument.name not in values:
            gap = True
        elif argument.kwarg_only or gap:
            kwargs[argument.name] = values[argument.name]
        else:
            args.append(values[argument.name])
    return args, kwargs


def listed(outputs: object) -> list[object]:
    """Return nested outputs as one flat list."""
    if outputs is None:
        return []
    if isinstance(outputs, (list, tuple)):
        return [leaf for item in outputs for leaf in listed(item)]
    return [outputs]
