"""A converted network beside PyTorch's: values, the gradient of every parameter, and steps of training."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import mindspore as ms
import numpy as np
import torch

from opbridge.conversion.converting import imported

TOLERANCE = 1e-4
"""Of the largest number that PyTorch has in a tensor."""
_STEPS = 3
_RATE = 0.01


@dataclass(frozen=True)
class Comparison:
    what: str
    """`value`, `gradient of conv1.weight`, `conv1.weight after 3 steps`."""
    difference: float
    """The largest, as a part of the largest number that PyTorch has there."""

    @property
    def is_right(self) -> bool:
        return self.difference <= TOLERANCE


def check(module: Any, folder: Path, args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[Comparison]:
    """The package beside the module, which is left as it was.  Both are compared as in inference: nothing is drawn."""
    before = {name: value.detach().clone() for name, value in module.state_dict().items()}
    gradients = {value: value.grad for value in module.parameters()}
    modes = {part: part.training for part in module.modules()}
    cell = imported(folder).load()
    try:
        module.eval()
        cell.set_train(False)
        return list(_compared(module, cell, args, kwargs))
    finally:
        module.load_state_dict(before)
        for value, gradient in gradients.items():
            value.grad = gradient
        for part, was in modes.items():
            part.training = was


def _compared(module: Any, cell: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Iterator[Comparison]:
    given = [ms.Tensor(each.detach().numpy()) for each in _tensors([*args, *kwargs.values()])]
    with torch.no_grad():
        expected = list(_tensors(module(*args, **kwargs)))
    got = list(_tensors(cell(*given)))
    if len(expected) != len(got):
        yield Comparison(f"{len(got)} results instead of {len(expected)}", float("inf"))
        return
    for place, (want, have) in enumerate(zip(expected, got, strict=True)):
        yield _comparison("value" if len(got) == 1 else f"value {place}", want, have)
    # The first results that a gradient comes through; weights make all of their elements count.
    index = next((i for i, each in enumerate(expected) if each.is_floating_point()), None)
    trained = {name: value for name, value in module.named_parameters() if value.requires_grad}
    if index is None or not trained:
        return
    factors = torch.linspace(-1, 1, expected[index].numel()).reshape(expected[index].shape).to(expected[index].dtype)
    yield from _trained(module, cell, (args, kwargs, given), (index, factors), trained)


def _trained(module: Any, cell: Any, inputs: Any, loss: Any, trained: Mapping[str, Any]) -> Iterator[Comparison]:
    (args, kwargs, given), (index, factors) = inputs, loss
    theirs = {value.name: value for value in cell.trainable_params()}
    weights = ms.Tensor(factors.numpy())

    def total(*tensors: Any) -> Any:
        return (list(_tensors(cell(*tensors)))[index] * weights).sum()

    parameters = ms.ParameterTuple([theirs[name] for name in trained])
    step = ms.value_and_grad(total, None, parameters)
    for number in range(_STEPS):
        module.zero_grad(set_to_none=True)
        (list(_tensors(module(*args, **kwargs)))[index] * factors).sum().backward()
        _, gradients = step(*given)
        for (name, value), gradient in zip(trained.items(), gradients, strict=True):
            wanted = torch.zeros_like(value) if value.grad is None else value.grad
            if not number:
                yield _comparison(f"gradient of {name}", wanted, gradient)
            theirs[name].set_data(theirs[name] - _RATE * gradient)
            with torch.no_grad():
                value.sub_(_RATE * wanted)
    for name, value in trained.items():
        yield _comparison(f"{name} after {_STEPS} steps", value, theirs[name])


def _comparison(what: str, want: Any, have: Any) -> Comparison:
    reference, array = want.detach().numpy(), have.asnumpy()
    if reference.shape != array.shape:
        return Comparison(f"{what}: shape {array.shape} instead of {reference.shape}", float("inf"))
    if not reference.size:
        return Comparison(what, 0.0)
    largest = max(float(np.abs(reference).max()), 1e-6)
    return Comparison(what, float(np.abs(array.astype(np.float64) - reference).max()) / largest)


def _tensors(value: Any) -> Iterator[Any]:
    if isinstance(value, Mapping):
        value = tuple(value.values())
    if isinstance(value, (tuple, list)):
        for each in value:
            yield from _tensors(each)
    elif isinstance(value, (torch.Tensor, ms.Tensor)):
        yield value
