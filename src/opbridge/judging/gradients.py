"""The gradients of a model's outputs, by its inputs and parameters, for weights that both sides know."""

from __future__ import annotations

from typing import Any

import torch

from opbridge.judging.tensors import tensors_in


def gradients(model: torch.nn.Module, inputs: Any) -> dict[str, torch.Tensor]:
    """By name; empty where the outputs have none, as those of an operator that nobody gave a derivative."""
    given = _with_gradients(inputs)
    parameters = dict(model.named_parameters())
    with torch.enable_grad():
        outputs = [output for output in tensors_in(model(*given)) if output.requires_grad]
    if not outputs:
        return {}
    wanted = {f"input {number}": tensor for number, tensor in enumerate(tensors_in(given)) if tensor.requires_grad}
    wanted |= {name: tensor for name, tensor in parameters.items() if tensor.requires_grad}
    try:
        found = torch.autograd.grad(outputs, list(wanted.values()), list(map(_weights, outputs)), allow_unused=True)
    except NotImplementedError:
        return {}  # said to be missing
    return {name: tensor for name, tensor in zip(wanted, found, strict=True) if tensor is not None}


def _with_gradients(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return value.detach().clone().requires_grad_(value.is_floating_point())
    return type(value)(map(_with_gradients, value)) if isinstance(value, (list, tuple)) else value


def _weights(output: torch.Tensor) -> torch.Tensor:
    """Of both signs, and exact in every element type."""
    numbers = torch.arange(output.numel()) % 13 - 6
    return (numbers / 8).reshape(output.shape).to(output)
