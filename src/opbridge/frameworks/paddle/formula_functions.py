"""Provide the functions and names of derivative formulas in Paddle."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import paddle

from opbridge.waist.rules import ARRAY_FUNCTIONS, ArrayFunction
from opbridge.waist.rules.value_kinds import Kind

Array = Any
"""A tensor or a Python number: formulas mix both."""
Axes = int | Sequence[int] | None


def sum_to(x: Array, shape: Sequence[int]) -> Array:
    """Sum to a shape, which reverses a broadcast."""
    added = x.ndim - len(shape)
    stretched = (added + i for i, size in enumerate(shape) if size == 1 and x.shape[added + i] != 1)
    axes = [*range(added), *stretched]
    return (paddle.sum(x, axis=axes, keepdim=True) if axes else x).reshape(list(shape))


def _axes(axis: Axes) -> object:
    return list(axis) if isinstance(axis, Sequence) else axis


def _reduction(function: Callable[..., Array]) -> Callable[..., Array]:
    return lambda x, axis, keepdims: function(x, axis=_axes(axis), keepdim=keepdims)


def _variance(x: Array, axis: Axes, correction: float, keepdims: bool) -> Array:
    chosen = range(x.ndim) if axis is None else [axis] if isinstance(axis, int) else axis
    count = math.prod(x.shape[place] for place in chosen)
    square = paddle.square(x - paddle.mean(x, axis=_axes(axis), keepdim=True))
    return paddle.sum(square, axis=_axes(axis), keepdim=keepdims) / (count - correction)


def _clip(x: Array, least: Array, most: Array) -> Array:
    x = x if least is None else paddle.maximum(x, least)
    return x if most is None else paddle.minimum(x, most)


def _take(x: Array, indices: Array, axis: int) -> Array:
    axis %= x.ndim
    taken = paddle.index_select(x, indices.reshape([-1]), axis)
    return taken.reshape([*x.shape[:axis], *indices.shape, *x.shape[axis + 1 :]])


_NAMED: Mapping[str, Callable[..., Array]] = {
    "all": _reduction(paddle.all),
    "any": _reduction(paddle.any),
    "argmax": _reduction(paddle.argmax),
    "argmin": _reduction(paddle.argmin),
    "astype": paddle.cast,
    "broadcast_to": lambda x, shape: paddle.broadcast_to(x, list(shape)),
    "clip": _clip,
    "concat": lambda arrays, axis: paddle.concat(list(arrays), axis),
    "cumulative_sum": paddle.cumsum,
    "expand_dims": paddle.unsqueeze,
    "flip": lambda x, axis: paddle.flip(x, list(range(x.ndim)) if axis is None else _axes(axis)),
    "greater": paddle.greater_than,
    "imag": lambda x: paddle.imag(x) if x.is_complex() else paddle.zeros_like(x),
    "less": paddle.less_than,
    "matrix_transpose": lambda x: paddle.moveaxis(x, -1, -2),
    "max": _reduction(paddle.max),
    "mean": _reduction(paddle.mean),
    "min": _reduction(paddle.min),
    "negative": paddle.neg,
    "ones": lambda shape, dtype: paddle.ones(list(shape), dtype),
    "permute_dims": lambda x, axes: paddle.transpose(x, _axes(axes)),
    "prod": _reduction(paddle.prod),
    "real": lambda x: paddle.real(x) if x.is_complex() else x,
    "reshape": lambda x, shape: paddle.reshape(x, list(shape)),
    "roll": lambda x, shift, axis: paddle.roll(x, _axes(shift), _axes(axis)),
    "squeeze": lambda x, axes: paddle.squeeze(x, _axes(axes)),
    "stack": lambda arrays, axis: paddle.stack(list(arrays), axis),
    "std": lambda *variance: paddle.sqrt(_variance(*variance)),
    "sum": _reduction(paddle.sum),
    "sum_to": sum_to,
    "take": _take,
    "tensordot": lambda x, y, axes: paddle.tensordot(x, y, _axes(axes)),
    "var": _variance,
    "zeros": lambda shape, dtype: paddle.zeros(list(shape), dtype),
}
"""Functions that Paddle names differently or that need lists; parameters in the order of the array API."""


def _with_parameters(declared: ArrayFunction, function: Callable[..., Array]) -> Callable[..., Array]:
    """Give a function the array API parameters, and convert numbers: Paddle functions accept tensors only."""
    arrays = [place for place, parameter in enumerate(declared.parameters) if Kind.TENSOR in parameter.accepts]

    def call(*args: object, **kwargs: object) -> Array:
        values = declared.values(args, kwargs)
        tensors = [values[place] for place in arrays if isinstance(values[place], paddle.Tensor)]
        # Use the last tensor: the first may be a condition.
        beside = tensors[-1].dtype if tensors else None
        for place in arrays:
            if isinstance(values[place], (bool, int, float)):
                values[place] = _as_tensor(values[place], beside)
        return function(*values)

    return call


def _as_tensor(value: float, beside: object) -> Array:
    """Convert a number to a tensor with the element type of the tensor next to it, if that type can represent it."""
    holds = beside not in _WHOLE if isinstance(value, float) else beside != paddle.bool
    return paddle.to_tensor(value, dtype=beside if holds else None)


_WHOLE = (paddle.bool, paddle.uint8, paddle.int8, paddle.int16, paddle.int32, paddle.int64)

FUNCTIONS: Mapping[str, Callable[..., Array]] = MappingProxyType(
    {
        name: _with_parameters(declared, _NAMED.get(name) or getattr(paddle, name))
        for name, declared in ARRAY_FUNCTIONS.items()
    }
)
"""The functions that a formula may call, in Paddle."""

DTYPES: Mapping[str, object] = MappingProxyType(
    {
        name: getattr(paddle, name)
        for name in (
            *("bool", "uint8", "int8", "int16", "int32", "int64"),
            *("float16", "bfloat16", "float32", "float64", "complex64", "complex128"),
        )
    }
)
"""The element types that a formula may name, in Paddle."""
