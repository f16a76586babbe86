from __future__ import annotations

import contextlib
import gc
import math
import sys
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes

import opbridge as ob
from opbridge.base.errors import CallError, OpbridgeError
from opbridge.frameworks import FRAMEWORKS, framework_of
from opbridge.frameworks.numpy.adapter import DTYPES, FUNCTIONS
from opbridge.waist.rules import ARRAY_FUNCTIONS
from opbridge.waist.rules import DTYPES as NAMES

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


def test_a_masked_array_is_refused(op: Any) -> None:
    """The kernel would count what the mask hides, and the result would have no mask."""
    x, masked = np.arange(3.0), np.ma.masked_array(np.arange(3.0), [False, True, False])
    for call in (op, op.numpy, lambda *arrays: ob.aten("add").numpy(*arrays)):
        for arrays in ((masked, x), (x, masked), (masked.view(type("Mine", (np.ma.MaskedArray,), {})), x)):
            with pytest.raises(CallError, match=r"masked.*x\.filled\(0\)"):
                call(*arrays)
    with pytest.raises(CallError, match=r"'out' expects a numpy array, got a masked one"):
        op.numpy(x, x, out=masked)
    np.testing.assert_array_equal(op(masked.filled(7), masked.data), [0, 8, 4])


def test_arrays_and_their_subclasses_are_numpys() -> None:
    assert framework_of(np.ndarray) is FRAMEWORKS["numpy"]
    assert framework_of(np.memmap) is FRAMEWORKS["numpy"]
    assert framework_of(list) is None


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


def layouts(shape: tuple[int, ...], dtype: Any) -> st.SearchStrategy[np.ndarray[Any, Any]]:
    """Arrays of one shape as they may lie in memory: packed, transposed, spread, backwards, repeated, read-only."""
    wide = np.arange(math.prod(2 * size for size in shape), dtype=dtype).reshape([2 * size for size in shape])
    packed = np.array(wide[tuple(slice(size) for size in shape)])
    read_only = packed.copy()
    read_only.flags.writeable = False
    return st.sampled_from(
        [
            packed,
            np.array(packed, order="F"),
            np.array(wide)[(..., *(slice(None, None, 2) for _ in shape))],
            packed[(..., *(slice(None, None, -1) for _ in shape))],
            packed.astype(packed.dtype.newbyteorder()),
            np.broadcast_to(np.asarray(3, dtype), shape),
            read_only,
        ]
    )


@given(
    st.data(), array_shapes(min_dims=0, max_dims=5, min_side=0, max_side=4), st.sampled_from([np.float32, np.float64])
)
def test_any_layout_gives_what_numpy_gives(op: Any, data: st.DataObject, shape: tuple[int, ...], dtype: Any) -> None:
    x, y = data.draw(layouts(shape, dtype)), data.draw(layouts(shape, dtype))
    expected = np.asarray(x + 2 * y, dtype)
    np.testing.assert_array_equal(op(x, y, alpha=2.0), expected, strict=True)

    writable = layouts(shape, dtype).filter(lambda array: array.flags.writeable and array.dtype.isnative)
    out = data.draw(writable).copy("K")
    assert op.numpy(x, y, alpha=2.0, out=out) is out
    np.testing.assert_array_equal(out, expected, strict=True)

    overlapping = x.copy("K").astype(dtype)
    view = overlapping[(..., *(slice(None, None, -1) for _ in shape))]
    expected = np.asarray(view + 2 * y, dtype)
    np.testing.assert_array_equal(op.numpy(view, y, alpha=2.0, out=overlapping), expected, strict=True)


def test_thousands_of_calls_leave_nothing_behind(op: Any) -> None:
    x = np.ones(3)
    calls: list[Callable[[], object]] = [
        lambda: op(x, x),
        lambda: op.numpy(x, x, alpha=0, out=x),
        lambda: op(x),
        lambda: op(x, x, beta=1),
        lambda: op(x, x, alpha="2"),
        lambda: op(x, [1.0]),
        lambda: op(x, x[:2]),
        lambda: op(x, x.astype(np.float16)),
        lambda: op.numpy(x, x, out=np.ones(4)),
    ]

    def call_all(times: int) -> None:
        for call in calls:
            for _ in range(times):
                with contextlib.suppress(OpbridgeError):
                    call()

    tracemalloc.start()
    try:
        call_all(100)
        gc.collect()
        before, references = tracemalloc.get_traced_memory()[0], sys.getrefcount(x)
        call_all(5_000)
        gc.collect()
        assert sys.getrefcount(x) == references
        # Python keeps some freed objects for later; one lost a call would come to 120 kB at the least.
        assert tracemalloc.get_traced_memory()[0] - before < 60_000
    finally:
        tracemalloc.stop()
