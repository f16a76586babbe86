"""ATen operators on NumPy arrays: memory is shared where NumPy would share it, and nothing else is ever written to."""

from __future__ import annotations

import copy
import pickle
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst
from numpy.testing import assert_array_equal
from subprocesses import opened

import opbridge as ob
from opbridge.base.errors import CallError, KernelError, NoSuchOperatorError, UnsupportedError

X = np.arange(6, dtype=np.float32).reshape(2, 3) - 2
DTYPES = ["bool", "uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64", "complex64"]


@settings(deadline=None, max_examples=80)
@given(
    npst.arrays(
        st.sampled_from(DTYPES),
        npst.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=4),
        elements=st.integers(0, 1),
    ),
    st.data(),
)
def test_every_layout_and_dtype_is_its_values(array: np.ndarray, data: st.DataObject) -> None:
    """Reversed, strided, transposed and byte-swapped arrays included."""
    steps = [slice(None, None, data.draw(st.sampled_from([1, 2, -1, -2]))) for _ in range(array.ndim)]
    view = array[tuple(steps)].transpose(data.draw(st.permutations(range(array.ndim))))
    if data.draw(st.booleans()):
        view = view.astype(view.dtype.newbyteorder())
    result = ob.aten("clone").numpy(view)
    assert result.dtype == array.dtype
    assert_array_equal(result, view)
    assert not np.shares_memory(result, view)


def test_views_share_memory() -> None:
    x = X.copy()
    transposed = ob.aten("transpose")(x, 0, 1)
    transposed[0, 0] = 50
    assert x[0, 0] == 50
    for part in ob.aten("split")(x, 1):
        assert np.shares_memory(part, x)


def test_in_place_changes_the_array_and_returns_it() -> None:
    x = X.copy()
    assert ob.aten("add_")(x, 1) is x
    assert_array_equal(x, X + 1)
    backwards = X.copy()[::-1]
    assert ob.aten("mul_")(backwards, 2) is backwards
    assert_array_equal(backwards, 2 * X[::-1])
    swapped = X.astype(">f4")
    ob.aten("neg_")(swapped)
    assert_array_equal(swapped, -X)


def test_in_place_on_the_form_returns_an_array_of_that_form() -> None:
    x = X[:1].copy()
    squeezed = ob.aten("squeeze_")(x)
    assert squeezed.shape == (3,)
    assert x.shape == (1, 3)
    assert np.shares_memory(squeezed, x)


def test_out() -> None:
    out = np.empty_like(X)
    assert ob.aten("sin")(X, out=out) is out
    assert_array_equal(out, torch.from_numpy(X).sin().numpy())
    assert ob.aten("sin.default")(X, out=out) is out
    with pytest.raises(KernelError, match=r"aten::sin: .*resize"):
        ob.aten("sin")(X, out=np.empty(5, np.float32))


def test_a_read_only_array_is_read_and_never_written() -> None:
    x = X.copy()
    x.flags.writeable = False
    assert_array_equal(ob.aten("relu")(x), np.maximum(X, 0))
    assert not ob.aten("transpose")(x, 0, 1).flags.writeable
    with pytest.raises(CallError, match=r"aten::add_.*argument 'self' is written to, and the array is read-only"):
        ob.aten("add_")(x, 1)
    with pytest.raises(CallError, match="argument 'out' is written to"):
        ob.aten("sin")(X, out=x)
    assert_array_equal(x, X)


def test_numbers() -> None:
    """NumPy's own too; they are tensors only where no overload takes them as numbers."""
    add = ob.aten("add")
    for two in (2, 2.0, np.int64(2), np.float32(2), np.float64(2)):
        assert_array_equal(add(X, two), X + 2)
        assert add(X, two).dtype == np.float32
    assert_array_equal(ob.aten("maximum")(X, np.float32(1)), np.maximum(X, 1))
    assert ob.aten("item")(X[:1, :1]) == -2.0
    assert ob.aten("equal")(X, X) is True
    assert ob.aten("sum.dim_IntList")(X, np.array([0])).shape == (3,)


def test_dtypes_by_any_name() -> None:
    total = ob.aten("sum")
    for name in ("float64", np.float64, np.dtype("float64"), float, torch.float64):
        assert total(X, dtype=name).dtype == np.float64
    assert ob.aten("zeros").numpy([2], dtype="int8", device="cpu", layout="strided").dtype == np.int8
    with pytest.raises(CallError, match=r"argument 'dtype': expected ScalarType\?, got str 'float65'"):
        total(X, dtype="float65")


def test_bfloat16_is_what_ml_dtypes_makes_of_it() -> None:
    bfloat16 = pytest.importorskip("ml_dtypes").bfloat16
    narrow = ob.aten("to.dtype")(X, "bfloat16")
    assert narrow.dtype == bfloat16
    assert_array_equal(narrow.astype(np.float32), X)
    assert ob.aten("add")(narrow, narrow).dtype == bfloat16


