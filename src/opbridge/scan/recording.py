"""Watching a model run: every operator it asks PyTorch for, above autograd and before PyTorch takes it apart.

What a model calls is what somebody moving it has to find elsewhere, so the place to look is the top of the dispatcher,
where `scaled_dot_product_attention` is one operator.  A TorchDispatchMode stands below autograd and sees the pieces;
a TorchFunctionMode sees Python functions and has to guess their operators; a mode before autograd is kept for PyTorch's
own.  What is open there is a fallback on a dispatch key that this process has no other use for.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from types import FrameType
from typing import Any

import torch
from torch._ops import OpOverload

from opbridge.scan.model import Place, ScannedOperator

_KEY = torch._C.DispatchKey.AutocastIPU
"""Above autograd and above the CPU's own autocast, and of a device that PyTorch ships no kernels for."""

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
"""What PyTorch does to its tensors and other frameworks need not."""
_FOREIGN = {"c10d", "prim", "prims", "profiler"}

_TORCH = os.path.dirname(torch.__file__) + os.sep
_OPBRIDGE = os.path.dirname(os.path.dirname(__file__)) + os.sep
_NOT_THE_MODEL = tuple(
    _TORCH + part.replace("/", os.sep)
    for part in ("nn/init.py", "optim/", "autograd/__init__.py", "utils/data/", "_tensor_str.py", "serialization.py")
)
_MODULES = os.path.join(_TORCH, "nn", "modules", "")
_NOT_FORWARD = {"__init__", "reset_parameters", "_reset_parameters", "_apply", "load_state_dict"}
"""Methods of torch's modules that prepare one."""

_MOST_EXAMPLES = 8
"""Of one operator: a script may slice a tensor in a thousand places."""
_MOST_ELEMENTS = 1 << 25
"""In the tensors of one example, which goes to the disk and through two frameworks."""

_active: Recorder | None = None


