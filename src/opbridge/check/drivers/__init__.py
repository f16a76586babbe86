"""The frameworks as a check needs them: tensors made and read, calls, gradients, batches; one module each."""

from __future__ import annotations

import importlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from opbridge.check.arrays import Argument, Array
from opbridge.schema import Schema

Span = tuple[int, int]
"""The addresses a tensor's memory lies between."""


class NotHere(Exception):
    """The framework has no such thing, so there is nothing to check."""


class Driver(ABC):
    """A framework on one device, with the functions that its users would write."""

    name: str
    has_gradients = True
    has_batches = True
    has_layouts = True
    one_thread_only = ""
    """Why calls come from one thread; empty where they may come from several."""
    written_leaves_memory = ""
    """Why the framework itself keeps memory of every call that writes to an argument; empty where it does not."""

    writes_in_place = True
    """Whether an argument that the schema lets an operator write to is changed, and not returned."""

    @abstractmethod
    def tensor(self, array: Array) -> Any: ...

    @abstractmethod
    def array(self, tensor: Any) -> Array: ...

    @abstractmethod
    def dtype(self, name: str) -> Any:
        """An element type as an argument; NotHere where the framework has not got it."""

    @abstractmethod
    def gradients(
        self, op: Any, schema: Schema, values: Mapping[str, Any], names: Sequence[str], weights: Sequence[Any]
    ) -> list[Any]:
        """Of the weighted sum of the outputs, by the named tensors; a weight is None where an output is no float."""

    def batch(self, op: Any, schema: Schema, values: Mapping[str, Any], batched: Sequence[str]) -> list[Any]:
        raise NotHere

    def layouts(self, array: Array) -> Iterator[tuple[str, Any]]:
        """The same values in memory that is not contiguous."""
        return iter(())

    def prepared(
        self, function: Callable[..., Any], args: list[Any], kwargs: dict[str, Any]
    ) -> tuple[Callable[..., Any], list[Any], dict[str, Any]]:
        """A call as people make it for speed: the function, and what it is given each time."""
        return function, args, kwargs

    def finish(self, outputs: Sequence[Any]) -> None:
        """Returns when the calls before are done; the outputs are the last one's."""
        for output in outputs:
            self.array(output)

    def span(self, tensor: Any) -> Span | None:
        return None

    def values(self, schema: Schema, arguments: Mapping[str, Argument]) -> dict[str, Any]:
        """A call's arguments as the framework's own."""
        dtypes = {item.name for item in schema.attributes if item.type.base == "ScalarType"}
        return {
            name: self.dtype(value) if name in dtypes and value is not None else self.value(value)
            for name, value in arguments.items()
        }

    def value(self, argument: Argument) -> Any:
        if isinstance(argument, Array):
            return self.tensor(argument)
        return [self.value(item) for item in argument] if isinstance(argument, tuple) else argument

    def call(self, op: Any, schema: Schema, values: Mapping[str, Any]) -> list[Any]:
        """The outputs, or what a call without any has written."""
        args, kwargs = packed(schema, values)
        target = op if schema.tensor_arguments else getattr(op, self.name)
        outputs = listed(target(*args, **kwargs))
        if not schema.returns and self.writes_in_place:
            return [values[argument.name] for argument in schema.mutable_arguments]
        return outputs


def driver(name: str, device: str = "cpu") -> Driver:
    module = importlib.import_module(f"opbridge.check.drivers.{name}")
    made: Driver = module.make(device)
    return made


def packed(schema: Schema, values: Mapping[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    """As a caller writes them; what stands behind one that is left out goes by its name."""
    args: list[Any] = []
    kwargs: dict[str, Any] = {}
    gap = False
    for argument in schema.arguments:
        if argument.name not in values:
            gap = True
        elif argument.kwarg_only or gap:
            kwargs[argument.name] = values[argument.name]
        else:
            args.append(values[argument.name])
    return args, kwargs


def listed(outputs: Any) -> list[Any]:
    if outputs is None:
        return []
    if isinstance(outputs, (list, tuple)):
        return [leaf for item in outputs for leaf in listed(item)]
    return [outputs]
