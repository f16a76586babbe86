"""Run PyTorch operators whose outputs only a run can determine: MindSpore calls PyTorch immediately.

Tensors are exchanged by DLPack, without a copy. PyTorch computes gradients of any order, in PyNative mode.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import mindspore as ms
import torch
from mindspore import Tensor, nn, ops
from mindspore.utils.dlpack import from_dlpack, to_dlpack

from opbridge.frameworks.aten.aten_operator import result_types, translated
from opbridge.frameworks.mindspore.cell import DTYPES

_REFUSED = "is not differentiable with respect to argument"

_NOT_IN_DLPACK = (ms.bool_, ms.complex64, ms.complex128)
"""Element types that DLPack in MindSpore lacks; they go through NumPy, which shares the memory too."""

Function = Callable[[Sequence[torch.Tensor]], list[torch.Tensor]]


class TorchFunction(nn.Cell):  # type: ignore[misc]
    """A function of PyTorch tensors as a Cell, with its gradient."""

    def __init__(self, function: Function) -> None:
        super().__init__(auto_prefix=False)
        self._function = function

    def construct(self, *tensors: Tensor) -> Tensor | tuple[Tensor, ...]:
        """Run the function on MindSpore tensors."""
        with torch.no_grad():
            results = [from_torch(result) for result in self._function([to_torch(tensor) for tensor in tensors])]
        return results[0] if len(results) == 1 else tuple(results)

    def bprop(self, *args: object) -> tuple[Tensor, ...]:
        """Return the gradients of the inputs."""
        *inputs, _, gradients = args
        return _tuple(TorchFunction(_gradient(self._function, len(inputs)))(*inputs, *_tuple(gradients)))

    @staticmethod
    def call(
        name: str,
        overload: torch._ops.OpOverload,
        args: Sequence[object],
        kwargs: Mapping[str, object],
        attribute: Callable[[object], object],
    ) -> object:
        """Return what an overload returns for MindSpore arguments; raise errors of PyTorch as opbridge errors."""
        # MindSpore adds the gradients of all uses of a tensor, and cannot add bools.
        given = _tensors((*args, *kwargs.values()))
        tensors = [ops.stop_gradient(each) if each.dtype == ms.bool_ else each for each in given]
        written = {argument.name for argument in overload._schema.arguments if argument.is_write}

        def run(given: Sequence[torch.Tensor]) -> object:
            rest = iter(given)
            placed = [_placed(value, rest, attribute) for value in args]
            named = {key: _placed(value, rest, attribute) for key, value in kwargs.items()}
            names = [argument.name for argument in overload._schema.arguments]
            placed = [_unshared(value, names[place] in written) for place, value in enumerate(placed)]
            named = {key: _unshared(value, key in written) for key, value in named.items()}
            results = overload(*placed, **named)
            changed = [value for name, value in [*zip(names, placed, strict=False), *named.items()] if name in written]
            return _followed(results, changed)

        try:
            if any("Tensor" not in str(output.type) for output in overload._schema.returns):
                return _plain(run([to_torch(tensor) for tensor in tensors]))
            outputs = TorchFunction(lambda given: _flat(run(given)))(*tensors)
        except (RuntimeError, TypeError, ValueError, IndexError) as error:
            raise translated(name, error) from error
        return outputs if result_types(overload) == ["Tensor"] else _tuple(outputs)


def _tuple(outputs: object) -> tuple[Tensor, ...]:
    return outputs if isinstance(outputs, tuple) else (outputs,)


def _gradient(function: Function, count: int) -> Function:
    """Return the function from inputs and output gradients to input gradients, with zeros for missing ones."""

    def gradient(given: Sequence[torch.Tensor]) -> list[torch.Tensor]:
        again = torch.is_grad_enabled()
        with torch.enable_grad():
            inputs, outputs = _forward(function, given[:count])
            pairs = [(one, by) for one, by in zip(outputs, given[count:], strict=True) if one.requires_grad]
            wanted = [tensor for tensor in inputs if tensor.requires_grad]
            found: Iterator[torch.Tensor | None] = iter(
                torch.autograd.grad(
                    [one for one, _ in pairs],
                    wanted,
                    [by for _, by in pairs],
                    create_graph=again,
                    allow_unused=True,
                )
                if pairs and wanted
                else [None] * len(wanted)
            )
            gradients = [next(found) if tensor.requires_grad else None for tensor in inputs]
        return [torch.zeros_like(x) if dx is None else dx for x, dx in zip(given[:count], gradients, strict=True)]

    return gradient


def _forward(function: Function, given: Sequence[torch.Tensor]) -> tuple[list[torch.Tensor], list[torch.Tensor]]:
    """Return the inputs as leaves of a graph, and the outputs."""
    leaves = [_leaf(tensor) for tensor in given]
    try:
        return leaves, function(leaves)
    except RuntimeError as error:
        if _REFUSED not in str(error):
            raise
    # PyTorch refuses to run if an argument without a derivative requires a gradient.
    detached = [tensor.detach() for tensor in given]
    for place, leaf in enumerate(leaves):
        try:
            function([*detached[:place], leaf, *detached[place + 1 :]])
        except RuntimeError as error:
            if _REFUSED not in str(error):
                raise
            leaves[place] = detached[place]
    return leaves, function(leaves)


def _leaf(tensor: torch.Tensor) -> torch.Tensor:
    if tensor.requires_grad or not (tensor.is_floating_point() or tensor.is_complex()):
        return tensor
    return tensor.detach().requires_grad_()


def _tensors(values: Sequence[object]) -> Iterator[Tensor]:
    for value in values:
        if isinstance(value, Tensor):
            yield value
        elif isinstance(value, (list, tuple)):
            yield from _tensors(value)


def _placed(value: object, tensors: Iterator[torch.Tensor], attribute: Callable[[object], object]) -> object:
    if isinstance(value, Tensor):
        return next(tensors)
    if isinstance(value, (list, tuple)):
        return [_placed(item, tensors, attribute) for item in value]
    return attribute(value)


def _unshared(value: Tensor, written: bool) -> object:
    """Clone a tensor that is written to: MindSpore tensors stay unchanged, and the new value is returned."""
    if not written:
        return value
    return [item.clone() for item in value] if isinstance(value, list) else value.clone()


def _followed(results: object, changed: Sequence[object]) -> object:
    """Return what an operator returns, followed by what it writes to and does not return."""
    returned = () if results is None else results if isinstance(results, tuple) else (results,)
    more = [value for value in changed if not any(value is each for each in returned)]
    return (*returned, *more) if more else results


def _flat(results: torch.Tensor | Sequence[torch.Tensor]) -> list[torch.Tensor]:
    if isinstance(results, torch.Tensor):
        return [results]
    return [tensor for item in results for tensor in _flat(item)]


def _plain(results: object) -> object:
    if isinstance(results, torch.Tensor):
        return from_torch(results)
    return tuple(_plain(item) for item in results) if isinstance(results, (list, tuple)) else results


def to_torch(tensor: Tensor) -> torch.Tensor:
    """Return the tensor in PyTorch, sharing its memory."""
    plain = tensor.contiguous()
    if tensor.dtype in _NOT_IN_DLPACK:
        return torch.from_numpy(plain.asnumpy())
    shared: torch.Tensor = torch.utils.dlpack.from_dlpack(to_dlpack(plain))
    return shared


def from_torch(tensor: torch.Tensor) -> Tensor:
    """Return the tensor in MindSpore, sharing its memory; raise NotImplementedError if MindSpore has no such type."""
    if tensor.layout is not torch.strided or str(tensor.dtype).removeprefix("torch.") not in DTYPES:
        kind = tensor.dtype if tensor.layout is torch.strided else tensor.layout
        raise NotImplementedError(f"the result is {kind}, which MindSpore has no tensor for; call op.torch")
    plain = tensor.detach().resolve_conj().resolve_neg().contiguous()
    if plain.dtype is torch.bool or plain.is_complex():
        return Tensor.from_numpy(plain.numpy())
    return from_dlpack(torch.utils.dlpack.to_dlpack(plain))
