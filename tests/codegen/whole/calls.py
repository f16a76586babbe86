"""Calls of PyTorch's operators with tensors on the CPU, taken from PyTorch's own samples of what its functions take."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from guesses import guessed
from torch.fx.experimental.proxy_tensor import make_fx
from torch.testing._internal import common_methods_invocations as samples_of
from torch.testing._internal.opinfo.core import OpInfo, SampleInput
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import TorchDispatchMode

Overload = Any
_DTYPES = (torch.float32, torch.int64, torch.bool, torch.complex64)
_CALLS_EACH = 3
_SAMPLES_EACH = 6
_TRACED_EACH = 2
_SEED = 1
_LISTS = ("op_db", *(f"foreach_{kind}_op_db" for kind in ("unary", "binary", "pointwise", "reduce", "other")))
_ENTRIES = [entry for name in _LISTS for entry in getattr(samples_of, name)]

_PLAIN = (torch.Tensor, int, float, complex, str, type(None), torch.dtype, torch.device, torch.layout)
"""Leaves of arguments that can be kept in a file."""


@dataclass(frozen=True)
class Call:
    overload: Overload
    arguments: tuple[Any, ...]
    named: dict[str, Any]

    @classmethod
    def of(cls, overload: Overload, arguments: Any, named: Any) -> Call:
        """With tensors of its own."""
        return cls(overload, *pytree.tree_map_only(torch.Tensor, _copied, (tuple(arguments), dict(named))))


def _copied(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.detach().clone() if tensor.layout == torch.strided else tensor.detach()


class _Calls:
    """The first few calls of each of each operator."""

    def __init__(self) -> None:
        self.found: dict[str, list[Call]] = {}

    def note(self, call: Call) -> None:
        known = self.found.setdefault(call.overload.name(), [])
        is_plain = all(isinstance(leaf, _PLAIN) for leaf in pytree.tree_leaves((call.arguments, call.named)))
        if len(known) < _CALLS_EACH and is_plain:
            known.append(call)


class _BelowAutograd(TorchDispatchMode):
    def __init__(self, calls: _Calls) -> None:
        super().__init__()
        self.calls = calls

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        call = Call.of(func, args, kwargs or {})
        result = func(*args, **(kwargs or {}))
        self.calls.note(call)
        return result


class _AboveAutograd(torch.fx.Interpreter):
    def __init__(self, graph: torch.fx.GraphModule, calls: _Calls) -> None:
        super().__init__(graph)
        self.calls = calls

    def call_function(self, target: Any, args: Any, kwargs: Any) -> Any:
        call = Call.of(target, args, kwargs)
        result = super().call_function(target, args, kwargs)
        if isinstance(target, torch._ops.OpOverload):
            self.calls.note(call)
        return result


def calls(names: Collection[str]) -> dict[str, list[Call]]:
    """By the operator's name; none of one where nothing is found that PyTorch takes."""
    taken = _Calls()
    for entry in _ENTRIES:
        for dtype in (dtype for dtype in _DTYPES if dtype in entry.dtypes):
            for place, sample in enumerate(_samples(entry, dtype)):
                _take(entry, sample, taken, above=place < _TRACED_EACH)
    reached = {name: some for name, some in taken.found.items() if name in names and some}
    others = {name: list(_of_variants(name, taken.found)) for name in sorted(set(names) - set(reached))}
    reached |= {name: some for name, some in others.items() if some}
    for name in sorted(set(names) - set(reached)):
        reached[name] = [Call.of(overload(name), *each) for each in guessed(overload(name), _CALLS_EACH)]
    return reached


def overload(name: str) -> Overload:
    packet, _, kind = name.removeprefix("aten::").partition(".")
    return getattr(getattr(torch.ops.aten, packet), kind or "default")


def _samples(entry: OpInfo, dtype: torch.dtype) -> list[SampleInput]:
    gradients = entry.supports_autograd and dtype in entry.supported_backward_dtypes("cpu")
    torch.manual_seed(_SEED)
    try:
        samples = entry.sample_inputs("cpu", dtype, requires_grad=gradients)
        return [sample for _, sample in zip(range(_SAMPLES_EACH), samples, strict=False)]
    except Exception:  # samples of what this build of PyTorch lacks
        return []


def _take(entry: OpInfo, sample: SampleInput, taken: _Calls, *, above: bool) -> None:
    def call() -> Any:
        return entry.op(sample.input, *sample.args, **sample.kwargs)

    try:
        with _BelowAutograd(taken):
            leaves = pytree.tree_leaves(call())
            outputs = [leaf for leaf in leaves if isinstance(leaf, torch.Tensor) and leaf.requires_grad]
            if outputs:
                torch.autograd.backward(outputs, [torch.ones_like(output) for output in outputs])
        if above:
            _AboveAutograd(make_fx(call, pre_dispatch=True)(), taken).run()
    except Exception:  # a sample that PyTorch itself cannot run, or trace, says nothing of anybody
        pass


def _of_variants(name: str, found: dict[str, list[Call]]) -> Iterator[Call]:
    """An operator that writes to memory there is, called as one that does the same into new memory."""
    target, packet = overload(name), name.removeprefix("aten::").partition(".")[0]
    if not any(argument.is_write for argument in target._schema.arguments):
        return
    for base in {packet, packet.removesuffix("_"), packet.removesuffix("_out")}:
        others = getattr(torch.ops.aten, base, None)
        for other in others.overloads() if others is not None else ():
            for call in found.get(getattr(others, other).name(), ()):
                try:
                    yield _checked(_writing(target, call))
                except Exception:  # sizes or types that this variant does not take
                    continue


def _writing(target: Overload, call: Call) -> Call:
    """The same call of a variant; what it writes to beside its inputs is made for it."""
    known = [argument.name for argument in call.overload._schema.arguments]
    values = dict(zip(known, call.arguments, strict=False)) | call.named
    arguments = target._schema.arguments
    made = [argument.name for argument in arguments if argument.is_write and argument.name not in values]
    if made:
        results = call.overload(*call.arguments, **call.named)
        results = results if isinstance(results, tuple) else (results,)
        memory = pytree.tree_map_only(torch.Tensor, torch.empty_like, results)
        values |= dict(zip(made, memory, strict=True))
    positional = [argument.name for argument in arguments if not argument.kwarg_only]
    count = next((index for index, name in enumerate(positional) if name not in values), len(positional))
    named = {name: value for name, value in values.items() if name not in positional[:count]}
    return Call.of(target, [values[name] for name in positional[:count]], named)


def _checked(call: Call) -> Call:
    copy = Call.of(call.overload, call.arguments, call.named)
    copy.overload(*copy.arguments, **copy.named)
    return call
