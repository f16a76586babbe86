"""A formula for every array function, over arrays x and y and what SIGNATURE has, and more with numbers in them."""

from __future__ import annotations

from collections.abc import Iterator

ONE = [
    "abs",
    "negative",
    "sign",
    "square",
    "exp",
    "expm1",
    "sigmoid",
    "erf",
    "sin",
    "cos",
    "tanh",
    "atan",
    "asinh",
    "sinh",
    "cosh",
    "floor",
    "ceil",
    "round",
    "trunc",
]
POSITIVE = ["sqrt", "rsqrt", "reciprocal", "log", "log1p", "log2", "log10", "acosh"]
WITHIN_ONE = ["asin", "acos", "atanh", "tan"]
ANY_VALUE = ["isnan", "isinf", "isfinite", "logical_not", "zeros_like", "ones_like"]
COMPLEX = ["real", "imag", "conj"]
TWO = ["add", "subtract", "multiply", "divide", "floor_divide", "remainder", "atan2", "maximum", "minimum"]
COMPARISONS = [
    "equal",
    "not_equal",
    "less",
    "less_equal",
    "greater",
    "greater_equal",
    "logical_and",
    "logical_or",
    "logical_xor",
]
AXES = ["sum", "mean", "max", "min", "all", "any", "var", "std"]

FORMULAS = {
    **{name: f"{name}(x)" for name in [*ONE, *POSITIVE, *WITHIN_ONE, *ANY_VALUE, *COMPLEX]},
    **{name: f"{name}(x, y)" for name in [*TWO, *COMPARISONS, "pow", "matmul"]},
    **{name: f"{name}(x, axes, keepdims=keepdims)" for name in AXES},
    **{name: f"{name}(x, axis, keepdims=keepdims)" for name in ("prod", "argmax", "argmin")},
    "matrix_transpose": "matrix_transpose(x)",
    "tensordot": "tensordot(x, y, 1)",
    "where": "where(x > 0, x, y)",
    "clip": "clip(x, -1, 1)",
    "cumulative_sum": "cumulative_sum(x, axis)",
    "reshape": "reshape(x, shape)",
    "broadcast_to": "broadcast_to(x, shape)",
    "sum_to": "sum_to(x, shape)",
    "permute_dims": "permute_dims(x, shape)",
    "expand_dims": "expand_dims(x, axis)",
    "squeeze": "squeeze(x, axis)",
    "flip": "flip(x, axes)",
    "roll": "roll(x, 2, axes)",
    "take": "take(x, y, axis)",
    "tril": "tril(x, axis)",
    "triu": "triu(x, axis)",
    "concat": "concat([x, y], axis)",
    "stack": "stack([x, y], axis)",
    "full_like": "full_like(x, 2.5)",
    "zeros": "zeros(shape, float64)",
    "ones": "ones(shape, float64)",
    "astype": "astype(x, int64)",
}

VARIANTS = {
    "prod_all": "prod(x)",
    "flip_all": "flip(x)",
    "roll_all": "roll(x, 3)",
    "sum_all": "sum(x)",
    "max_all": "max(x, keepdims=True)",
    "var_corrected": "var(x, correction=1)",
    "std_corrected": "std(x, axes, correction=1)",
    "clip_low": "clip(x, min=0.5)",
    "clip_high": "clip(x, max=y)",
    "where_number": "where(x > y, 1, 0) * x",
    "maximum_number": "maximum(x, 0)",
    "pow_number": "x ** 2 + 2 ** x",
    "number_first": "1 - 2 / (3 + exp(x))",
    "floor_operators": "x // 2 + x % 2",
    "transposed": "x.T",
    "matrix_transposed": "x.mT @ x",
    "subscripts": "x[..., ::2][None, 1:]",
    "shape_arithmetic": "reshape(x, [x.shape[0] * x.shape[1], 1]) / x.numel",
    "chosen": "x if axis > 0 and x.ndim == 2 or keepdims else -x",
    "negated": "-x",
    "aten": "aten::leaky_relu(x, 0.1)",
    "aten_overload_by_argument": "aten::add(x, 1)",
}

SIGNATURE = (
    "(Tensor x, Tensor y, Tensor t, *, int[]? axes=None, int axis=0, bool keepdims=False, int[] shape=[]) -> Tensor"
)

_ARITHMETIC = ("+", "-", "*", "/", "//", "%", "**")
_RELATIONS = ("==", "!=", "<", "<=", ">", ">=")


def _beside_a_number(number: str) -> Iterator[str]:
    for sign in (*_ARITHMETIC, *_RELATIONS):
        yield from (f"x {sign} {number}", f"{number} {sign} x")
    for name in (*TWO, *COMPARISONS, "pow"):
        yield from (f"{name}(x, {number})", f"{name}({number}, x)")
    yield from (f"where(x > y, {number}, x)", f"where(x > y, x, {number})", f"where(x > y, {number}, {number})")
    yield from (f"clip(x, {number})", f"clip(x, y, {number})", f"clip({number}, x, y)", f"full_like(x, {number})")


def _of_numbers() -> Iterator[str]:
    for name in (*ONE, *POSITIVE, *WITHIN_ONE, *ANY_VALUE):
        yield f"{name}(0.5) * x"
    for name in (*TWO, *COMPARISONS, "pow"):
        yield f"{name}(axis, 0.5) * x"
    yield from (f"x * (-3 {sign} (axis + 1))" for sign in _ARITHMETIC)
    yield from (f"x if 2 {sign} axis else -x" for sign in _RELATIONS)


def _stacked(formulas: Iterator[str]) -> str:
    return f"stack([{', '.join(f'astype({formula}, float64)' for formula in formulas)}])"


WITH_NUMBERS = {
    "with_int": _stacked(_beside_a_number("2")),
    "with_float": _stacked(_beside_a_number("0.1")),
    "with_argument": _stacked(_beside_a_number("axis")),
    "of_numbers": _stacked(_of_numbers()),
}
"""Every operator and every function of single elements, with a number in the place of each array, and of all.

They are many, so all of one kind make one array.
"""