class Recorder:
    """A context in which the operators that this thread calls are noted; `operators` has them by name."""

    def __init__(self, folder: Path, most_examples: int = _MOST_EXAMPLES) -> None:
        self._folder = folder
        self._most_examples = most_examples
        self._modules: list[str] = []
        self._names: dict[int, str] = {}
        self.operators: dict[str, ScannedOperator] = {}

    @contextmanager
    def watching(self) -> Iterator[None]:
        global _active
        _register()
        hooks = torch.nn.modules.module
        enter = hooks.register_module_forward_pre_hook(self._enter_module)
        leave = hooks.register_module_forward_hook(self._leave_module, always_call=True)
        _active = self
        # Keys of autocast are switched off for every thread until somebody wants them.
        torch._C._dispatch_tls_set_dispatch_key_excluded(_KEY, False)
        try:
            with torch._C._IncludeDispatchKeyGuard(_KEY):
                yield
        finally:
            torch._C._dispatch_tls_set_dispatch_key_excluded(_KEY, True)
            _active = None
            enter.remove()
            leave.remove()

    def _enter_module(self, module: Any, _: Any) -> None:
        if _is_compiled(module):
            return
        if not self._modules:
            self._names = {id(part): name for name, part in module.named_modules(prefix=type(module).__name__)}
        self._modules.append(self._names.get(id(module), type(module).__name__))

    def _leave_module(self, module: Any, *_: Any) -> None:
        # Of a module that was entered before the recorder was there, only the leaving is seen.
        if self._modules and not _is_compiled(module):
            self._modules.pop()

    def see(self, op: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
        # torch.classes' methods come through the dispatcher too, and the backward pass is PyTorch's own.
        if type(op) is not OpOverload or torch._C._current_graph_task_id() != -1:
            return
        line = None if op.namespace in _FOREIGN else _line()
        if line is None:
            return
        form = functional(op)
        name = form._name
        operator = self.operators.get(name)
        if operator is None:
            place = Place(self._modules[-1] if self._modules else "", line)
            operator = self.operators[name] = ScannedOperator(name, str(form._schema), place)
        operator.calls += 1
        self._keep_example(operator, form, args, kwargs)

    def _keep_example(
        self, operator: ScannedOperator, op: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> None:
        arguments = dict(zip((item.name for item in op._schema.arguments), args, strict=False)) | dict(kwargs)
        known = {item.name for item in op._schema.arguments}
        arguments = {name: value for name, value in arguments.items() if name in known}
        tensors = list(_tensors(list(arguments.values())))
        operator.dtypes.update(str(tensor.dtype).removeprefix("torch.") for tensor in tensors)
        signature = tuple((name, described(value)) for name, value in arguments.items())
        if signature in operator.signatures or len(operator.signatures) == self._most_examples:
            return
        if _is_transforming() or not all(map(_is_plain, tensors)):
            return
        if sum(tensor.numel() for tensor in tensors) > _MOST_ELEMENTS:
            return
        operator.signatures.add(signature)
        kept = {name: _kept(value) for name, value in arguments.items() if not isinstance(value, _PLACEMENT)}
        path = self._folder / f"{len(list(self._folder.iterdir()))}.pt"
        torch.save({"operator": operator.name, "arguments": kept}, path)
        operator.examples.append(path)


def _is_compiled(module: Any) -> bool:
    """Whether it is what torch.compile puts around a model, which is then the one to speak of."""
    return type(module).__name__ == "OptimizedModule"


@cache
def _register() -> tuple[Any, ...]:
    """What is registered stays for good: PyTorch has no public way to take a fallback back."""
    everything = torch.library.Library("_", "IMPL")
    everything.fallback(_pass_on, _KEY.name)
    aten = torch.library.Library("aten", "IMPL")
    for name in _BOOKKEEPING:
        # Not even seen: a Parameter is made from a detached tensor that must not have met Python yet.
        aten.impl(name, torch.library.fallthrough_kernel, _KEY.name)
    return everything, aten


def _pass_on(op: Any, *args: Any, **kwargs: Any) -> Any:
    with torch._C._ExcludeDispatchKeyGuard(torch._C.DispatchKeySet(_KEY)):
        if _active is not None:
            _active.see(op, args, kwargs)
        return op(*args, **kwargs)


@cache
def functional(op: Any) -> Any:
    """The overload with the same arguments that writes to none of them, or `op` itself where there is none."""
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
        return (f"__{name[3:]}",)  # __iand__ is __and__ in place
    return (name.removesuffix("_"), f"{name.removesuffix('_')}_functional")


def _line() -> str | None:
    """The user's line that the call comes from, or torch's where the model is torch's own.

    None: the call is no part of the model.
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
"""Where and how values lie, which another framework says in its own way."""


def _tensors(value: Any) -> Iterator[Any]:
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _tensors(item)


def _is_transforming() -> bool:
    """Whether a transform such as vmap is at work, which would transform what is done to keep a tensor too."""
    return torch._C._functorch.peek_interpreter_stack() is not None


def _is_plain(tensor: Any) -> bool:
    """Whether its values can be had: not those of a subclass, sparse, nested or meta tensor."""
    kind = type(tensor)
    return kind in (torch.Tensor, torch.nn.Parameter) and tensor.layout is torch.strided and not tensor.is_meta


def described(value: Any) -> object:
    """What tells two calls apart: everything except sizes and values of tensors."""
    if isinstance(value, torch.Tensor):
        return (value.dtype, value.ndim, value.requires_grad and torch.is_grad_enabled())
    if isinstance(value, (list, tuple)):
        return tuple(map(described, value))
    return value if isinstance(value, (bool, int, float, str, type(None))) else str(value)


def _kept(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        wants_gradient = value.requires_grad and torch.is_grad_enabled()
        return value.detach().cpu().clone().requires_grad_(wants_gradient)
    if isinstance(value, (list, tuple)):
        return [_kept(item) for item in value]
    return value
