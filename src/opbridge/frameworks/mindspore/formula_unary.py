"""Compute derivative formulas element by element, in MindSpore: functions of one tensor.

Graph mode compiles these functions too: see `formula_functions` for their parameters.
"""

from __future__ import annotations

from mindspore import ops

from opbridge.frameworks.mindspore.formula_values import Array, array


def negative(x: Array) -> Array:
    """Return the negative of each element."""
    return -x


def absolute(x: Array) -> Array:
    """Return the absolute value of each element."""
    return ops.abs(array(x))


def sign(x: Array) -> Array:
    """Return the sign of each element."""
    return ops.sign(array(x))


def square(x: Array) -> Array:
    """Return the square of each element."""
    return x * x


def sqrt(x: Array) -> Array:
    """Return the square root of each element."""
    return ops.sqrt(array(x))


def rsqrt(x: Array) -> Array:
    """Return the reciprocal of the square root of each element."""
    return ops.rsqrt(array(x))


def reciprocal(x: Array) -> Array:
    """Return the reciprocal of each element."""
    return 1 / array(x)


def exp(x: Array) -> Array:
    """Return the exponential of each element."""
    return ops.exp(array(x))


def expm1(x: Array) -> Array:
    """Return the exponential of each element minus one."""
    return ops.expm1(array(x))


def log(x: Array) -> Array:
    """Return the natural logarithm of each element."""
    return ops.log(array(x))


def log1p(x: Array) -> Array:
    """Return the natural logarithm of one plus each element."""
    return ops.log1p(array(x))


def log2(x: Array) -> Array:
    """Return the base 2 logarithm of each element."""
    return ops.log2(array(x))


def log10(x: Array) -> Array:
    """Return the base 10 logarithm of each element."""
    return ops.log10(array(x))


def sigmoid(x: Array) -> Array:
    """Return the logistic sigmoid of each element."""
    return ops.sigmoid(array(x))


def erf(x: Array) -> Array:
    """Return the error function of each element."""
    return ops.erf(array(x))


def sin(x: Array) -> Array:
    """Return the sine of each element."""
    return ops.sin(array(x))


def cos(x: Array) -> Array:
    """Return the cosine of each element."""
    return ops.cos(array(x))


def tan(x: Array) -> Array:
    """Return the tangent of each element."""
    return ops.tan(array(x))


def sinh(x: Array) -> Array:
    """Return the hyperbolic sine of each element."""
    return ops.sinh(array(x))


def cosh(x: Array) -> Array:
    """Return the hyperbolic cosine of each element."""
    return ops.cosh(array(x))


def tanh(x: Array) -> Array:
    """Return the hyperbolic tangent of each element."""
    return ops.tanh(array(x))


def asin(x: Array) -> Array:
    """Return the inverse sine of each element."""
    return ops.asin(array(x))


def acos(x: Array) -> Array:
    """Return the inverse cosine of each element."""
    return ops.acos(array(x))


def atan(x: Array) -> Array:
    """Return the inverse tangent of each element."""
    return ops.atan(array(x))


def asinh(x: Array) -> Array:
    """Return the inverse hyperbolic sine of each element."""
    return ops.asinh(array(x))


def acosh(x: Array) -> Array:
    """Return the inverse hyperbolic cosine of each element."""
    return ops.acosh(array(x))


def atanh(x: Array) -> Array:
    """Return the inverse hyperbolic tangent of each element."""
    return ops.atanh(array(x))


def floor(x: Array) -> Array:
    """Round each element down."""
    return ops.floor(array(x))


def ceil(x: Array) -> Array:
    """Round each element up."""
    return ops.ceil(array(x))


def rounded(x: Array) -> Array:
    """Round each element to the nearest whole number, and halves to even."""
    return ops.round(array(x))


def trunc(x: Array) -> Array:
    """Round each element toward zero."""
    return ops.trunc(array(x))


def logical_not(x: Array) -> Array:
    """Return for each element whether it is zero or false."""
    return ops.logical_not(array(x))
