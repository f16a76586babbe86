"""Provide the functions and names of derivative formulas in PyTorch."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any

import torch

from opbridge.waist.rules import ARRAY_FUNCTIONS, DTYPES, ArrayFunction
from opbridge.waist.rules.value_kinds import Kind

Array = Any
"""A tensor or a Python number: formulas mix both."""
Axes = int | Sequence[int] | None


def _axes(x: Array, axis: Axes) -> tuple[int, ...]:
    return tuple(range(x.ndim)) if axis is None else (axis,) if isinstance(axis, int) else tuple(axis)


def _reduction(function: Callable[..., Array], x: Array, axis: Axes, keepdims: bool) -> Array:
    return function(x, dim=_axes(x, axis), keepdim=keepdims)


def _one_by_one(function: Callable[..., Array], x: Array, axis: Axes, keepdims: bool) -> Array:
    """Apply a reduction that PyTorch has for one axis only to each axis."""
    for place in sorted((place % x.ndim for place in _axes(x, axis)), reverse=True):
        x = function(x, dim=place, keepdim=keepdims)
    return x


def _index(function: Callable[..., Array], x: Array, axis: int | None, keepdims: bool) -> Array:
    return function(x, dim=axis, keepdim=keepdims)


def _spread(function: Callable[..., Array], x: Array, axis: Axes, correction: float, keepdims: bool) -> Array:
    return function(x, dim=_axes(x, axis), correction=correction, keepdim=keepdims)


def _take(x: Array, indices: Array, axis: int) -> Array:
    axis %= x.ndim
    taken = torch.index_select(x, axis, indices.reshape(-1))
    return taken.reshape(*x.shape[:axis], *indices.shape, *x.shape[axis + 1 :])


_NAMED: Mapping[str, Callable[..., Array]] = {
    "astype": lambda x, dtype: x.to(dtype),
    "broadcast_to": lambda x, shape: x.expand(shape),
    "cumulative_sum": lambda x, axis: torch.cumsum(x, 0 if axis is None else axis),
    "equal": torch.eq,
    "expand_dims": torch.unsqueeze,
    "flip": lambda x, axis: torch.flip(x, _axes(x, axis)),
    "imag": lambda x: x.imag if x.is_complex() else torch.zeros_like(x),
    "matrix_transpose": lambda x: x.mT,
    "max": partial(_reduction, torch.amax),
    "min": partial(_reduction, torch.amin),
    "permute_dims": torch.permute,
    "prod": partial(_one_by_one, torch.prod),
    "sum_to": lambda x, shape: x.sum_to_size(shape),
    "take": _take,
    "tensordot": lambda x, y, axes: torch.tensordot(x, y, axes),
    "zeros": lambda shape, dtype: torch.zeros(shape, dtype=dtype),
    "ones": lambda shape, dtype: torch.ones(shape, dtype=dtype),
    **{name: partial(_reduction, getattr(torch, name)) for name in ("sum", "mean", "all", "any")},
    **{name: partial(_index, getattr(torch, name)) for name in ("argmax", "argmin")},
    **{name: partial(_spread, getattr(torch, name)) for name in ("var", "std")},
}
"""Functions that PyTorch names differently; parameters in the order of the array API."""


def _with_parameters(declared: ArrayFunction, function: Callable[..., Array]) -> Callable[..., Array]:
    """Give a function the array API parameters, and convert numbers: most PyTorch functions accept tensors only."""
    arrays = [place for place, parameter in enumerate(declared.parameters) if Kind.TENSOR in parameter.accepts]

    def call(*args: object, **kwargs: object) -> Array:
        values = declared.values(args, kwargs)
        beside = next((values[place] for place in arrays[::-1] if isinstance(values[place], torch.Tensor)), None)
        for place in arrays:
            if isinstance(values[place], (bool, int, float)):
                values[place] = _as_tensor(values[place], beside)
        return function(*values)

    return call


def _as_tensor(value: float, beside: torch.Tensor | None) -> torch.Tensor:
    """Convert a number to a tensor without dimensions, which takes part in PyTorch type promotion as a number does."""
    return torch.tensor(value) if beside is None else torch.tensor(value, device=beside.device)


FUNCTIONS: Mapping[str, Callable[..., Array]] = MappingProxyType(
    {
        name: _with_parameters(declared, _NAMED.get(name) or getattr(torch, name))
        for name, declared in ARRAY_FUNCTIONS.items()
    }
)
"""The functions that a formula may call, in PyTorch."""

TORCH_DTYPES: Mapping[str, torch.dtype] = MappingProxyType({name: getattr(torch, name) for name in DTYPES})
"""The element types that a formula may name, in PyTorch."""
