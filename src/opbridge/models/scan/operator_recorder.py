"""Record every operator that a running model calls, above autograd and before PyTorch decomposes it.

A model that moves to another framework needs the operators that it calls. The top of the dispatcher shows them: there
`scaled_dot_product_attention` is one operator. A TorchDispatchMode is below autograd and sees the pieces. A
TorchFunctionMode sees Python functions and has to guess their operators. A mode before autograd is reserved for
PyTorch. A fallback remains on a dispatch key that this process does not use otherwise.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from types import FrameType

import torch
from torch._ops import OpOverload

from opbridge.models.scan.nested_values import tensors
from opbridge.models.scan.verdicts import CallSite, ScannedOperator

_KEY = torch._C.DispatchKey.AutocastIPU
"""A key above autograd and above CPU autocast, of a device for which PyTorch ships no kernels."""

_BOOKKEEPING = (
    "_has_same_storage_numel",
    "alias",
    "detach",
    "detach_",
    "is_same_size",
    "lift_fresh",
    "lift_fresh_copy",
    "record_stream",
    "resolve_conj",
    "resolve_neg",
    "set_data",
)
"""Operators for PyTorch's own tensor management, which other frameworks do not need."""
_FOREIGN = {"c10d", "prim", "prims", "profiler"}

_TORCH = os.path.dirname(torch.__file__) + os.sep
_OPBRIDGE = os.path.dirname(os.path.dirname(os.path.dirname(__file__))) + os.sep
_NOT_THE_MODEL = tuple(
    _TORCH + part.replace("/", os.sep)
    for part in ("nn/init.py", "optim/", "autograd/__init__.py", "utils/data/", "_tensor_str.py", "serialization.py")
)
_MODULES = os.path.join(_TORCH, "nn", "modules", "")
_NOT_FORWARD = {"__init__", "reset_parameters", "_reset_parameters", "_apply", "load_state_dict"}
"""Methods of torch modules that prepare a module."""

_MOST_EXAMPLES = 8
"""Examples kept per operator: a script may slice a tensor in a thousand places."""
_MOST_ELEMENTS = 1 << 25
"""Elements in the tensors of one example, which is written to disk and runs in two frameworks."""

_active: Recorder | None = None


