"""How ATen operators behave in MindSpore: attributes, unknown sizes, errors, threads, and what is remembered."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import mindspore as ms
import numpy as np
import pytest
import torch
from numpy.testing import assert_array_equal

import opbridge as ob
from opbridge.base.errors import CallError, KernelError, UnsupportedError

X = np.array([[1.0, -2.0], [3.0, 4.0]], np.float32)


@pytest.fixture(scope="module", autouse=True)
def quiet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("mindspore"))
        patch.setenv("GLOG_v", "3")
        yield


class Net(ms.nn.Cell):  # type: ignore[misc]
    """A compiled network around one call."""

    def __init__(self, name: str, *attributes: Any, **keywords: Any) -> None:
        super().__init__()
        self.op = ob.aten(name).mindspore
        self.attributes = attributes
        self.keywords = keywords

    @ms.jit  # type: ignore[untyped-decorator]
    def construct(self, *tensors: Any) -> Any:
        return self.op(*tensors, *self.attributes, **self.keywords)


def test_an_attribute_is_told_from_its_likes() -> None:
    """1 is not True and not 1.0, and 0.0 is not -0.0, however equal Python finds them."""
    full = ob.aten("full_like").mindspore
    x = ms.Tensor(X)
    zeros = [np.signbit(full(x, value).asnumpy()).all() for value in (0.0, -0.0, 0.0)]
    assert zeros == [False, True, False]
    add = ob.aten("add").mindspore
    integers = ms.Tensor([1, 2])
    assert [add(integers, one).dtype for one in (1, 1.0, True)] == [ms.int64, ms.float32, ms.int64]


def test_dtypes_of_mindspore() -> None:
    for dtype in (ms.float16, ms.float64, ms.int32, ms.bool_):
        assert ob.aten("to.dtype").mindspore(ms.Tensor(X), dtype).dtype == dtype
        assert Net("to.dtype", dtype)(ms.Tensor(X)).dtype == dtype


def test_in_place_returns_the_new_value() -> None:
    x = ms.Tensor(X)
    assert_array_equal(ob.aten("add_").mindspore(x, 1).asnumpy(), X + 1)
    assert_array_equal(x.asnumpy(), X)


@pytest.mark.parametrize("shape", [[None, 2], [None, None], None], ids=str)
def test_sizes_known_only_at_run_time(shape: list[int | None] | None) -> None:
    class Dynamic(ms.nn.Cell):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.relu = ob.aten("leaky_relu").mindspore
            self.total = ob.aten("sum").mindspore

        @ms.jit  # type: ignore[untyped-decorator]
        def construct(self, x: Any) -> Any:
            y = self.relu(x, 0.5)
            return y, self.total(y), self.total(y, [-1])

    network = Dynamic()
    network.set_inputs(ms.Tensor(shape=shape, dtype=ms.float32))
    for rows in (2, 3, 5):
        x = np.linspace(-1, 1, 2 * rows, dtype=np.float32).reshape(rows, 2)
        y, total, of_rows = network(ms.Tensor(x))
        expected = torch.nn.functional.leaky_relu(torch.from_numpy(x), 0.5)
        assert_array_equal(y.asnumpy(), expected)
        np.testing.assert_allclose(total.asnumpy(), expected.sum(), atol=1e-6)
        assert_array_equal(of_rows.asnumpy(), expected.sum(-1))
        assert total.shape == ()


@pytest.mark.parametrize(
    ("name", "args", "message"),
    [
        ("leaky_relu", ("steep",), "argument 'negative_slope': expected Scalar, got str 'steep'"),
        ("leaky_relu", (1, 2), "expected at most 2 positional arguments, got 3"),
        ("sum", ([7],), "Dimension out of range"),
    ],
)
def test_wrong_attributes(name: str, args: tuple[Any, ...], message: str) -> None:
    with pytest.raises(CallError, match=f"aten::{name}.*(.|\n)*{message}"):
        ob.aten(name).mindspore(ms.Tensor(X), *args)
    with pytest.raises(CallError, match=f"aten::{name}.*(.|\n)*{message}"):
        Net(name, *args)(ms.Tensor(X))


def test_wrong_shapes_are_said_in_pytorch_s_words() -> None:
    x, other = ms.Tensor(X), ms.Tensor(np.ones(3, np.float32))
    operator = ob.aten("hypot").mindspore  # which no other test calls, so that the first call is the first
    words = r"aten::hypot.*The size of tensor a \(2\) must match the size of tensor b \(3\)"
    with pytest.raises(KernelError, match=words):
        operator(x, other)
    # After a call that went well too, when the primitive is there already.
    operator(x, x)
    with pytest.raises(CallError, match=r"aten::hypot.*(must match|broadcast)"):
        operator(x, other)
    with pytest.raises(CallError, match=r"aten::hypot.*(must match|broadcast)"):
        Net("hypot")(x, other)


def test_what_fails_in_the_kernel_names_the_operator() -> None:
    rows = ms.Tensor(np.array([0, 9]))
    with pytest.raises((CallError, RuntimeError), match=r"aten::index_select.*index out of range"):
        ob.aten("index_select").mindspore(ms.Tensor(X), 0, rows).asnumpy()
    assert_array_equal(ob.aten("neg").mindspore(ms.Tensor(X)).asnumpy(), -X)


def test_strangers_are_named() -> None:
    with pytest.raises(CallError, match=r"argument 'other': expected a mindspore.Tensor for Tensor, got numpy.ndarray"):
        ob.aten("mul.Tensor").mindspore(ms.Tensor(X), X)
    with pytest.raises(CallError, match="no argument 'beta'"):
        ob.aten("mul.Tensor").mindspore(ms.Tensor(X), ms.Tensor(X), beta=1)


def test_a_graph_needs_a_tensor() -> None:
    assert_array_equal(ob.aten("arange").mindspore(3).asnumpy(), [0, 1, 2])
    with pytest.raises(UnsupportedError, match="aten::arange: a graph needs a tensor among its arguments"):
        Net("arange", 3)()


def test_two_alike_draws_in_a_graph_are_two_draws() -> None:
    rand_like = ob.aten("rand_like").mindspore

    @ms.jit  # type: ignore[untyped-decorator]
    def twice(x: Any) -> Any:
        return rand_like(x), rand_like(x)

    first, second = twice(ms.Tensor(X))
    assert not np.array_equal(first.asnumpy(), second.asnumpy())


def test_a_list_after_a_tensor() -> None:
    counts, edges = ob.aten("histogramdd").mindspore(ms.Tensor(X), [2, 3])
    assert counts.shape == (2, 3)
    assert [edge.shape for edge in edges] == [(3,), (4,)]


def test_a_cell_is_shared_by_every_copy() -> None:
    cell = ob.aten("relu").mindspore
    assert copy.deepcopy(cell) is cell
    assert ob.aten("relu").mindspore is cell
    assert ob.aten("relu")(ms.Tensor(X)).shape == (2, 2)


def test_attributes_that_change_with_every_call() -> None:
    add = ob.aten("add").mindspore
    for number in range(400):
        assert float(add(ms.Tensor(1.0), number).asnumpy()) == number + 1


def test_threads() -> None:
    add = ob.aten("add").mindspore

    def work(number: int) -> None:
        for _ in range(20):
            assert_array_equal(add(ms.Tensor(X), number).asnumpy(), X + number)

    with ThreadPoolExecutor(2) as threads:
        list(threads.map(work, range(2)))
