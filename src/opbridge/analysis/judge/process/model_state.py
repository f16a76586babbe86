"""Read and change the parameters and buffers of a model, in the same way for a reference and an answer."""

from __future__ import annotations

import torch

_CHANGE = -0.5
"""The factor of changed weights: exact in every type, and another sign."""


def state_of(model: torch.nn.Module) -> dict[str, torch.Tensor]:
    """Return copies of parameters and buffers by name."""
    return {name: value.detach().clone() for name, value in model.state_dict().items() if torch.is_tensor(value)}


def restore_state(model: torch.nn.Module, state: dict[str, torch.Tensor]) -> None:
    """Give parameters and buffers the values that `state_of` returned; those that were made since keep theirs."""
    with torch.no_grad():
        for name, value in model.state_dict().items():
            if name in state and torch.is_tensor(value) and value.shape == state[name].shape:
                value.copy_(state[name])


def change_weights(model: torch.nn.Module) -> bool:
    """Change all parameters in place, which counts up their versions; return whether there are any."""
    parameters = [one for one in model.parameters() if one.is_floating_point() and one.numel()]
    with torch.no_grad():
        for one in parameters:
            one.mul_(_CHANGE)
    return bool(parameters)
