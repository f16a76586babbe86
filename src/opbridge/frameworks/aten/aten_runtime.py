"""Open operators of PyTorch as Ops, for `ob.aten`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from opbridge.base.errors import UnsupportedError
from opbridge.frameworks import FRAMEWORKS, aten_adapter, framework, need
from opbridge.frameworks.aten.aten_operator import DEFAULT, NAMESPACE, AtenOperator
from opbridge.frameworks.dispatch import NativeOp, framework_for, operators
from opbridge.frameworks.pickling import pickle_by_operator

if TYPE_CHECKING:
    from opbridge.waist.manifest import OpSpec
    from opbridge.waist.op import Op


def open_operator(name: str) -> Op:
    """Return the Op of an operator that is registered with PyTorch; a name without a namespace is an ATen operator."""
    qualified = name if "::" in name else f"{NAMESPACE}::{name}"
    if qualified in operators:
        return operators[qualified]
    operator = AtenOperator.find(qualified)
    op = operators.setdefault(qualified, NativeOp(qualified))
    op.bind(AtenRuntime(qualified, operator), 0)
    return op


@dataclass
class AtenRuntime:
    """The runtime of the Op of a PyTorch operator."""

    name: str
    """The name of its Op."""
    operator: AtenOperator
    _views: dict[str, object] = field(default_factory=dict)

    def spec(self, index: int) -> OpSpec:
        """Return a declaration without rules; PyTorch provides them."""
        return self._spec

    @cached_property
    def _spec(self) -> OpSpec:
        from opbridge.waist.manifest import OpSpec
        from opbridge.waist.manifest.kernel_origins import KernelRef
        from opbridge.waist.rules import Rules

        return OpSpec(self.operator.schema, Rules(), (KernelRef("cpu", operator=self.operator.full_name),))

    def schema_text(self, index: int) -> str:
        """Return the schema; the name if it covers several overloads."""
        return str(self.operator.torch._schema) if self.operator.overload is not None else self.operator.qualified_name

    def frameworks(self) -> tuple[str, ...]:
        """Return the frameworks that support ATen operators."""
        return tuple(row.name for row in FRAMEWORKS.values() if row.runs_aten)

    def view(self, index: int, framework: str) -> Any:
        """Return the view of the operator in a framework, building it on first use."""
        if framework not in self._views:
            self._views[framework] = view(self.operator, framework)
            pickle_by_operator(self._views[framework], operators[self.name], framework)
        return self._views[framework]

    def callable_for(self, index: int, op: Op, args: tuple[object, ...], kwargs: Mapping[str, object]) -> object:
        """Return what runs a call with these arguments, and remember it for their type."""
        framework, decided_by = framework_for(op.name, str(self.operator.schema), args, kwargs)
        target = self.view(index, framework.name)
        if isinstance(op, NativeOp):
            op.remember(decided_by, target)
        return target

    def reopen(self, index: int) -> tuple[Callable[..., Op], tuple[object, ...]]:
        """Return the function and arguments that open the operator again when it is unpickled."""
        operator = self.operator
        name = operator.full_name if operator.overload != "" else f"{operator.qualified_name}.{DEFAULT}"
        return open_operator, (name,)


def view(operator: AtenOperator, name: str) -> Any:
    """Return the native object of a framework for a PyTorch operator; raise UnsupportedError if it cannot have one."""
    need(framework(name))
    found = aten_adapter(name)
    if found is None:
        raise UnsupportedError(f"{operator.full_name} cannot be had in {name}")
    return found.view(operator)