def test_generators_draw_what_pytorch_draws() -> None:
    drawn = ob.aten("rand").numpy([4], generator=torch.Generator().manual_seed(5))
    assert_array_equal(drawn, torch.rand(4, generator=torch.Generator().manual_seed(5)).numpy())


def test_what_no_array_is() -> None:
    with pytest.raises(UnsupportedError, match=r"aten::to_sparse: the result is sparse_coo"):
        ob.aten("to_sparse")(X)
    with pytest.raises(CallError, match=r"aten::relu: expected an array of numbers, got one of dtype object"):
        ob.aten("relu")(np.array([None, "x"], dtype=object))
    with pytest.raises(UnsupportedError, match=r"aten::zeros: the result is on meta"):
        ob.aten("zeros").numpy([2], device="meta")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ob.aten("leaky_relu")(X, "steep"), "argument 'negative_slope': expected Scalar, got str 'steep'"),
        (lambda: ob.aten("leaky_relu")(X, negativ_slope=1), "there is no argument 'negativ_slope'; did you mean 'neg"),
        (lambda: ob.aten("leaky_relu")(X, 1, negative_slope=1), "argument 'negative_slope' is given twice"),
        (lambda: ob.aten("leaky_relu")(X, 1, 2), "expected at most 2 positional arguments, got 3"),
        (lambda: ob.aten("add.Tensor")(X), "argument 'other' is missing"),
        (lambda: ob.aten("add")(X, torch.ones(3)), "expected a numpy.ndarray for Tensor, got torch.Tensor"),
        (lambda: ob.aten("cat")(X), "argument 'tensors': expected a numpy.ndarray for Tensor\\[\\], got numpy.ndarray"),
        (lambda: ob.aten("sum")(X, 5), "aten::sum: Dimension out of range"),
        (lambda: ob.aten("relu")("x"), "expected tensors of one framework .*, got str"),
    ],
)
def test_wrong_arguments_are_named(call: object, message: str) -> None:
    with pytest.raises(CallError, match=message):
        call()  # type: ignore[operator]


def test_what_pytorch_refuses_is_said_in_its_words() -> None:
    with pytest.raises(KernelError, match=r"^aten::add: The size of tensor a \(3\) must match .* dimension 1$"):
        ob.aten("add")(X, np.ones(4, np.float32))


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("leaky_reluu", "PyTorch has no operator aten::leaky_reluu; did you mean 'aten::leaky_relu'?"),
        ("add.Tensorr", "its overloads: aten::add.Scalar, "),
        ("torchvisio::nms", "PyTorch has no operator torchvisio::nms"),
    ],
)
def test_an_unknown_name(name: str, message: str) -> None:
    with pytest.raises(NoSuchOperatorError) as caught:
        ob.aten(name)
    assert message in str(caught.value)
    with pytest.raises(CallError, match="expects the name of an operator"):
        ob.aten(3)  # type: ignore[arg-type]


def test_one_name_is_one_operator() -> None:
    op = ob.aten("leaky_relu")
    assert ob.aten("aten::leaky_relu") is op
    assert copy.deepcopy(op) is op
    assert pickle.loads(pickle.dumps(op)) is op
    assert str(op.schema) == "aten::leaky_relu(Tensor self, Scalar negative_slope=0.01) -> Tensor"
    assert op.torch is torch.ops.aten.leaky_relu
    assert ob.aten("add.Tensor").torch is torch.ops.aten.add.Tensor
    x = torch.ones(2, requires_grad=True)
    op(x).sum().backward()
    assert x.grad is not None


def test_a_pickle_opens_in_another_process() -> None:
    assert opened(ob.aten("neg"), "import numpy; print(thing(numpy.ones(2)).sum())") == "-2.0\n"


def test_an_operator_that_somebody_registers_later() -> None:
    with pytest.raises(NoSuchOperatorError):
        ob.aten("aten_numpy_test::twice")
    library = torch.library.Library("aten_numpy_test", "DEF")
    library.define("twice(Tensor x, *, int by=2) -> Tensor")
    library.impl("twice", lambda x, by=2: by * x, "CompositeImplicitAutograd")
    assert_array_equal(ob.aten("aten_numpy_test::twice")(X, by=3), 3 * X)
    library._destroy()


def test_threads_share_an_operator() -> None:
    add = ob.aten("add")
    start = threading.Barrier(4)

    def work(number: int) -> None:
        start.wait()
        for _ in range(200):
            assert_array_equal(add(X, number), X + number)
            assert_array_equal(add(X, X, alpha=number), X + number * X)

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(work, range(4)))


def test_no_warning_and_no_copy_of_large_arrays() -> None:
    x = np.zeros(10_000)
    x.flags.writeable = False
    view = ob.aten("view")(x, [100, 100])
    assert view.ctypes.data == x.ctypes.data
