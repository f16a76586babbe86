"""Elementwise functions of one or several tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax.typing import ArrayLike

from opbridge.models.scan.jax_forms.type_promotion import Array, alike, floating, promoted


def _of_floats(function: Callable[[Array], Array]) -> Callable[[Array], Array]:
    def form(self: Array) -> Array:
        return function(floating(self))

    return form


acos, asin, atan = _of_floats(jnp.arccos), _of_floats(jnp.arcsin), _of_floats(jnp.arctan)
cos, sin, tan = _of_floats(jnp.cos), _of_floats(jnp.sin), _of_floats(jnp.tan)
cosh, sinh, tanh = _of_floats(jnp.cosh), _of_floats(jnp.sinh), _of_floats(jnp.tanh)
exp, exp2, expm1 = _of_floats(jnp.exp), _of_floats(jnp.exp2), _of_floats(jnp.expm1)
log, log1p, log2, log10 = _of_floats(jnp.log), _of_floats(jnp.log1p), _of_floats(jnp.log2), _of_floats(jnp.log10)
sqrt, rsqrt = _of_floats(jnp.sqrt), _of_floats(jax.lax.rsqrt)
erf, erfc = _of_floats(jax.lax.erf), _of_floats(jax.lax.erfc)
reciprocal, sigmoid = _of_floats(jnp.reciprocal), _of_floats(jax.nn.sigmoid)
neg, square, sign = jnp.negative, jnp.square, jnp.sign
floor, ceil, trunc = jnp.floor, jnp.ceil, jnp.trunc
isnan, isinf, isfinite = jnp.isnan, jnp.isinf, jnp.isfinite
logical_not, bitwise_not = jnp.logical_not, jnp.bitwise_not


def abs(self: Array) -> Array:
    """Return absolute values, with the derivative 0 at 0."""
    if not jnp.issubdtype(self.dtype, jnp.floating):
        return jnp.abs(self)
    return self * jax.lax.stop_gradient(jnp.sign(self))


def round(self: Array, decimals: int = 0) -> Array:
    """Round halves to even, to a number of decimals."""
    return jnp.round(self, decimals)


def add(self: ArrayLike, other: ArrayLike, alpha: ArrayLike = 1) -> Array:
    """Add `alpha` times `other`; booleans are joined by `or`."""
    first, second = alike(self, other)
    if alpha != 1:
        second = second * jnp.asarray(alpha, second.dtype)
    return first | second if first.dtype == bool else first + second


def sub(self: ArrayLike, other: ArrayLike, alpha: ArrayLike = 1) -> Array:
    """Subtract `alpha` times `other`."""
    first, second = alike(self, other)
    return first - (second if alpha == 1 else second * jnp.asarray(alpha, second.dtype))


def rsub(self: ArrayLike, other: ArrayLike, alpha: ArrayLike = 1) -> Array:
    """Subtract `alpha` times `self` from `other`."""
    return sub(other, self, alpha)


def mul(self: ArrayLike, other: ArrayLike) -> Array:
    """Multiply in the promoted type."""
    first, second = alike(self, other)
    return first * second


multiply = mul


def div(self: ArrayLike, other: ArrayLike, rounding_mode: str | None = None) -> Array:
    """Divide, and round as `rounding_mode` requires: not at all, "floor" or "trunc"."""
    if rounding_mode == "floor":
        return floor_divide(self, other)
    first, second = alike(self, other)
    if rounding_mode is None:
        return floating(first) / floating(second)
    if jnp.issubdtype(first.dtype, jnp.integer):
        return jax.lax.div(*jnp.broadcast_arrays(first, second))
    return jnp.trunc(first / second)


true_divide = divide = div


def floor_divide(self: ArrayLike, other: ArrayLike) -> Array:
    """Divide and round down."""
    return jnp.floor_divide(*alike(self, other))


def remainder(self: ArrayLike, other: ArrayLike) -> Array:
    """Return the remainder with the sign of the divisor."""
    return jnp.remainder(*alike(self, other))


def fmod(self: ArrayLike, other: ArrayLike) -> Array:
    """Return the remainder with the sign of the dividend."""
    return jnp.fmod(*alike(self, other))


def pow(self: ArrayLike, exponent: ArrayLike) -> Array:
    """Raise to a power; a float that is a whole number becomes an integer."""
    dtype = promoted(self, exponent)
    if isinstance(exponent, float) and exponent.is_integer():
        exponent = int(exponent)  # its derivative at 0 is a number
    if isinstance(exponent, int):
        return jnp.asarray(self, dtype) ** exponent
    return jnp.power(jnp.asarray(self, dtype), jnp.asarray(exponent, dtype))


def maximum(self: Array, other: Array) -> Array:
    """Return the larger elements, in the promoted type."""
    return jnp.maximum(*alike(self, other))


def minimum(self: Array, other: Array) -> Array:
    """Return the smaller elements, in the promoted type."""
    return jnp.minimum(*alike(self, other))


def atan2(self: Array, other: Array) -> Array:
    """Return the angles of the points (other, self), in floating point."""
    return jnp.arctan2(*map(floating, alike(self, other)))


def _of_two(function: Callable[[Array, Array], Array]) -> Callable[[Any, Any], Array]:
    def form(self: ArrayLike, other: ArrayLike) -> Array:
        return function(*alike(self, other))

    return form


eq, ne = _of_two(jnp.equal), _of_two(jnp.not_equal)
lt, le, gt, ge = _of_two(jnp.less), _of_two(jnp.less_equal), _of_two(jnp.greater), _of_two(jnp.greater_equal)
logical_and, logical_or, logical_xor = jnp.logical_and, jnp.logical_or, jnp.logical_xor
bitwise_and, bitwise_or, bitwise_xor = (_of_two(each) for each in (jnp.bitwise_and, jnp.bitwise_or, jnp.bitwise_xor))
__and__, __or__, __xor__ = bitwise_and, bitwise_or, bitwise_xor


def clamp(self: Array, min: ArrayLike | None = None, max: ArrayLike | None = None) -> Array:
    """Clamp to optional bounds; at a bound the gradient stays whole, while jnp.clip halves it."""
    bounds = [each for each in (min, max) if each is not None]
    low, high, value = min, max, jnp.asarray(self, promoted(self, *bounds))
    if low is not None:
        value = jnp.where(value < low, jnp.asarray(low, value.dtype), value)
    if high is not None:
        value = jnp.where(value > high, jnp.asarray(high, value.dtype), value)
    return value


def clamp_min(self: Array, min: ArrayLike) -> Array:
    """Clamp from below."""
    return clamp(self, min)


def clamp_max(self: Array, max: ArrayLike) -> Array:
    """Clamp from above."""
    return clamp(self, None, max)


def lerp(self: Array, end: Array, weight: ArrayLike) -> Array:
    """Interpolate from `self` to `end`."""
    return self + weight * (end - self)


def addcmul(self: Array, tensor1: Array, tensor2: Array, value: ArrayLike = 1) -> Array:
    """Add `value` times a product."""
    return add(self, mul(tensor1, tensor2), value)


def addcdiv(self: Array, tensor1: Array, tensor2: Array, value: ArrayLike = 1) -> Array:
    """Add `value` times a quotient."""
    return add(self, div(tensor1, tensor2), value)


def where(condition: Array, self: ArrayLike, other: ArrayLike) -> Array:
    """Choose elements by a condition, in the promoted type."""
    return jnp.where(condition, *alike(self, other))


def masked_fill(self: Array, mask: Array, value: ArrayLike) -> Array:
    """Replace the masked elements with a value."""
    return jnp.where(mask, jnp.asarray(value, self.dtype), self)


def nan_to_num(
    self: Array, nan: ArrayLike | None = None, posinf: ArrayLike | None = None, neginf: ArrayLike | None = None
) -> Array:
    """Replace NaN and infinities with numbers."""
    return jnp.nan_to_num(self, nan=nan or 0.0, posinf=posinf, neginf=neginf)
