"""What an operator computes from MindSpore tensors, in PyNative and in Graph mode."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

import opbridge as ob
from opbridge.waist.op import OpLibrary
from opbridge.waist.rules import DTYPES

ms = pytest.importorskip("mindspore")
ops, nn = ms.ops, ms.nn

Run = Callable[..., Any]
X = np.array([[1.0, -2.0, 3.0], [4.0, 5.0, -6.0]], np.float32)
Y = np.array([[1.0, 1.0, 2.0], [2.0, 3.0, 3.0]], np.float32)


def tensor(array: Any) -> Any:
    return ms.Tensor(np.asarray(array))


def test_a_call_in_either_mode(lib: OpLibrary, run: Run) -> None:
    cell = lib.scaled_add.mindspore

    def network(x, y):  # type: ignore[no-untyped-def]
        return cell(x, y, alpha=2.0) + 1

    result = run(network, tensor(X), tensor(Y))
    np.testing.assert_array_equal(result.asnumpy(), X + 2 * Y + 1)


def test_the_operator_takes_tensors_and_parameters(lib: OpLibrary) -> None:
    weight = ms.Parameter(tensor(Y), name="weight")
    result = lib.scaled_add(tensor(X), weight, alpha=0.5)
    assert isinstance(result, ms.Tensor)
    np.testing.assert_array_equal(result.asnumpy(), X + 0.5 * Y)


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_dtype_arrives_and_returns(lib: OpLibrary, dtype: str) -> None:
    x = tensor([[0, 1, 1], [0, 3, 100]]).astype(ms.bool_ if dtype == "bool" else getattr(ms, dtype))
    result = lib.identity(x)
    assert result.dtype == x.dtype
    np.testing.assert_array_equal(result.astype(ms.complex64).asnumpy(), x.astype(ms.complex64).asnumpy())


@pytest.mark.parametrize("shape", [(), (0,), (1,), (3, 0, 2), (2, 3), (1, 2, 3, 4, 5, 6)], ids=str)
def test_every_shape(lib: OpLibrary, run: Run, shape: tuple[int, ...]) -> None:
    cell = lib.scaled_add.mindspore

    def network(x, y):  # type: ignore[no-untyped-def]
        return cell(x, y)

    x, y = np.random.default_rng(0).standard_normal((2, *shape), np.float32)
    result = run(network, tensor(x), tensor(y))
    assert result.shape == shape
    np.testing.assert_array_equal(result.asnumpy(), x + y)


FLOATS = st.sampled_from([np.float32, np.float64])


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_broadcasting_and_promotion_are_numpys(lib: OpLibrary, data: st.DataObject) -> None:
    shapes = data.draw(npst.mutually_broadcastable_shapes(num_shapes=2, max_dims=4, max_side=4)).input_shapes
    x, y = (np.random.default_rng(1).standard_normal(shape).astype(data.draw(FLOATS)) for shape in shapes)
    expected = lib.broadcast_add.numpy(x, y)
    result = lib.broadcast_add(tensor(x), tensor(y)).asnumpy()
    assert result.dtype == expected.dtype
    np.testing.assert_array_equal(result, expected)


def test_a_view_is_its_values_not_its_memory(lib: OpLibrary) -> None:
    base = tensor(np.arange(24.0).reshape(4, 6))
    for view in (base.T, base[1:], base[::2, 1::3], base[2]):
        np.testing.assert_array_equal(lib.identity(view).asnumpy(), view.asnumpy())
    np.testing.assert_array_equal(lib.row_sums(base.T).asnumpy(), base.asnumpy().sum(0))


def test_several_outputs_come_as_a_tuple(lib: OpLibrary, run: Run) -> None:
    cell = lib.largest.mindspore

    def network(x):  # type: ignore[no-untyped-def]
        value, place = cell(x)
        return value, place

    value, place = run(network, tensor(X))
    assert value.asnumpy().tolist() == [3.0, 5.0]
    assert place.dtype == ms.int64
    assert place.asnumpy().tolist() == [2, 1]


def test_shape_arithmetic(lib: OpLibrary, run: Run) -> None:
    cell = lib.windows.mindspore

    def network(x):  # type: ignore[no-untyped-def]
        return cell(x, 4, step=3)

    x = np.arange(20.0).reshape(2, 10)
    np.testing.assert_array_equal(run(network, tensor(x)).asnumpy(), lib.windows.numpy(x, 4, 3))


def test_attributes_and_their_defaults(lib: OpLibrary, run: Run) -> None:
    cell = lib.attributes.mindspore

    def network(x):  # type: ignore[no-untyped-def]
        return cell(x)

    number_of_float32 = 11
    expected = [6, 3, 0.5, 1, 4, 1, 2, 0, 0, 0, 0, number_of_float32, -1, 1, 1]
    assert run(network, tensor(X)).asnumpy().tolist() == expected


def test_attributes_as_given(lib: OpLibrary, run: Run) -> None:
    cell = lib.attributes.mindspore

    def network(x):  # type: ignore[no-untyped-def]
        return cell(
            x,
            -7,
            2,
            flag=False,
            text="ünï",
            pair=(4, 5),
            reals=[1.5, 2.5],
            flags=[True, False, True],
            type=ms.bfloat16,
            maybe=9,
            number=0.25,
        )

    number_of_bfloat16 = 10
    expected = [6, -7, 2, 0, 5, 4, 5, 2, 1.5, 3, 1, number_of_bfloat16, 9, 0, 0.25]
    assert run(network, tensor(X)).asnumpy().tolist() == expected


def test_attributes_that_look_alike_are_told_apart(lib: OpLibrary) -> None:
    x = tensor(X)
    numbers = [lib.attributes(x, number=number).asnumpy()[-2:].tolist() for number in (1, 1.0, True, 0.0, -0.0, 0)]
    assert numbers == [[1, 1], [0, 1], [1, 1], [0, 0], [0, 0], [1, 0]]
    signs = [np.signbit(lib.scaled_add(0 * x, x * 0, alpha=alpha).asnumpy()).all() for alpha in (-0.0, 0.0)]
    assert signs == [False, False]
    wholes = [lib.attributes(x, np.int64(5)), lib.attributes(x, 5), lib.attributes(x, real=np.float32(1.5))]
    assert [whole.asnumpy()[1:3].tolist() for whole in wholes] == [[5, 0.5], [5, 0.5], [3, 1.5]]


def test_attributes_that_change_with_every_call(lib: OpLibrary) -> None:
    x, y = tensor(X), tensor(Y)
    for step in range(300):
        result = lib.scaled_add(x, y, alpha=float(step))
    np.testing.assert_array_equal(result.asnumpy(), X + 299 * Y)
    cell = lib.scaled_add.mindspore
    for step in range(300):
        cell(x, y, alpha=float(step))
    assert len(cell._made) <= 128


def test_optional_tensors(lib: OpLibrary, run: Run) -> None:
    cell = lib.add_bias.mindspore

    def network(x, bias):  # type: ignore[no-untyped-def]
        return cell(x), cell(x, None), cell(x, bias=bias)

    without, none, given_one = run(network, tensor(X), tensor(Y[0]))
    np.testing.assert_array_equal(without.asnumpy(), X)
    np.testing.assert_array_equal(none.asnumpy(), X)
    np.testing.assert_array_equal(given_one.asnumpy(), X + Y[0])


def test_lists_of_tensors(lib: OpLibrary, run: Run) -> None:
    weighted_sum, sum_present, count = (
        lib.weighted_sum.mindspore,
        lib.sum_present.mindspore,
        lib.count_tensors.mindspore,
    )

    def network(x, y):  # type: ignore[no-untyped-def]
        return weighted_sum([x, y, x], (1.0, 2.0, 3.0)), sum_present(x, (None, y, None)), count(x), count(x, (x, y))

    weighted, present, one, three = run(network, tensor(X), tensor(Y))
    np.testing.assert_array_equal(weighted.asnumpy(), 4 * X + 2 * Y)
    np.testing.assert_array_equal(present.asnumpy(), X + Y)
    assert (one.asnumpy().item(), three.asnumpy().item()) == (1, 3)


def test_an_operator_without_output(lib: OpLibrary) -> None:
    assert lib.note(tensor([4.5])) is None
    (tensor([0.0]) + 1).asnumpy()  # MindSpore calls in order; its `synchronize` does nothing for a CPU
    assert lib.last_note.numpy() == 4.5


def test_one_cell_for_an_operator(lib: OpLibrary) -> None:
    cell = lib.product.mindspore
    assert lib.product.mindspore is cell
    assert isinstance(cell, nn.Cell)
    assert "obtest::product(Tensor x, Tensor y) -> Tensor" in str(cell)
    assert copy.deepcopy(cell) is not cell


class Network(nn.Cell):  # type: ignore[misc,name-defined]
    def __init__(self, operator: Any) -> None:
        super().__init__()
        self.operator = operator
        self.weight = ms.Parameter(tensor(Y), name="weight")

    def construct(self, x: Any) -> Any:
        return self.operator(x, self.weight, alpha=3.0)


@pytest.mark.parametrize("mode", [ms.PYNATIVE_MODE, ms.GRAPH_MODE], ids=["PyNative", "Graph"])
def test_inside_a_cell(lib: OpLibrary, mode: int) -> None:
    ms.set_context(mode=mode)
    try:
        network = Network(lib.scaled_add.mindspore)
        np.testing.assert_array_equal(network(tensor(X)).asnumpy(), X + 3 * Y)
        assert [parameter.name for parameter in network.get_parameters()] == ["weight"]
        half = copy.deepcopy(network).to_float(ms.float16)(tensor(X))
        assert half.dtype == ms.float16
        np.testing.assert_array_equal(half.asnumpy(), X + 3 * Y)
        assert network(tensor(X)).dtype == lib.scaled_add(tensor(X), tensor(Y)).dtype == ms.float32
    finally:
        ms.set_context(mode=ms.PYNATIVE_MODE)


def test_loading_again_changes_what_the_operator_does() -> None:
    def define(factor: int) -> Any:
        return ob.inline(
            "#include <opbridge/kernel.h>\n"
            "void times(ob::In<float> x, ob::Out<float> out) {\n"
            f"  for (int64_t i = 0; i < x.numel(); ++i) out[i] = {factor} * x[i];\n"
            "}\nOB_KERNEL(times)\n",
            schema="ms_reload::times(Tensor x) -> Tensor",
            out="x",
        )

    op = define(2)
    old = op.mindspore
    np.testing.assert_array_equal(op(tensor(X)).asnumpy(), 2 * X)
    assert define(3) is op
    np.testing.assert_array_equal(op(tensor(X)).asnumpy(), 3 * X)
    np.testing.assert_array_equal(old(tensor(X)).asnumpy(), 2 * X)
