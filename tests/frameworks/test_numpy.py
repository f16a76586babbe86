from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import opbridge as ob
from opbridge.errors import CallError
from opbridge.frameworks.numpy import DTYPES, FUNCTIONS, accepts
from opbridge.rules import ARRAY_FUNCTIONS
from opbridge.rules import DTYPES as NAMES

SOURCE = """
#include <opbridge/kernel.h>
template <class T>
void scaled_add(ob::In<T> x, ob::In<T> y, ob::Out<T> out, double alpha) {
  for (int64_t i = 0; i < out.numel(); ++i) out[i] = x[i] + T(alpha) * y[i];
}
OB_KERNEL(scaled_add, float, double)
"""


@pytest.fixture(scope="module")
def op() -> Any:
    schema = "numpy_tests::scaled_add(Tensor x, Tensor y, *, float alpha=1.0) -> Tensor"
    return ob.inline(SOURCE, schema=schema, out="x", batch="elementwise")


def test_an_op_called_with_arrays_gives_an_array(op: Any) -> None:
    x = np.arange(3.0)
    np.testing.assert_array_equal(op(x, x, alpha=2.0), 3 * x)


def test_the_view_takes_out(op: Any) -> None:
    x, out = np.arange(3.0), np.empty(3)
    assert op.numpy(x, x, out=out) is out
    assert op.numpy is op.numpy
    with pytest.raises(CallError, match="numpy_tests::scaled_add: argument 'y' is missing"):
        op.numpy(x)


def test_accepts_arrays_and_their_subclasses(tmp_path: Path) -> None:
    assert accepts(np.ndarray)
    assert accepts(np.memmap)
    assert not accepts(list)


X = np.array([[0.25, -0.5, 0.75], [0.1, 0.2, -0.3]], np.float32)
POSITIVE = np.abs(X) + 1

BY_HAND: dict[str, tuple[Any, Any]] = {
    "acos": (FUNCTIONS["acos"](X), np.arccos(X)),
    "acosh": (FUNCTIONS["acosh"](POSITIVE), np.arccosh(POSITIVE)),
    "argmax": (FUNCTIONS["argmax"](X, axis=1), [2, 1]),
    "astype": (FUNCTIONS["astype"](X, DTYPES["int32"]), X.astype(np.int32)),
    "atan2": (FUNCTIONS["atan2"](X, x2=POSITIVE), np.arctan2(X, POSITIVE)),
    "clip": (FUNCTIONS["clip"](X, min=0), np.maximum(X, 0)),
    "concat": (FUNCTIONS["concat"]([X, X], axis=1), np.hstack([X, X])),
    "cumulative_sum": (FUNCTIONS["cumulative_sum"](X, axis=0), np.cumsum(X, axis=0)),
    "erf": (FUNCTIONS["erf"](X), np.array([[math.erf(v) for v in row] for row in X], np.float32)),
    "matrix_transpose": (FUNCTIONS["matrix_transpose"](X), X.T),
    "mean": (FUNCTIONS["mean"](X, axis=(0, 1)), X.mean()),
    "permute_dims": (FUNCTIONS["permute_dims"](X, axes=(1, 0)), X.T),
    "roll": (FUNCTIONS["roll"](X, 1, axis=1), X[:, [2, 0, 1]]),
    "rsqrt": (FUNCTIONS["rsqrt"](POSITIVE), POSITIVE**-0.5),
    "sigmoid": (FUNCTIONS["sigmoid"](X), 1 / (1 + np.exp(-X))),
    "stack": (FUNCTIONS["stack"]([X, X]), np.array([X, X])),
    "sum": (FUNCTIONS["sum"](X, keepdims=True), X.sum(keepdims=True)),
    "sum_to": (FUNCTIONS["sum_to"](np.ones((4, 2, 3)), (2, 1)), np.full((2, 1), 12.0)),
    "take": (FUNCTIONS["take"](X, np.array([2, 0]), axis=1), X[:, [2, 0]]),
    "tensordot": (FUNCTIONS["tensordot"](X, X), np.vdot(X, X)),
    "var": (FUNCTIONS["var"](X, axis=0, correction=1), X.var(axis=0, ddof=1)),
    "where": (FUNCTIONS["where"](X > 0, X, 0), np.maximum(X, 0)),
    "zeros": (FUNCTIONS["zeros"]((2,), dtype=DTYPES["int8"]), np.zeros(2, np.int8)),
}


@pytest.mark.parametrize("name", BY_HAND)
def test_functions_that_numpy_spells_differently(name: str) -> None:
    got, expected = BY_HAND[name]
    np.testing.assert_allclose(got, expected, rtol=1e-6)
    assert np.asarray(got).dtype == np.asarray(expected).dtype


def test_every_function_of_a_formula_is_there() -> None:
    assert FUNCTIONS.keys() == ARRAY_FUNCTIONS.keys()
    one_array = [name for name, declared in ARRAY_FUNCTIONS.items() if len(declared.parameters) == 1]
    for name in one_array:
        x = np.full((2, 2), 2.0 if name == "acosh" else 0.5)
        assert np.shape(FUNCTIONS[name](x)) == (2, 2), name


def test_every_dtype_but_bfloat16_has_numpys() -> None:
    assert set(NAMES) - set(DTYPES) == {"bfloat16"}
