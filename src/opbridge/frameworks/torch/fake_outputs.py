"""Compute what an operator returns for fake tensors from its `out` rule: tensors without values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from opbridge.waist.manifest import OpSpec
from opbridge.waist.rules import evaluate_out


def bound(spec: OpSpec, args: Sequence[object], kwargs: Mapping[str, object]) -> dict[str, Any]:
    """Return the arguments of a call by name; fill in defaults, which PyTorch omits."""
    arguments = {item.name: item.default.value for item in spec.schema.arguments if item.default is not None}
    return {**arguments, **dict(zip((item.name for item in spec.schema.arguments), args, strict=False)), **kwargs}


def fake_outputs(spec: OpSpec, arguments: Mapping[str, object]) -> object:
    """Return the outputs of an operator without computing them."""
    described = evaluate_out(spec.rules.out, spec.schema, arguments, dtype_name)
    device = next((value.device for value in _leaves(arguments) if isinstance(value, Tensor)), None)
    new = iter([torch.empty(shape, dtype=getattr(torch, dtype), device=device) for shape, dtype in described])
    aliased = (spec.schema.aliased_argument(output) for output in spec.schema.returns)
    outputs = [next(new) if argument is None else arguments[argument.name] for argument in aliased]
    return tuple(outputs) if len(outputs) > 1 else outputs[0] if outputs else None


def dtype_name(dtype: object) -> str:
    """Return the name of an element type, without `torch.`."""
    return str(dtype).removeprefix("torch.")


def _leaves(arguments: Mapping[str, object]) -> list[object]:
    return [item for value in arguments.values() for item in (value if isinstance(value, (list, tuple)) else (value,))]
