"""Register operators with PyTorch by `torch.library`; NumPy calls run the kernels on the memory of the tensors."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import torch
from torch import Tensor
from torch.utils import _pytree

from opbridge.base.errors import CallError, OpbridgeError, RuleError
from opbridge.frameworks.interface import Library
from opbridge.frameworks.torch.fake_outputs import bound, fake_outputs
from opbridge.frameworks.torch.uncompiled.batches import BatchRule, Dim
from opbridge.frameworks.torch.uncompiled.gradients import FormulaGradient
from opbridge.frameworks.torch.uncompiled.memory import TensorMemory, check_all_meta

if TYPE_CHECKING:
    from torch._functorch.autograd_function import VmapInfo


class UncompiledWarning(UserWarning):
    """Operators run in PyTorch without the native adapter."""


_defined: dict[str, _Operator] = {}


def define(library: Library, index: int, reason: OpbridgeError) -> str:
    """Register an operator, or replace what it does; return the text of the old schema if that changed.

    Raises:
        OpbridgeError: The operator is another name of a PyTorch operator, which needs the native adapter;
            `reason` is raised.
    """
    entry = library.catalog.entries[index]
    if entry.operator is not None:
        raise reason  # another name of a PyTorch operator needs the native adapter
    _say_once(str(reason))
    old = _defined.get(entry.name)
    operator = _Operator(library, index)
    if old is not None and old.schema_text == operator.schema_text:
        old.become(library, index)
        return ""
    if old is not None:
        old.forget()
    operator.register()
    _defined[entry.name] = operator
    return "" if old is None else old.schema_text


@functools.cache
def _say_once(reason: str) -> None:
    warnings.warn(
        "operators run in PyTorch by torch.library, slower than compiled, because the native adapter cannot be had:\n"
        f"  {reason}",
        UncompiledWarning,
        stacklevel=8,
    )


class _Operator:
    """The functions registered with PyTorch, which stay; what they run is the current definition."""

    def __init__(self, library: Library, index: int) -> None:
        self.schema_text = library.catalog.entries[index].schema
        self.become(library, index)

    def become(self, library: Library, index: int) -> None:
        self.library = library
        self.index = index
        self.__dict__.pop("gradient", None)
        self.__dict__.pop("batches", None)

    @cached_property
    def overload(self) -> torch._ops.OpOverload:
        schema = self.library.spec(self.index).schema
        packet = getattr(getattr(torch.ops, schema.namespace or ""), schema.name)
        return getattr(packet, schema.overload or "default")

    @cached_property
    def gradient(self) -> FormulaGradient:
        return FormulaGradient(self.library.spec(self.index), self.overload)

    @cached_property
    def batches(self) -> BatchRule:
        return BatchRule(self.library.spec(self.index), self.overload)

    def register(self) -> None:
        spec = self.library.spec(self.index)
        schema = spec.schema
        self._registered = torch.library.Library(schema.namespace or "", "FRAGMENT")
        name = schema.full_name
        self._registered.define(str(schema).removeprefix(f"{schema.namespace}::"), tags=(torch.Tag.pt2_compliant_tag,))
        short = name.removeprefix(f"{schema.namespace}::")
        self._registered.impl(short, self.run, "CompositeExplicitAutograd")
        torch.library.register_fake(name, self.fake, lib=self._registered)
        if not schema.tensor_arguments:
            return
        self._registered.impl(short, self.differentiated, "Autograd", with_keyset=True)
        self._registered.impl(short, self.promoted, "AutocastCPU")
        if not any(item.alias for item in schema.arguments):  # PyTorch accepts no vmap from Python for others
            torch.library.register_vmap(name, self.mapped, lib=self._registered)

    def forget(self) -> None:
        self._registered._destroy()

    def run(self, *args: object, **kwargs: object) -> object:
        memory = TensorMemory(self.library.catalog.names[self.index])
        function = self.library.view(self.index, "numpy")
        given = [memory.array(value) for value in args]
        results = function(*given, **{name: memory.array(value) for name, value in kwargs.items()})
        return tuple(map(memory.tensor, results)) if isinstance(results, tuple) else memory.tensor(results)

    def differentiated(self, keys: object, *args: object, **kwargs: object) -> object:
        return self.gradient(keys, *args, **kwargs)

    def mapped(self, info: VmapInfo, in_dims: Sequence[Dim], *args: object, **kwargs: object) -> object:
        return self.batches(info, in_dims, *args, **kwargs)

    def promoted(self, *args: object, **kwargs: object) -> object:
        """Promote mixed float types to the widest under autocast, as PyTorch operators that promote do."""
        leaves, form = _pytree.tree_flatten((args, kwargs))
        types = {leaf.dtype for leaf in leaves if _is_narrow(leaf)}
        if len(types) > 1:
            widest = functools.reduce(torch.promote_types, types)
            leaves = [leaf.to(widest) if _is_narrow(leaf) else leaf for leaf in leaves]
        args, kwargs = _pytree.tree_unflatten(leaves, form)
        with torch._C._ExcludeDispatchKeyGuard(torch._C.DispatchKeySet(torch._C.DispatchKey.AutocastCPU)):
            return self.overload(*args, **kwargs)

    def fake(self, *args: object, **kwargs: object) -> object:
        spec = self.library.spec(self.index)
        arguments = bound(spec, args, kwargs)
        check_all_meta(spec.schema.full_name, arguments)
        try:
            return fake_outputs(spec, arguments)
        except RuleError as error:
            raise CallError(f"{spec.schema.full_name}: {error.message}") from None


def call(operator: Callable[..., object], translate: Callable[[BaseException], BaseException]) -> Callable[..., object]:
    """Return what `op(...)` runs."""

    def run(*args: object, **kwargs: object) -> object:
        try:
            return operator(*args, **kwargs)
        except Exception as error:
            raise translate(error) from error.__cause__

    return run


def _is_narrow(value: object) -> bool:
    return isinstance(value, Tensor) and value.is_floating_point() and value.dtype != torch.float64
