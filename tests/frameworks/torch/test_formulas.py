"""Every array function a formula may call gives in PyTorch what it gives in NumPy.

One operator a function: `probe_NAME(x, y, t, ...)` returns t, and its derivative for t is the function of the others.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from formula_table import (
    ANY_VALUE,
    AXES,
    COMPARISONS,
    COMPLEX,
    FORMULAS,
    ONE,
    POSITIVE,
    SIGNATURE,
    TWO,
    VARIANTS,
    WITHIN_ONE,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import opbridge as ob
from opbridge.base.errors import CallError, KernelError
from opbridge.waist.op import OpLibrary
from opbridge.waist.rules import ARRAY_FUNCTIONS

Array = np.ndarray[Any, np.dtype[Any]]


@pytest.fixture(scope="module")
def probes(kernels: Path, tmp_path_factory: pytest.TempPathFactory) -> OpLibrary:
    folder = tmp_path_factory.mktemp("probes")
    shutil.copy(kernels / "shapes.cpp", folder)
    lines = ["namespace: obformula", "ops:"]
    for name, formula in (FORMULAS | VARIANTS).items():
        lines += [f"- func: probe_{name}{SIGNATURE}", "  out: t", "  kernels: {cpu: 'shapes.cpp:probe'}"]
        lines += ["  derivatives:", f"    t: {formula!r}"]
    (folder / "ops.yaml").write_text("\n".join(lines))
    library: OpLibrary = ob.load(folder / "ops.yaml")
    return library


def through_torch(
    probes: OpLibrary, name: str, expected: Array, x: Array, y: Array | None = None, **given: Any
) -> Array:
    """The formula's value for these arrays, of the shape and kind that is expected."""
    dtype = torch.complex128 if np.iscomplexobj(expected) else torch.float64
    t = torch.zeros(expected.shape, dtype=dtype, requires_grad=True)
    tensors = [torch.from_numpy(np.ascontiguousarray(value)) for value in (x, x if y is None else y)]
    result = probes[f"probe_{name}"](*tensors, t, **given)
    (gradient,) = torch.autograd.grad(result, t, torch.ones_like(result))
    value: Array = gradient.resolve_conj().numpy()
    return value


def agree(probes: OpLibrary, name: str, expected: Any, x: Array, y: Array | None = None, **given: Any) -> None:
    expected = np.asarray(expected)
    actual = through_torch(probes, name, expected, x, y, **given)
    np.testing.assert_allclose(actual, expected.astype(actual.dtype), rtol=1e-9, atol=1e-12)


def arrays(low: float, high: float, min_dims: int = 0) -> st.SearchStrategy[Array]:
    shapes = hnp.array_shapes(min_dims=min_dims, max_dims=3, min_side=1, max_side=4)
    elements = st.floats(low, high, allow_subnormal=False)
    return shapes.flatmap(lambda shape: hnp.arrays(np.float64, shape, elements=elements))


few = settings(max_examples=15, deadline=None)

NUMPY: dict[str, Callable[..., Any]] = {
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "erf": lambda x: torch.special.erf(torch.from_numpy(np.asarray(x))).numpy(),
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "atan2": np.arctan2,
    "asinh": np.arcsinh,
    "acosh": np.arccosh,
    "atanh": np.arctanh,
    "pow": np.power,
}


def numpy_of(name: str) -> Callable[..., Any]:
    return NUMPY.get(name) or getattr(np, name)


def test_every_function_is_here() -> None:
    assert set(FORMULAS) == set(ARRAY_FUNCTIONS)


@pytest.mark.parametrize("name", ONE)
@given(x=arrays(-5, 5))
@few
def test_functions_of_one_array(probes: OpLibrary, name: str, x: Array) -> None:
    agree(probes, name, numpy_of(name)(x), x)


@pytest.mark.parametrize("name", POSITIVE)
@given(x=arrays(1.0, 50))
@few
def test_functions_of_positive_numbers(probes: OpLibrary, name: str, x: Array) -> None:
    agree(probes, name, numpy_of(name)(x), x)


@pytest.mark.parametrize("name", WITHIN_ONE)
@given(x=arrays(-0.99, 0.99))
@few
def test_functions_of_numbers_below_one(probes: OpLibrary, name: str, x: Array) -> None:
    agree(probes, name, numpy_of(name)(x), x)


@pytest.mark.parametrize("name", ANY_VALUE)
def test_functions_of_any_number(probes: OpLibrary, name: str) -> None:
    x = np.array([0.0, -0.0, 1.5, np.nan, np.inf, -np.inf])
    agree(probes, name, numpy_of(name)(x), x)


