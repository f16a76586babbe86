"""Represent the operators of PyTorch itself as Ops; PyTorch knows everything about them, so nothing is compiled."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import torch
from torch._ops import OpOverload, OpOverloadPacket

from opbridge.base.errors import (
    CallError,
    KernelError,
    NoSuchOperatorError,
    OpbridgeError,
    SchemaError,
    UnsupportedError,
    did_you_mean,
)
from opbridge.frameworks.aten.matching import argument_order
from opbridge.waist.schema import Schema

NAMESPACE = "aten"
DEFAULT = "default"
"""The PyTorch name of the overload without a name."""


@dataclass
class _Registered:
    """The operators registered with the PyTorch dispatcher; the list is read again if a name is missing."""

    names: frozenset[str] = frozenset()
    qualified: frozenset[str] = frozenset()

    def __contains__(self, operator: AtenOperator) -> bool:
        return self._has(operator) or (self.read() and self._has(operator))

    def _has(self, operator: AtenOperator) -> bool:
        if operator.overload is None:
            return operator.qualified_name in self.qualified
        return operator.full_name in self.names

    def read(self) -> bool:
        self.names = frozenset(torch._C._dispatch_get_all_op_names())
        self.qualified = frozenset(name.partition(".")[0] for name in self.names)
        return True

    def suggestion(self, operator: AtenOperator) -> str:
        if operator.qualified_name in self.qualified:
            choices = sorted(name for name in self.names if name.partition(".")[0] == operator.qualified_name)
            return f"its overloads: {', '.join(choices)}"
        near = did_you_mean(operator.qualified_name, self.qualified)
        return near or "`opbridge aten --search WORD` finds operators"


_registered = _Registered()


@dataclass(frozen=True)
class AtenOperator:
    """One overload of an operator, or all of them if none is named."""

    namespace: str
    name: str
    overload: str | None
    """The overload; empty for the one without a name, None for all."""

    @classmethod
    def find(cls, text: str) -> AtenOperator:
        """Return the operator with this name; raise NoSuchOperatorError if PyTorch has none."""
        namespace, _, rest = text.partition("::")
        name, dot, overload = rest.partition(".")
        operator = cls(namespace, name, (overload if overload != DEFAULT else "") if dot else None)
        if operator not in _registered:
            raise NoSuchOperatorError(f"PyTorch has no operator {text}; {_registered.suggestion(operator)}")
        return operator

    @classmethod
    def registered(cls, full_name: str) -> AtenOperator:
        """Return the one overload that has exactly this name."""
        found = cls.find(full_name)
        return found if found.overload is not None else replace(found, overload="")

    @classmethod
    def one(cls, text: str) -> AtenOperator:
        """Return the named or the only overload; raise CallError if there are several and none is named."""
        found = cls.find(text)
        if len(found.functional) > 1 and found.overload is None:
            names = ", ".join(one.name() for one in found.functional)
            raise CallError(f"{text} has several overloads; name one of {names}")
        return found

    @property
    def qualified_name(self) -> str:
        """The name with its namespace, without the overload."""
        return f"{self.namespace}::{self.name}"

    @property
    def full_name(self) -> str:
        """The name with its namespace and overload."""
        return f"{self.qualified_name}.{self.overload}" if self.overload else self.qualified_name

    @property
    def packet(self) -> OpOverloadPacket:
        """The overload packet in `torch.ops`."""
        return getattr(getattr(torch.ops, self.namespace), self.name)

    @property
    def torch(self) -> OpOverload | OpOverloadPacket:
        """The operator in `torch.ops`."""
        return self.packet if self.overload is None else getattr(self.packet, self.overload or DEFAULT)

    @cached_property
    def overloads(self) -> tuple[OpOverload, ...]:
        """The overloads in the order in which PyTorch tries them; those that write to `out` come last."""
        if self.overload is not None:
            chosen = getattr(self.packet, self.overload or DEFAULT)
            out = out_variant(self.packet, chosen)
            return (chosen,) if out is None else (chosen, out)
        return tuple(sorted(_dispatched(self.packet), key=_has_out))

    @property
    def functional(self) -> tuple[OpOverload, ...]:
        """The overloads that create their results; if one is named, all of `overloads`."""
        return tuple(one for one in self.overloads if self.overload or not _has_out(one))

    @cached_property
    def schema(self) -> Schema:
        """The schema; for several overloads, that of the first."""
        return schema_of(self.overloads[0])


def forward_to(name: str, schema: str) -> tuple[str, tuple[int, ...]]:
    """Return the overload that a schema fits, and the order of its arguments; raise SchemaError if it fits none."""
    own = Schema.parse(schema)
    refusals = []
    overloads = AtenOperator.find(name).overloads
    for overload in [one for one in overloads if _has_out(one) == bool(own.out_arguments)] or overloads:
        try:
            return overload.name(), argument_order(own, schema_of(overload))
        except SchemaError as error:
            refusals.append(error)
    if len(refusals) == 1:
        raise refusals[0]
    reasons = "".join(f"\n  {refusal.message}" for refusal in refusals)
    raise SchemaError(f"{own.full_name} fits no overload of {name}:{reasons}", hint=f"its schema is {own}")


def _dispatched(packet: OpOverloadPacket) -> list[OpOverload]:
    """Return the overloads of a packet, except those that only TorchScript uses for numbers and strings."""
    found = [getattr(packet, name) for name in packet.overloads()]
    return [overload for overload in found if overload.name() in _registered.names]


def _has_out(overload: OpOverload) -> bool:
    return any(argument.is_out for argument in overload._schema.arguments)


def out_variant(packet: object, functional: Any) -> OpOverload | None:
    """Return the overload with the same arguments that writes to tensors of the caller; None if there is none."""
    wanted = [(argument.name, str(argument.type)) for argument in functional._schema.arguments]
    for overload in _dispatched(packet):
        arguments = overload._schema.arguments
        inputs = [(argument.name, str(argument.type)) for argument in arguments if not argument.is_out]
        if len(inputs) < len(arguments) and inputs == wanted:
            return overload
    return None


def target_names(operator: AtenOperator) -> tuple[tuple[str, str], ...]:
    """Return the arguments for the native `operator_target`: each functional overload, and its out variant.

    The out variant writes results to memory of the caller; it is empty if there is none for plain tensors.
    """
    return tuple((one.name(), _plain_out(operator, one)) for one in operator.functional)


def _plain_out(operator: AtenOperator, overload: object) -> str:
    found = out_variant(operator.packet, overload)
    if found is None or any(argument.is_out and str(argument.type) != "Tensor" for argument in found._schema.arguments):
        return ""
    name: str = found.name()
    return name


def result_types(overload: OpOverload) -> list[str]:
    """Return the result types of the functional form: what it returns, then what it writes to and does not return."""
    schema = overload._schema
    returned = {name for output in schema.returns if output.alias_info for name in output.alias_info.before_set}
    written = (each for each in schema.arguments if each.is_write and not returned & each.alias_info.before_set)
    return [str(each.type) for each in (*schema.returns, *written)]


def needs_values(overload: OpOverload) -> bool:
    """Return whether the results are not tensors, or whether only a run can determine them."""
    if torch.Tag.data_dependent_output in overload.tags:
        return True
    tensors = all(str(output.type) in ("Tensor", "List[Tensor]") for output in overload._schema.returns)
    return not tensors or not torch._C._dispatch_has_computed_kernel_for_dispatch_key(overload.name(), "Meta")


def schema_of(overload: OpOverload) -> Schema:
    """Return the schema of an overload; raise UnsupportedError if opbridge cannot represent it."""
    try:
        return Schema.parse(str(overload._schema))
    except SchemaError as error:
        raise UnsupportedError(f"{overload}: its schema is not one of tensors: {overload._schema}") from error


_REFUSALS = (TypeError, ValueError, IndexError)


def translated(name: str, error: BaseException) -> BaseException:
    """Convert an error that PyTorch raises for an operator to an opbridge error; return other errors unchanged."""
    if isinstance(error, OpbridgeError) or type(error) not in (*_REFUSALS, RuntimeError, NotImplementedError):
        return error
    if isinstance(error, NotImplementedError):
        kind: type[OpbridgeError] = UnsupportedError
    else:
        kind = CallError if isinstance(error, _REFUSALS) else KernelError
    said = (str(error).strip() or type(error).__name__).partition("\n")[0]
    new = kind(f"{name}: {said}")
    new.__cause__ = error
    return new