class Recorder:
    """A recorder of the operators that this thread calls; `operators` has them by name."""

    def __init__(self, folder: Path, most_examples: int = _MOST_EXAMPLES) -> None:
        self._folder = folder
        self._most_examples = most_examples
        self._modules: list[str] = []
        self._names: dict[int, str] = {}
        self.operators: dict[str, ScannedOperator] = {}

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Record operator calls and module entries while the context is open."""
        global _active
        _register()
        hooks = torch.nn.modules.module
        enter = hooks.register_module_forward_pre_hook(self._enter_module)
        leave = hooks.register_module_forward_hook(self._leave_module, always_call=True)
        _active = self
        # Autocast keys are excluded in every thread until they are switched on.
        torch._C._dispatch_tls_set_dispatch_key_excluded(_KEY, False)
        try:
            with torch._C._IncludeDispatchKeyGuard(_KEY):
                yield
        finally:
            torch._C._dispatch_tls_set_dispatch_key_excluded(_KEY, True)
            _active = None
            enter.remove()
            leave.remove()

    def _enter_module(self, module: torch.nn.Module, _: object) -> None:
        if _is_compiled(module):
            return
        if not self._modules:
            self._names = {id(part): name for name, part in module.named_modules(prefix=type(module).__name__)}
        self._modules.append(self._names.get(id(module), type(module).__name__))

    def _leave_module(self, module: object, *_: object) -> None:
        # A module that was entered before the recording only has its exit recorded.
        if self._modules and not _is_compiled(module):
            self._modules.pop()

    def see(self, op: OpOverload, args: tuple[object, ...], kwargs: Mapping[str, object]) -> None:
        """Record a call, unless it belongs to the backward pass or is not part of the model."""
        # Methods of torch.classes pass through the dispatcher too, and the backward pass belongs to PyTorch.
        if type(op) is not OpOverload or torch._C._current_graph_task_id() != -1:
            return
        line = None if op.namespace in _FOREIGN else _line()
        if line is None:
            return
        form = functional(op)
        name = form._name
        operator = self.operators.get(name)
        if operator is None:
            place = CallSite(self._modules[-1] if self._modules else "", line)
            operator = self.operators[name] = ScannedOperator(name, str(form._schema), place)
        operator.calls += 1
        self._keep_example(operator, form, args, kwargs)

    def _keep_example(
        self, operator: ScannedOperator, op: OpOverload, args: tuple[object, ...], kwargs: Mapping[str, object]
    ) -> None:
        arguments = dict(zip((item.name for item in op._schema.arguments), args, strict=False)) | dict(kwargs)
        known = {item.name for item in op._schema.arguments}
        arguments = {name: value for name, value in arguments.items() if name in known}
        given = list(tensors(arguments))
        operator.dtypes.update(str(tensor.dtype).removeprefix("torch.") for tensor in given)
        signature = tuple((name, described(value)) for name, value in arguments.items())
        if signature in operator.signatures or len(operator.signatures) == self._most_examples:
            return
        if _is_transforming() or not all(map(_is_plain, given)):
            return
        if sum(tensor.numel() for tensor in given) > _MOST_ELEMENTS:
            return
        operator.signatures.add(signature)
        kept = {name: _kept(value) for name, value in arguments.items() if not isinstance(value, _PLACEMENT)}
        path = self._folder / f"{len(list(self._folder.iterdir()))}.pt"
        torch.save({"operator": operator.name, "arguments": kept}, path)
        operator.examples.append(path)


def _is_compiled(module: object) -> bool:
    """Return whether a module is the wrapper of torch.compile around a model; the model itself is reported."""
    return type(module).__name__ == "OptimizedModule"


@cache
def _register() -> tuple[object, ...]:
    """Register the fallback for good: PyTorch has no public way to remove one."""
    everything = torch.library.Library("_", "IMPL")
    everything.fallback(_pass_on, _KEY.name)
    aten = torch.library.Library("aten", "IMPL")
    for name in _BOOKKEEPING:
        # These bypass Python: a Parameter is made from a detached tensor that Python must not have touched yet.
        aten.impl(name, torch.library.fallthrough_kernel, _KEY.name)
    return everything, aten


def _pass_on(op: OpOverload, *args: object, **kwargs: object) -> object:
    with torch._C._ExcludeDispatchKeyGuard(torch._C.DispatchKeySet(_KEY)):
        if _active is not None:
            _active.see(op, args, kwargs)
        return op(*args, **kwargs)


@cache
def functional(op: OpOverload) -> OpOverload:
    """Return the overload with the same arguments that writes to none of them, or `op` if there is none."""
    if not op._schema.is_mutable:
        return op
    wanted = [(item.name, str(item.type)) for item in op._schema.arguments if not item.is_out]
    packets = getattr(torch.ops, op.namespace)
    for name in _functional_names(op._opname):
        packet = getattr(packets, name, None)
        for overload in packet.overloads() if packet else ():
            candidate = getattr(packet, overload)
            given = [(item.name, str(item.type)) for item in candidate._schema.arguments]
            if given == wanted and not candidate._schema.is_mutable:
                return candidate
    return op


def _functional_names(name: str) -> tuple[str, ...]:
    if name.startswith("__i"):
        return (f"__{name[3:]}",)  # __iand__ is the in-place __and__
    return (name.removesuffix("_"), f"{name.removesuffix('_')}_functional")


def _line() -> str | None:
    """Return the user's line that makes the call, or torch's line if the model is torch's own.

    Return None if the call is not part of the model.
    """
    users, torchs = "", ""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        file = frame.f_code.co_filename
        if file.startswith(_NOT_THE_MODEL):
            return None
        if file.startswith(_TORCH):
            if frame.f_code.co_name in _NOT_FORWARD:
                return None
            if not torchs and file.startswith(_MODULES):
                torchs = f"torch/{file.removeprefix(_TORCH)}:{frame.f_lineno}"
        elif not users and not file.startswith((_OPBRIDGE, "<")):
            users = f"{os.path.relpath(file)}:{frame.f_lineno}"
        frame = frame.f_back
    return users or torchs


_PLACEMENT = (torch.device, torch.layout, torch.memory_format, torch.Generator)
"""Types that describe where and how values are stored; other frameworks express this differently."""


def _is_transforming() -> bool:
    """Return whether a transform such as vmap is active, which would also transform the copying of a tensor."""
    return torch._C._functorch.peek_interpreter_stack() is not None


def _is_plain(tensor: torch.Tensor) -> bool:
    """Return whether the values can be read: not those of a subclass, or a sparse, nested or meta tensor."""
    kind = type(tensor)
    return kind in (torch.Tensor, torch.nn.Parameter) and tensor.layout is torch.strided and not tensor.is_meta


def described(value: object) -> object:
    """Return what distinguishes calls: everything except sizes and values of tensors."""
    if isinstance(value, torch.Tensor):
        return (value.dtype, value.ndim, value.requires_grad and torch.is_grad_enabled())
    if isinstance(value, (list, tuple)):
        return tuple(map(described, value))
    return value if isinstance(value, (bool, int, float, str, type(None))) else str(value)


def _kept(value: object) -> object:
    if isinstance(value, torch.Tensor):
        wants_gradient = value.requires_grad and torch.is_grad_enabled()
        return value.detach().cpu().clone().requires_grad_(wants_gradient)
    if isinstance(value, (list, tuple)):
        return [_kept(item) for item in value]
    return value
