"""Operators that PyTorch has itself, as Ops: nothing is compiled or declared for them, PyTorch knows it all."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import torch

from opbridge.errors import (
    CallError,
    KernelError,
    NoSuchOperatorError,
    OpbridgeError,
    SchemaError,
    UnsupportedError,
    did_you_mean,
)
from opbridge.frameworks.aten.matching import argument_order
from opbridge.schema import Schema

NAMESPACE = "aten"
DEFAULT = "default"
"""How PyTorch calls the overload that has no name."""


@dataclass
class _Registered:
    """What is registered with PyTorch's dispatcher; read again where a name is not among it."""

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
    """One overload of an operator, or all of them where none is named."""

    namespace: str
    name: str
    overload: str | None
    """Empty: the one without a name."""

    @classmethod
    def find(cls, text: str) -> AtenOperator:
        namespace, _, rest = text.partition("::")
        name, dot, overload = rest.partition(".")
        operator = cls(namespace, name, (overload if overload != DEFAULT else "") if dot else None)
        if operator not in _registered:
            raise NoSuchOperatorError(f"PyTorch has no operator {text}; {_registered.suggestion(operator)}")
        return operator

    @classmethod
    def registered(cls, full_name: str) -> AtenOperator:
        """The one overload that has exactly this name."""
        found = cls.find(full_name)
        return found if found.overload is not None else replace(found, overload="")

    @classmethod
    def one(cls, text: str) -> AtenOperator:
        """The overload that is named, or the only one."""
        found = cls.find(text)
        if len(found.functional) > 1 and found.overload is None:
            names = ", ".join(one.name() for one in found.functional)
            raise CallError(f"{text} has several overloads; name one of {names}")
        return found

    @property
    def qualified_name(self) -> str:
        return f"{self.namespace}::{self.name}"

    @property
    def full_name(self) -> str:
        return f"{self.qualified_name}.{self.overload}" if self.overload else self.qualified_name

    @property
    def packet(self) -> Any:
        return getattr(getattr(torch.ops, self.namespace), self.name)

    @property
    def torch(self) -> Any:
        """The operator in `torch.ops`."""
        return self.packet if self.overload is None else getattr(self.packet, self.overload or DEFAULT)

    @cached_property
    def overloads(self) -> tuple[Any, ...]:
        """In the order PyTorch tries them, those that write to an `out` last."""
        if self.overload is not None:
            chosen = getattr(self.packet, self.overload or DEFAULT)
            out = out_variant(self.packet, chosen)
            return (chosen,) if out is None else (chosen, out)
        return tuple(sorted(_dispatched(self.packet), key=_has_out))

    @property
    def functional(self) -> tuple[Any, ...]:
        """Those that make their results; where one is named, all of `overloads`."""
        return tuple(one for one in self.overloads if self.overload or not _has_out(one))

    @cached_property
    def schema(self) -> Schema:
        """The schema; of several overloads, that of the first."""
        return schema_of(self.overloads[0])


def forward_to(name: str, schema: str) -> tuple[str, tuple[int, ...]]:
    """The overload of an operator that a schema fits, and the order of the arguments."""
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


def _dispatched(packet: Any) -> list[Any]:
    """The overloads of a packet, without TorchScript's own on numbers and strings."""
    found = [getattr(packet, name) for name in packet.overloads()]
    return [overload for overload in found if overload.name() in _registered.names]


def _has_out(overload: Any) -> bool:
    return any(argument.is_out for argument in overload._schema.arguments)


def out_variant(packet: Any, functional: Any) -> Any:
    """The overload that takes the same arguments and writes into tensors of the caller."""
    wanted = [(argument.name, str(argument.type)) for argument in functional._schema.arguments]
    for overload in _dispatched(packet):
        arguments = overload._schema.arguments
        inputs = [(argument.name, str(argument.type)) for argument in arguments if not argument.is_out]
        if len(inputs) < len(arguments) and inputs == wanted:
            return overload
    return None


def target_names(operator: AtenOperator) -> tuple[tuple[str, str], ...]:
    """What the native `operator_target` takes: of each functional overload its name, and that of the overload which
    writes the results where the caller wants them."""
    return tuple((one.name(), _plain_out(operator, one)) for one in operator.functional)


def _plain_out(operator: AtenOperator, overload: Any) -> str:
    found = out_variant(operator.packet, overload)
    if found is None or any(argument.is_out and str(argument.type) != "Tensor" for argument in found._schema.arguments):
        return ""
    name: str = found.name()
    return name


def result_types(overload: Any) -> list[str]:
    """Of what it gives without side effects: what it returns, and then what it writes to and does not return."""
    schema = overload._schema
    returned = {name for output in schema.returns if output.alias_info for name in output.alias_info.before_set}
    written = (each for each in schema.arguments if each.is_write and not returned & each.alias_info.before_set)
    return [str(each.type) for each in (*schema.returns, *written)]


def needs_values(overload: Any) -> bool:
    """Whether what it returns is nothing that a traced program can hold, or cannot be told without running it."""
    if torch.Tag.data_dependent_output in overload.tags:
        return True
    tensors = all(str(output.type) in ("Tensor", "List[Tensor]") for output in overload._schema.returns)
    return not tensors or not torch._C._dispatch_has_computed_kernel_for_dispatch_key(overload.name(), "Meta")


def schema_of(overload: Any) -> Schema:
    try:
        return Schema.parse(str(overload._schema))
    except SchemaError as error:
        raise UnsupportedError(f"{overload}: its schema is not one of tensors: {overload._schema}") from error


_REFUSALS = (TypeError, ValueError, IndexError)


def translated(name: str, error: BaseException) -> BaseException:
    """What PyTorch raises for an operator, as an error of opbridge; anything else stays what it is."""
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
