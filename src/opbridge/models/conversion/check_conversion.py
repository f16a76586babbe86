"""Compare a converted network with PyTorch: values, the gradient of every parameter, and training steps."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import torch

from opbridge.base.errors import UnsupportedError
from opbridge.models.conversion.comparison import TOLERANCE, Comparison
from opbridge.models.conversion.convert_module import array_of, imported
from opbridge.models.conversion.exported_graphs import in_mode
from opbridge.models.conversion.frameworks_under_test import Array, Side
from opbridge.models.conversion.rounding_growth import carried, descend, gradients_apart
from opbridge.models.conversion.saved_values import put_back, taken_aside
from opbridge.models.scan.nested_values import tensors

_STEPS = 3
_RATE = 0.01
_LEAST = 1e-6
_ROUNDING = 1e-2
"""A fraction of the network's largest gradient: multiplied by the tolerance, it is the float32 rounding error.  A
gradient that is zero except for rounding is no larger: the bias of attention keys, or a bias before a batch norm.  The
same holds for a running mean that is zero except for rounding."""


def check(
    module: torch.nn.Module, folder: Path, args: Sequence[object], kwargs: Mapping[str, object]
) -> list[Comparison]:
    """Compare the package in `folder` with the module, and leave the module unchanged.

    Training is compared too, if the network draws no random numbers there.

    Raises:
        UnsupportedError: The network draws random numbers in inference.
    """
    before = taken_aside(module)
    gradients = {value: value.grad for value in module.parameters()}
    side = loaded_side(imported(folder).load(), arrays(args, kwargs))
    try:
        with in_mode(module, training=False):
            found = list(_compared(module, side, args, kwargs))
        module.zero_grad()
        # With the weights that the inference steps trained, the batches of a normalizing network may overflow.
        put_back(module, before)
        for name in _trained_parameters(module):
            side.set(name, array_of(before[name]))
        with in_mode(module, training=True):
            return [*found, *_compared_in_training(module, side, args, kwargs)]
    finally:
        put_back(module, before)
        for value, gradient in gradients.items():
            value.grad = gradient


def loaded_side(loaded: object, inputs: Sequence[Array]) -> Side:
    """Return the side for a loaded package: JAX has a function and its values, MindSpore a Cell."""
    if isinstance(loaded, tuple):
        from opbridge.models.conversion.jax_under_test import JaxSide

        return JaxSide(loaded, inputs)
    from opbridge.models.conversion.mindspore_under_test import MindSporeSide

    return MindSporeSide(loaded, inputs)


def _compared(
    module: torch.nn.Module, side: Side, args: Sequence[object], kwargs: Mapping[str, object]
) -> Iterator[Comparison]:
    if _draws(module, args, kwargs):
        raise UnsupportedError(
            f"{type(module).__name__} draws random numbers in inference too, so no two calls of it agree; "
            "check a network that takes the drawn values as an input"
        )
    with torch.no_grad():
        expected = list(tensors(module(*args, **kwargs)))
    yield from _values(expected, side.results())
    trained = _trained_parameters(module)
    if (loss := _loss(expected)) and trained:
        yield from _trained(module, side, (args, kwargs), loss, trained)


def _compared_in_training(
    module: torch.nn.Module, side: Side, args: Sequence[object], kwargs: Mapping[str, object]
) -> Iterator[Comparison]:
    """Yield the comparisons of one training step; none if random numbers are drawn."""
    if _draws(module, args, kwargs):
        return
    with _kept_buffers(module) as before:
        expected = list(tensors(module(*args, **kwargs)))
        side.train()
        trained = _trained_parameters(module)
        if (loss := _loss(expected)) and trained:
            yield from _gradients(module, side, expected, loss, trained, lambda: list(tensors(module(*args, **kwargs))))
        for name, value in before.items():
            side.set(name, array_of(value))
        yield from _values(expected, side.results(), " in training")
        buffers = dict(module.named_buffers())
        moved = [value for name, value in buffers.items() if not torch.equal(value, before[name])]
        least = max((_largest(each) for each in moved if each.is_floating_point()), default=0) * _ROUNDING
        for name, value in buffers.items():
            yield _comparison(f"{name} after training", value, side.value(name), max(least, _LEAST))


def _draws(module: torch.nn.Module, args: Sequence[object], kwargs: Mapping[str, object]) -> bool:
    """Return whether the results depend on random draws: a network that drops no layers may draw for nothing."""
    found = []
    for seed in (0, 1):
        with torch.random.fork_rng(devices=[]), torch.no_grad(), _kept_buffers(module):
            before = torch.manual_seed(seed).get_state()
            results = [*tensors(module(*args, **kwargs)), *module.buffers()]
            found.append([array_of(each).copy() for each in results])
            if torch.equal(before, torch.get_rng_state()):
                return False
    return any(one.tobytes() != other.tobytes() for one, other in zip(*found, strict=True))


@contextmanager
def _kept_buffers(module: torch.nn.Module) -> Iterator[dict[str, torch.Tensor]]:
    before = {name: value.clone() for name, value in module.named_buffers()}
    try:
        yield before
    finally:
        for name, value in module.named_buffers():
            value.copy_(before[name])


def _values(expected: Sequence[object], got: Sequence[Array], when: str = "") -> Iterator[Comparison]:
    if len(expected) != len(got):
        yield Comparison(f"{len(got)} results instead of {len(expected)}{when}", float("inf"))
        return
    for place, (want, have) in enumerate(zip(expected, got, strict=True)):
        yield _comparison(f"value{when}" if len(got) == 1 else f"value {place}{when}", want, have)


def _loss(results: Sequence[torch.Tensor]) -> tuple[int, torch.Tensor] | None:
    """Return the place of the first result that has a gradient, and its loss factors; None if there is none."""
    index = next((i for i, each in enumerate(results) if each.is_floating_point()), None)
    return None if index is None else (index, factors_of(results[index]))


def _trained_parameters(module: torch.nn.Module) -> dict[str, torch.nn.Parameter]:
    return {name: value for name, value in module.named_parameters() if value.requires_grad}


def _gradients(
    module: torch.nn.Module,
    side: Side,
    expected: Sequence[object],
    loss: tuple[int, torch.Tensor],
    trained: Mapping[str, object],
    results: Callable[[], Sequence[object]],
) -> Iterator[Comparison]:
    """Yield the gradient comparisons, with the rounding allowed that norms of few elements amplify."""
    wanted, gradients = _of_both(side, expected, loss, trained)
    least = dict.fromkeys(trained, max(map(_largest, wanted.values())) * _ROUNDING)
    found = _of_all(wanted, gradients, least)
    if not all(each.is_right for each in found):
        module.zero_grad(set_to_none=True)
        with _kept_buffers(module):
            apart = gradients_apart(trained, wanted, lambda: _of_pytorch(results(), loss, trained))
        found = _of_all(wanted, gradients, _no_less(least, apart))
    yield from found


def _of_all(
    wanted: Mapping[str, object], gradients: Mapping[str, Array], least: Mapping[str, float]
) -> list[Comparison]:
    name_of = "gradient of {} in training".format
    return [_comparison(name_of(name), wanted[name], have, least[name]) for name, have in gradients.items()]


def _no_less(least: Mapping[str, float], apart: Mapping[str, float]) -> dict[str, float]:
    """Return lower bounds under which rounding of the sizes in `apart` is not a difference."""
    return {name: max(one, apart.get(name, 0) / TOLERANCE) for name, one in least.items()}


def _of_both(
    side: Side,
    results: Sequence[torch.Tensor],
    loss: tuple[int, torch.Tensor],
    trained: Mapping[str, torch.nn.Parameter],
) -> tuple[dict[str, torch.Tensor], dict[str, Array]]:
    """Return the PyTorch gradients and the gradients of the converted network."""
    return _of_pytorch(results, loss, trained), side.gradients(loss[0], loss[1].numpy(), list(trained))


def _of_pytorch(
    results: Sequence[torch.Tensor], loss: tuple[int, torch.Tensor], trained: Mapping[str, torch.nn.Parameter]
) -> dict[str, torch.Tensor]:
    index, factors = loss
    (results[index] * factors).sum().backward()
    return {name: torch.zeros_like(each) if each.grad is None else each.grad for name, each in trained.items()}


def _trained(
    module: torch.nn.Module,
    side: Side,
    inputs: tuple[Sequence[object], Mapping[str, object]],
    loss: tuple[int, torch.Tensor],
    trained: Mapping[str, torch.nn.Parameter],
) -> Iterator[Comparison]:
    args, kwargs = inputs
    start, largest = taken_aside(module), 0.0

    def results() -> list[torch.Tensor]:
        module.zero_grad(set_to_none=True)
        return list(tensors(module(*args, **kwargs)))

    for number in range(_STEPS):
        wanted, gradients = _of_both(side, results(), loss, trained)
        largest = max(largest, *map(_largest, wanted.values()))  # The last gradients may be zero.
        for name in trained:
            if not number:
                yield _comparison(f"gradient of {name}", wanted[name], gradients[name], largest * _ROUNDING)
            side.set(name, side.value(name) - _RATE * gradients[name])
        descend(trained, wanted, _RATE)
    least = dict.fromkeys(trained, _RATE * largest * _ROUNDING)
    found = _after(side, trained, least)
    if all(each.is_right for each in found):
        yield from found
        return
    after = {name: value.detach().clone() for name, value in trained.items()}
    apart = carried(module, start, trained, lambda: _of_pytorch(results(), loss, trained), _STEPS, _RATE)
    yield from _after(side, after, _no_less(least, apart))


def _after(side: Side, values: Mapping[str, object], least: Mapping[str, float]) -> list[Comparison]:
    name_of = f"{{}} after {_STEPS} steps".format
    return [_comparison(name_of(name), value, side.value(name), least[name]) for name, value in values.items()]


def _comparison(what: str, want: object, have: Array, least: float = _LEAST) -> Comparison:
    reference = array_of(want)
    if reference.shape != have.shape:
        return Comparison(f"{what}: shape {have.shape} instead of {reference.shape}", float("inf"))
    return Comparison(what, difference(reference, have, least))


def difference(want: Array, have: Array, least: float = _LEAST) -> float:
    """Return the largest difference, relative to the largest finite number that is wanted.

    NaN and infinities must be the same on both sides. `least` is the lower bound of the divisor.
    """
    want, have = want.astype(np.float64), have.astype(np.float64)
    apart = ~((want == have) | (np.isnan(want) & np.isnan(have)))
    if not apart.any():
        return 0.0
    found = float(np.abs(have[apart] - want[apart]).max())
    largest = np.abs(want[np.isfinite(want)]).max(initial=least)
    return found / float(largest) if np.isfinite(found) else float("inf")


def _largest(tensor: torch.Tensor) -> float:
    return float(tensor.detach().abs().max()) if tensor.numel() else 0.0


def factors_of(result: torch.Tensor) -> torch.Tensor:
    """Return the factors of a result's elements in the loss sum, so that all elements count.

    bfloat16 is summed as float32.
    """
    dtype = torch.float32 if result.dtype is torch.bfloat16 else result.dtype
    return torch.linspace(-1, 1, result.numel()).reshape(result.shape).to(dtype)


def arrays(args: Sequence[object], kwargs: Mapping[str, object]) -> list[Array]:
    """Return the tensors that a converted network is called with, as arrays."""
    return [array_of(each.detach()) for each in tensors([*args, *kwargs.values()])]