@pytest.mark.parametrize("name", [*COMPLEX, "abs", "exp", "sqrt", "multiply"])
def test_functions_of_complex_numbers(probes: OpLibrary, name: str) -> None:
    x = np.array([1 + 2j, -0.5j, 3])
    agree(probes, name, numpy_of(name)(x, x) if name == "multiply" else numpy_of(name)(x), x)


@pytest.mark.parametrize("name", [*TWO, *COMPARISONS])
@given(data=st.data())
@few
def test_functions_of_two_arrays_broadcast(probes: OpLibrary, name: str, data: st.DataObject) -> None:
    shapes = data.draw(hnp.mutually_broadcastable_shapes(num_shapes=2, max_dims=3, max_side=3)).input_shapes
    elements = st.integers(-12, 12).map(lambda n: n / 4).filter(bool)
    x, y = (data.draw(hnp.arrays(np.float64, shape, elements=elements)) for shape in shapes)
    agree(probes, name, numpy_of(name)(x, y), x, y)


@given(x=arrays(0.1, 3), y=st.floats(-2, 2))
@few
def test_powers(probes: OpLibrary, x: Array, y: float) -> None:
    agree(probes, "pow", np.power(x, y), x, np.asarray(y))
    agree(probes, "pow_number", x**2 + 2**x, x)


@given(x=arrays(-3, 3, min_dims=1), data=st.data(), keepdims=st.booleans())
@few
@pytest.mark.parametrize("name", AXES)
def test_reductions(probes: OpLibrary, name: str, x: Array, data: st.DataObject, keepdims: bool) -> None:
    axes = data.draw(st.none() | st.lists(st.integers(-x.ndim, x.ndim - 1), unique_by=lambda a: a % x.ndim, min_size=1))
    expected = numpy_of(name)(x, axis=None if axes is None else tuple(axes), keepdims=keepdims)
    agree(probes, name, expected, x, axes=axes, keepdims=keepdims)


@given(x=arrays(-2, 2, min_dims=1), data=st.data(), keepdims=st.booleans())
@few
@pytest.mark.parametrize("name", ["prod", "argmax", "argmin"])
def test_reductions_over_one_axis(probes: OpLibrary, name: str, x: Array, data: st.DataObject, keepdims: bool) -> None:
    axis = data.draw(st.integers(-x.ndim, x.ndim - 1))
    agree(probes, name, numpy_of(name)(x, axis=axis, keepdims=keepdims), x, axis=axis, keepdims=keepdims)


@given(x=arrays(-2, 2, min_dims=1), data=st.data())
@few
def test_moving_elements(probes: OpLibrary, x: Array, data: st.DataObject) -> None:
    axis = data.draw(st.integers(-x.ndim, x.ndim - 1))
    order = data.draw(st.permutations(range(x.ndim)))
    agree(probes, "cumulative_sum", np.cumsum(x, axis), x, axis=axis)
    agree(probes, "permute_dims", np.transpose(x, order), x, shape=list(order))
    agree(probes, "expand_dims", np.expand_dims(x, axis), x, axis=axis)
    agree(probes, "flip", np.flip(x, axis), x, axes=[axis])
    agree(probes, "flip_all", np.flip(x), x)
    agree(probes, "flip", np.flip(x), x, axes=None)
    agree(probes, "roll", np.roll(x, 2), x, axes=None)
    agree(probes, "roll", np.roll(x, 2, axis), x, axes=[axis])
    agree(probes, "roll_all", np.roll(x, 3), x)
    agree(probes, "reshape", x.reshape(-1, 1), x, shape=[-1, 1])
    agree(probes, "broadcast_to", np.broadcast_to(x, (2, *x.shape)), x, shape=[2, *x.shape])
    agree(probes, "sum_to", x.sum(axis, keepdims=True), x, shape=list(x.sum(axis, keepdims=True).shape))
    agree(probes, "concat", np.concatenate([x, 2 * x], axis), x, 2 * x, axis=axis)
    agree(probes, "stack", np.stack([x, 2 * x], axis), x, 2 * x, axis=axis)
    places = np.arange(x.shape[axis])[::-1].copy()
    agree(probes, "take", np.take(x, places, axis), x, places, axis=axis)
    agree(probes, "prod_all", x.prod(), x)
    agree(probes, "sum_all", x.sum(), x)
    agree(probes, "max_all", x.max(keepdims=True), x)


