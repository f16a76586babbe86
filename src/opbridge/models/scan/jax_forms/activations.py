"""Activation functions."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax.typing import ArrayLike, DTypeLike

from opbridge.models.scan.jax_forms.type_promotion import Array

relu, silu, mish = jax.nn.relu, jax.nn.silu, jax.nn.mish
log_sigmoid = jax.nn.log_sigmoid
_SELU = 1.6732632423543772, 1.0507009873554805


def relu6(self: Array) -> Array:
    """Clamp to [0, 6]."""
    return hardtanh(self, 0, 6)


def hardtanh(self: Array, min_val: ArrayLike = -1, max_val: ArrayLike = 1) -> Array:
    """Clamp to two bounds; the gradient is zero at a bound."""
    inner = jnp.where(self >= max_val, jnp.asarray(max_val, self.dtype), self)
    return jnp.where(self <= min_val, jnp.asarray(min_val, self.dtype), inner)


def hardsigmoid(self: Array) -> Array:
    """Compute clamp(x + 3, 0, 6) / 6."""
    return hardtanh(self + 3, 0, 6) / 6


def hardswish(self: Array) -> Array:
    """Compute x * clamp(x + 3, 0, 6) / 6."""
    inner = jnp.where(self > 3, self, self * (self + 3) / 6)
    return jnp.where(self < -3, jnp.zeros_like(self), inner)


def leaky_relu(self: Array, negative_slope: float = 0.01) -> Array:
    """Multiply negative elements by a slope."""
    return jnp.where(self > 0, self, self * negative_slope)


def prelu(self: Array, weight: Array) -> Array:
    """Multiply negative elements by learned slopes: one for all, or one per channel."""
    sizes = [1] * self.ndim
    if self.ndim > 1:
        sizes[1] = weight.size
    return jnp.where(self > 0, self, self * weight.reshape(sizes))


def elu(self: Array, alpha: ArrayLike = 1, scale: ArrayLike = 1, input_scale: ArrayLike = 1) -> Array:
    """Compute the exponential linear unit with its three factors."""
    below = jnp.expm1(jnp.minimum(self, 0) * input_scale) * alpha
    return jnp.where(self > 0, self, below) * scale


def selu(self: Array) -> Array:
    """Compute the scaled exponential linear unit."""
    return elu(self, *_SELU)


def celu(self: Array, alpha: ArrayLike = 1) -> Array:
    """Compute the exponential linear unit with a continuous derivative."""
    return elu(self, alpha, 1, 1 / alpha)


def gelu(self: Array, approximate: str = "none") -> Array:
    """Compute the Gaussian error linear unit, exact unless `approximate` is "tanh"."""
    return jax.nn.gelu(self, approximate=approximate == "tanh")


def softplus(self: Array, beta: ArrayLike = 1, threshold: ArrayLike = 20) -> Array:
    """Compute log(1 + exp(beta x)) / beta, and x itself above the threshold."""
    scaled = self * beta
    return jnp.where(scaled > threshold, self, jnp.log1p(jnp.exp(jnp.minimum(scaled, threshold))) / beta)


def glu(self: Array, dim: int = -1) -> Array:
    """Multiply the first half by the sigmoid of the second."""
    first, second = jnp.split(self, 2, dim)
    return first * jax.nn.sigmoid(second)


def softmax(self: Array, dim: int, dtype: DTypeLike | None = None) -> Array:
    """Compute the softmax, cast to `dtype` first."""
    return jax.nn.softmax(self if dtype is None else self.astype(dtype), dim)


def log_softmax(self: Array, dim: int, dtype: DTypeLike | None = None) -> Array:
    """Compute the logarithm of the softmax, cast to `dtype` first."""
    return jax.nn.log_softmax(self if dtype is None else self.astype(dtype), dim)


def _softmax(self: Array, dim: int, half_to_float: bool) -> Array:
    return softmax(self, dim)


def _log_softmax(self: Array, dim: int, half_to_float: bool) -> Array:
    return log_softmax(self, dim)
