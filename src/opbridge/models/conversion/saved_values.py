"""Save and restore the values of a PyTorch network, by place: `load_state_dict` may do more than that."""

from __future__ import annotations

import torch


def taken_aside(module: object) -> dict[str, torch.Tensor]:
    """Return copies of all parameters and buffers, by name."""
    return {name: value.detach().clone() for name, value in _held(module).items()}


def put_back(module: object, values: dict[str, object]) -> None:
    """Copy saved values back into the parameters and buffers."""
    with torch.no_grad():
        for name, value in _held(module).items():
            value.copy_(values[name])


def _held(module: torch.nn.Module) -> dict[str, torch.Tensor]:
    return {**dict(module.named_parameters()), **dict(module.named_buffers())}