@given(x=arrays(-2, 2), data=st.data())
@few
def test_squeeze(probes: OpLibrary, x: Array, data: st.DataObject) -> None:
    axis = data.draw(st.integers(-x.ndim - 1, x.ndim))
    agree(probes, "squeeze", x, np.expand_dims(x, axis), axis=axis)


@given(n=st.integers(1, 4), m=st.integers(1, 4), k=st.integers(-3, 3))
@few
def test_matrices(probes: OpLibrary, n: int, m: int, k: int) -> None:
    x = np.arange(1.0, n * m + 1).reshape(n, m)
    agree(probes, "matmul", x @ x.T, x, x.T)
    agree(probes, "tensordot", np.tensordot(x, x.T, 1), x, x.T)
    agree(probes, "matrix_transpose", x.T, x)
    agree(probes, "transposed", x.T, x)
    agree(probes, "matrix_transposed", x.T @ x, x)
    agree(probes, "tril", np.tril(x, k), x, axis=k)
    agree(probes, "triu", np.triu(x, k), x, axis=k)
    agree(probes, "subscripts", x[..., ::2][None, 1:], x)
    agree(probes, "shape_arithmetic", x.reshape(n * m, 1) / x.size, x)


@given(x=arrays(-3, 3))
@few
def test_choices_and_numbers(probes: OpLibrary, x: Array) -> None:
    y = np.flip(x).copy()
    agree(probes, "where", np.where(x > 0, x, y), x, y)
    agree(probes, "where_number", np.where(x > y, 1, 0) * x, x, y)
    agree(probes, "clip", np.clip(x, -1, 1), x)
    agree(probes, "clip_low", np.maximum(x, 0.5), x)
    agree(probes, "clip_high", np.minimum(x, y), x, y)
    agree(probes, "maximum_number", np.maximum(x, 0), x)
    agree(probes, "number_first", 1 - 2 / (3 + np.exp(x)), x)
    agree(probes, "floor_operators", x // 2 + x % 2, x)
    agree(probes, "full_like", np.full_like(x, 2.5), x)
    agree(probes, "zeros", np.zeros(x.shape), x, shape=list(x.shape))
    agree(probes, "ones", np.ones(x.shape), x, shape=list(x.shape))
    agree(probes, "astype", x.astype(np.int64), x)
    agree(probes, "negated", -x, x)
    agree(probes, "aten", np.where(x > 0, x, 0.1 * x), x)
    agree(probes, "aten_overload_by_argument", x + 1, x)
    agree(probes, "chosen", x if x.ndim == 2 else -x, x, axis=1)
    agree(probes, "chosen", x, x, axis=0, keepdims=True)
    if x.size > 1:
        agree(probes, "var_corrected", x.var(ddof=1), x)
        agree(probes, "std_corrected", x.std(ddof=1), x)


def test_a_formula_takes_the_dtype_of_its_arrays(kernels: Path) -> None:
    op = ob.load(
        kernels / "elementwise.cpp",
        schema="obprobe_dtype::identity(Tensor x) -> Tensor",
        out="x",
        derivatives={"x": "grad * 2 + 0.5 * maximum(x, 0)"},
    )
    x = torch.ones(3, dtype=torch.bfloat16, requires_grad=True)
    (gradient,) = torch.autograd.grad(op(x), x, torch.ones_like(x))
    assert gradient.dtype is torch.bfloat16
    assert gradient.tolist() == [2.5, 2.5, 2.5]


@pytest.mark.parametrize(
    ("formula", "message"),
    [
        ("aten::no_such_operator(grad)", "calls aten::no_such_operator, which PyTorch does not know"),
        ("aten::leaky_relu(grad, 'steep')", "no overload takes these arguments"),
        ("aten::topk(grad, 1)", "gives 2 gradients for 1 arguments"),
        ("reshape(grad, [7])", "shape"),
    ],
)
def test_a_formula_that_fails_says_whose_it_is(kernels: Path, formula: str, message: str) -> None:
    name = re.sub(r"\W", "_", formula)
    op = ob.load(
        kernels / "elementwise.cpp:identity",
        schema=f"obprobe_bad::{name}(Tensor x) -> Tensor",
        out="x",
        derivatives={"x": formula},
    )
    x = torch.ones(3, requires_grad=True)
    with pytest.raises((KernelError, CallError), match=message) as caught:
        op(x).sum().backward()
    assert f"obprobe_bad::{name}" in str(caught.value)
