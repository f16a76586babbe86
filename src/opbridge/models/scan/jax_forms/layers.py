"""Products, convolutions and norms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike

from opbridge.models.scan.jax_forms.type_promotion import Array

matmul, mm, bmm, mv, dot = (jnp.matmul,) * 5


def linear(input: Array, weight: Array, bias: Array | None = None) -> Array:
    """Multiply by the transposed weight, and add the bias."""
    return _with_bias(input @ weight.T, bias)


def _with_bias(value: Array, bias: Array | None) -> Array:
    return value if bias is None else value + bias


def addmm(self: Array, mat1: Array, mat2: Array, beta: ArrayLike = 1, alpha: ArrayLike = 1) -> Array:
    """Return beta times `self` plus alpha times the matrix product."""
    return beta * self + alpha * (mat1 @ mat2)


def baddbmm(self: Array, batch1: Array, batch2: Array, beta: ArrayLike = 1, alpha: ArrayLike = 1) -> Array:
    """Return beta times `self` plus alpha times the batched matrix product."""
    return addmm(self, batch1, batch2, beta, alpha)


def outer(self: Array, vec2: Array) -> Array:
    """Return the outer product of two vectors."""
    return jnp.outer(self, vec2)


def einsum(equation: str, tensors: Sequence[Array], path: Sequence[int] | None = None) -> Array:
    """Sum products by the Einstein convention; `path` is ignored."""
    return jnp.einsum(equation, *tensors)


Sizes: TypeAlias = int | Sequence[int]
"""One number for all dimensions, or one for each."""


def conv1d(input: Array, weight: Array, bias: Array | None = None, **options: Any) -> Array:
    """Convolve over as many dimensions as the weight has, with a batch or without."""
    return _convolution(input, weight, bias, **options)


conv2d = conv3d = conv1d


def _convolution(
    image: Array,
    weight: Array,
    bias: Array | None,
    stride: Sizes = 1,
    padding: Sizes = 0,
    dilation: Sizes = 1,
    groups: int = 1,
) -> Array:
    count = weight.ndim - 2
    sides = padding.upper() if isinstance(padding, str) else [(side, side) for side in each(padding, count)]
    return _convolved(
        image,
        weight,
        bias,
        window_strides=each(stride, count),
        padding=sides,
        rhs_dilation=each(dilation, count),
        feature_group_count=groups,
    )


def _convolved(image: Array, weight: Array, bias: Array | None, **options: Any) -> Array:
    """Convolve a batch of images, or a single one."""
    batch = image if image.ndim == weight.ndim else image[None]
    found = jax.lax.conv_general_dilated(batch, weight, **options)
    found = _with_bias(found, *_of_channels(found, bias))
    return found if batch is image else found[0]


def each(value: Sizes, count: int) -> tuple[int, ...]:
    """Return a number for each dimension, from one for all or one for each."""
    values = tuple(value) if isinstance(value, (tuple, list)) else (value,)
    return values * count if len(values) == 1 else values


def conv_transpose1d(
    input: Array,
    weight: Array,
    bias: Array | None = None,
    stride: Sizes = 1,
    padding: Sizes = 0,
    output_padding: Sizes = 0,
    groups: int = 1,
    dilation: Sizes = 1,
) -> Array:
    """Compute the gradient of a convolution: convolve an image with gaps by flipped weights."""
    count = weight.ndim - 2
    axes = tuple(range(2, weight.ndim))
    inputs, outputs, *sizes = weight.shape
    turned = jnp.flip(weight, axes).reshape(groups, inputs // groups, outputs, *sizes)
    turned = jnp.swapaxes(turned, 1, 2).reshape(groups * outputs, inputs // groups, *sizes)
    holes = each(dilation, count)
    whole = [hole * (size - 1) for hole, size in zip(holes, sizes, strict=True)]
    given = zip(whole, each(padding, count), each(output_padding, count), strict=True)
    return _convolved(
        input,
        turned,
        bias,
        window_strides=(1,) * count,
        padding=[(most - side, most - side + more) for most, side, more in given],
        lhs_dilation=each(stride, count),
        rhs_dilation=holes,
        feature_group_count=groups,
    )


conv_transpose2d = conv_transpose3d = conv_transpose1d


def layer_norm(
    input: Array,
    normalized_shape: Sequence[int],
    weight: Array | None = None,
    bias: Array | None = None,
    eps: float = 1e-5,
) -> Array:
    """Normalize over the last dimensions."""
    return _scaled(_normed(input, tuple(range(-len(normalized_shape), 0)), eps), weight, bias)


def _normed(value: Array, axes: tuple[int, ...], eps: float) -> Array:
    exact = _exact(value)
    mean = exact.mean(axes, keepdims=True)
    variance = jnp.square(exact - mean).mean(axes, keepdims=True)
    return ((exact - mean) * jax.lax.rsqrt(variance + eps)).astype(value.dtype)


def _exact(value: Array) -> Array:
    """Return floats shorter than 32 bits as float32, in which norms are computed."""
    return value.astype("float32") if value.dtype.itemsize < 4 else value


def _scaled(value: Array, weight: Array | None, bias: Array | None) -> Array:
    return _with_bias(value if weight is None else value * weight, bias)


def rms_norm(
    input: Array, normalized_shape: Sequence[int], weight: Array | None = None, eps: float | None = None
) -> Array:
    """Divide by the root mean square over the last dimensions; `eps` is that of float32 by default."""
    exact = _exact(input)
    least = float(np.finfo(np.float32).eps if eps is None else eps)
    squares = jnp.square(exact).mean(tuple(range(-len(normalized_shape), 0)), keepdims=True)
    return _scaled((exact * jax.lax.rsqrt(squares + least)).astype(input.dtype), weight, None)


def group_norm(
    input: Array, num_groups: int, weight: Array | None = None, bias: Array | None = None, eps: float = 1e-5
) -> Array:
    """Normalize groups of channels."""
    groups = input.reshape(input.shape[0], num_groups, -1)
    return _scaled(_normed(groups, (-1,), eps).reshape(input.shape), *_of_channels(input, weight, bias))


def _of_channels(image: Array, *values: Array | None) -> list[Any]:
    sizes = (-1, *(1,) * (image.ndim - 2))
    return [None if value is None else value.reshape(sizes) for value in values]


def batch_norm(
    input: Array,
    weight: Array | None,
    bias: Array | None,
    running_mean: Array | None,
    running_var: Array | None,
    training: bool,
    momentum: float,
    eps: float,
) -> Array:
    """Normalize by the batch statistics, or by the running ones, which stay unchanged."""
    if training or running_mean is None or running_var is None:
        axes = (0, *range(2, input.ndim))
        return _scaled(_normed(input, axes, eps), *_of_channels(input, weight, bias))
    mean, variance = _of_channels(input, running_mean, running_var)
    normed = ((input - mean) * jax.lax.rsqrt(variance + eps)).astype(input.dtype)
    return _scaled(normed, *_of_channels(input, weight, bias))


def moved_statistics(image: Array, mean: Array, variance: Array, momentum: float) -> tuple[Array, Array]:
    """Return the running mean and variance of a batch norm after a batch."""
    image = jax.lax.stop_gradient(_exact(image))
    axes = (0, *range(2, image.ndim))
    new = image.mean(axes), image.var(axes, ddof=1)
    first, second = (
        (1 - momentum) * old + momentum * each.astype(old.dtype)
        for old, each in zip((mean, variance), new, strict=True)
    )
    return first, second


def _weight_norm(v: Array, g: Array, dim: int = 0) -> Array:
    axes = tuple(axis for axis in range(v.ndim) if axis != dim)
    return v * (g / jnp.sqrt(jnp.square(v).sum(axes, keepdims=True)))
