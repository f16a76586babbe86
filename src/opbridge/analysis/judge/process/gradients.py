"""Compute the gradients of model outputs for inputs and parameters, with weights that both sides know."""

from __future__ import annotations

from typing import Any

import torch

from opbridge.analysis.judge.tensors import tensors_in


def gradients(model: torch.nn.Module, inputs: Any) -> dict[str, torch.Tensor]:
    """Return the gradients by name; empty if the outputs have none, as those of an operator without a derivative."""
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
        return {}  # PyTorch reports that there is no derivative
    return {name: tensor for name, tensor in zip(wanted, found, strict=True) if tensor is not None}


def _with_gradients(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return value.detach().clone().requires_grad_(value.is_floating_point())
    return type(value)(map(_with_gradients, value)) if isinstance(value, (list, tuple)) else value


def _weights(output: torch.Tensor) -> torch.Tensor:
    """Return weights of both signs that every element type represents exactly."""
    numbers = torch.arange(output.numel()) % 13 - 6
    return (numbers / 8).reshape(output.shape).to(output)
