"""Run a network on its example inputs before a conversion, so that a wrong example is reported as one."""

from __future__ import annotations

import os
import traceback
from collections.abc import Mapping, Sequence

import torch
from torch.utils._pytree import tree_map_only

from opbridge.base.errors import InputError
from opbridge.models.conversion.saved_values import put_back, taken_aside
from opbridge.models.scan.nested_values import tensors

_TORCH = os.path.dirname(torch.__file__) + os.sep


def example_run(
    module: torch.nn.Module, args: Sequence[object], kwargs: Mapping[str, object], *, differentiated: bool = False
) -> dict[str, torch.Tensor]:
    """Return the example inputs and the results of a network in inference, by name; none if it is random.

    `differentiated` adds the gradients of the trained values: those of a sum of the results times `factor.0` and so on.

    The network and the inputs are left unchanged. A network that runs without gradients only is accepted.

    Raises:
        InputError: The network does not run on these inputs.
    """
    before, modes = taken_aside(module), {part: part.training for part in module.modules()}
    try:
        try:
            return _named(module.eval(), args, kwargs, differentiated=differentiated)
        except Exception:
            put_back(module, before)
            with torch.no_grad():
                return _named(module, args, kwargs)
    except Exception as error:
        frames = traceback.extract_tb(error.__traceback__)
        own = [frame for frame in frames if not frame.filename.startswith((_TORCH, __file__))]
        where = f"\n  at {own[-1].filename}:{own[-1].lineno}: {own[-1].line}" if own else ""
        said = (str(error).strip() or type(error).__name__).partition("\n")[0]
        raise InputError(
            f"{type(module).__name__} does not run on these inputs ({_listed(args, kwargs)}): {said}{where}",
            hint="pass inputs that the network takes in PyTorch",
        ) from error
    finally:
        put_back(module, before)
        for part, was in modes.items():
            part.training = was


def _named(
    module: torch.nn.Module, args: Sequence[object], kwargs: Mapping[str, object], *, differentiated: bool = False
) -> dict[str, torch.Tensor]:
    own_args, own_kwargs = tree_map_only(torch.Tensor, _copied, (tuple(args), dict(kwargs)))
    with torch.random.fork_rng(devices=[]):
        state = torch.get_rng_state()
        results = module(*own_args, **own_kwargs)
        is_random = not torch.equal(state, torch.get_rng_state())
    given = {f"input.{place}": each for place, each in enumerate(tensors([*args, *kwargs.values()]))}
    found = {f"result.{place}": each for place, each in enumerate(tensors(results))}
    if is_random:
        return {}
    more = _gradients(module, list(found.values())) if differentiated else {}
    return {name: each.detach().clone() for name, each in {**given, **found, **more}.items()}


def _gradients(module: torch.nn.Module, results: Sequence[torch.Tensor]) -> dict[str, torch.Tensor]:
    """Return the gradients of a weighted sum of the results that have one, and the weights."""
    factors = {
        place: torch.arange(each.numel(), dtype=torch.float64).cos().reshape(each.shape).float()
        for place, each in enumerate(results)
        if each.requires_grad and each.is_floating_point()
    }
    trained = {name: each for name, each in module.named_parameters() if each.requires_grad}
    if not factors or not trained:
        return {}
    total = torch.stack([(results[place].float() * factor).sum() for place, factor in factors.items()]).sum()
    found = torch.autograd.grad(total, list(trained.values()), allow_unused=True)
    named = {f"gradient.{name}": each for name, each in zip(trained, found, strict=True) if each is not None}
    return {**{f"factor.{place}": factor for place, factor in factors.items()}, **named}


def _copied(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.detach().clone().requires_grad_(tensor.requires_grad)


def _listed(args: Sequence[object], kwargs: Mapping[str, object]) -> str:
    named = [*map(_described, args), *(f"{name}={_described(value)}" for name, value in kwargs.items())]
    return ", ".join(named) or "none"


def _described(value: object) -> str:
    if isinstance(value, torch.Tensor):
        return f"{str(value.dtype).removeprefix('torch.')} of shape {tuple(value.shape)}"
    return type(value).__name__
