"""What an operator computes from PyTorch tensors: dtypes, layouts, and every kind of argument and output."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from dtypes import COMPLEX, FLOATS, INTEGERS, UNSIGNED, of

from opbridge.base.errors import CallError, UnsupportedError
from opbridge.waist.op import OpLibrary


@pytest.mark.parametrize("dtype", of(torch, INTEGERS, UNSIGNED, FLOATS, COMPLEX), ids=str)
def test_every_dtype_arrives_and_returns(lib: OpLibrary, dtype: torch.dtype) -> None:
    x = torch.tensor([[0, 1, 1], [0, 3, 100]]).to(dtype)
    result = lib.identity(x)
    assert result.dtype is dtype
    assert torch.equal(result, x)
    assert result.data_ptr() != x.data_ptr()


@pytest.mark.parametrize("dtype", of(torch, FLOATS, COMPLEX), ids=str)
def test_arithmetic_in_every_floating_dtype(lib: OpLibrary, dtype: torch.dtype) -> None:
    x, y = torch.randn(2, 100, dtype=torch.complex128).to(dtype) if dtype.is_complex else torch.randn(2, 100).to(dtype)
    torch.testing.assert_close(lib.scaled_add(x, y, alpha=0.5), x + 0.5 * y)


@pytest.mark.parametrize("shape", [(), (0,), (1,), (3, 0, 2), (2, 3), (1, 2, 3, 4, 5, 6)], ids=str)
def test_every_shape(lib: OpLibrary, shape: tuple[int, ...]) -> None:
    x, y = torch.randn(shape), torch.randn(shape)
    result = lib.scaled_add(x, y)
    assert result.shape == shape
    torch.testing.assert_close(result, x + y)


BASE = torch.arange(24.0).reshape(4, 6)
VIEWS = {
    "transposed": BASE.T,
    "sliced": BASE[::2, 1::3],
    "offset": BASE[1:],
    "expanded": BASE[:, :1].expand(4, 6),
    "permuted": BASE.reshape(2, 2, 6).permute(2, 0, 1),
    "diagonal": BASE.diagonal(),
    "channels_last": BASE.reshape(1, 2, 3, 4).contiguous(memory_format=torch.channels_last),
    "negated lazily": torch._neg_view(BASE),
    "conjugated lazily": torch.complex(BASE, BASE + 1).conj(),
    "imaginary part": torch.complex(BASE, BASE + 1).conj().imag,
}


@pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS.keys())
def test_a_view_is_its_values_not_its_memory(lib: OpLibrary, view: torch.Tensor) -> None:
    result = lib.scaled_add(view, view.clone(), alpha=2.0)
    torch.testing.assert_close(result, 3 * view)
    assert result.is_contiguous()


def test_a_kernel_that_takes_strides_reads_a_view_in_place(lib: OpLibrary) -> None:
    x = torch.arange(6.0).reshape(2, 3)
    torch.testing.assert_close(lib.row_sums(x.T), x.sum(0))
    torch.testing.assert_close(lib.row_sums(x[:, ::2]), x[:, ::2].sum(1))
    torch.testing.assert_close(lib.row_sums(x[:1].expand(4, 3)), torch.full((4,), 3.0))


def test_several_outputs_come_as_a_tuple(lib: OpLibrary) -> None:
    x = torch.randn(5)
    sine, cosine = lib.sine_cosine(x)
    torch.testing.assert_close((sine, cosine), (x.sin(), x.cos()))


def test_outputs_of_other_shapes_and_dtypes(lib: OpLibrary) -> None:
    x = torch.tensor([[1.0, 5.0, 2.0], [9.0, 0.0, 3.0]])
    value, place = lib.largest(x)
    assert value.tolist() == [5.0, 9.0]
    assert place.dtype is torch.int64
    assert place.tolist() == [1, 0]


def test_shape_arithmetic(lib: OpLibrary) -> None:
    x = torch.arange(20.0).reshape(2, 10)
    torch.testing.assert_close(lib.windows(x, 4, 3), x.unfold(1, 4, 3))
    torch.testing.assert_close(lib.windows(x, 1), x.unfold(1, 1, 1))
    torch.testing.assert_close(lib.matrix_product(x, x.T.contiguous()), x @ x.T)


def test_broadcast_and_promotion(lib: OpLibrary) -> None:
    x, y = torch.randn(4, 1, 3), torch.randn(2, 1, dtype=torch.float64)
    result = lib.broadcast_add(x, y)
    assert result.dtype is torch.float64
    torch.testing.assert_close(result, x + y)


def test_attributes_and_their_defaults(lib: OpLibrary) -> None:
    x = torch.zeros(2, 3, dtype=torch.int16)
    number_of_float32 = 11
    expected = [6, 3, 0.5, 1, 4, 1, 2, 0, 0, 0, 0, number_of_float32, -1, 1, 1]
    assert lib.attributes(x).tolist() == expected


def test_attributes_as_given(lib: OpLibrary) -> None:
    given = lib.attributes(
        torch.zeros(1),
        -7,
        2.5,
        flag=False,
        text="ünï",
        pair=(4, 5),
        reals=[1.5, 2.5],
        flags=[True, False, True],
        type=torch.bfloat16,
        maybe=9,
        number=0.25,
    )
    number_of_bfloat16 = 10
    assert given.tolist() == [1, -7, 2.5, 0, 5, 4, 5, 2, 1.5, 3, 1, number_of_bfloat16, 9, 0, 0.25]


def test_numbers_convert_as_pytorch_converts_them(lib: OpLibrary) -> None:
    x = torch.zeros(1)
    assert lib.attributes(x, real=3)[2] == 3.0  # an int where a float stands
    assert lib.attributes(x, pair=5)[5:7].tolist() == [5, 5]  # one int for int[2]
    assert lib.attributes(x, torch.tensor(8))[1] == 8  # a tensor of one element for an int
    assert lib.attributes(x, number=True)[13:].tolist() == [1, 1]


def test_an_optional_tensor(lib: OpLibrary) -> None:
    x, bias = torch.randn(2, 3), torch.randn(3)
    torch.testing.assert_close(lib.add_bias(x), x)
    torch.testing.assert_close(lib.add_bias(x, None), x)
    torch.testing.assert_close(lib.add_bias(x, bias=bias), x + bias)


def test_lists_of_tensors(lib: OpLibrary) -> None:
    a, b, c = torch.randn(3, 2, 2)
    torch.testing.assert_close(lib.weighted_sum([a, b.T, c], [1.0, 2.0, 3.0]), a + 2 * b.T + 3 * c)
    torch.testing.assert_close(lib.weighted_sum((a,), [0.5]), a / 2)
    torch.testing.assert_close(lib.pile([a, b]), torch.stack([a, b]))


def test_an_optional_list_of_tensors(lib: OpLibrary) -> None:
    x = torch.ones(2)
    assert [lib.count_tensors(x, *given).item() for given in ((), (None,), ([],), ([x, x],))] == [1, 1, 1, 3]


def test_a_complex_number_is_refused_and_never_dropped(lib: OpLibrary) -> None:
    x = torch.ones(1)
    assert lib.number_or_nan(x, 2).item() == 2
    assert lib.number_or_nan(x).isnan()
    with pytest.raises(CallError, match=r"argument 'number' is a Complex.*; pass two floats"):
        lib.number_or_nan(x, 2j)


def test_lists_of_optional_tensors(lib: OpLibrary) -> None:
    a, b = torch.randn(2, 3)
    torch.testing.assert_close(lib.sum_present(a, [b, None, b]), a + 2 * b)
    torch.testing.assert_close(lib.sum_present(a, [None]), a)
    torch.testing.assert_close(lib.sum_present(a, []), a)


def test_an_operator_without_tensors_is_called_through_its_framework(lib: OpLibrary) -> None:
    assert lib.count_up.torch(3, start=0.5).tolist() == [0.5, 1.5, 2.5]
    with pytest.raises(CallError, match=r"op\.torch"):
        lib.count_up(3)


def test_an_operator_without_outputs_returns_none(lib: OpLibrary) -> None:
    assert lib.note(torch.tensor([42.0], dtype=torch.float64)) is None
    assert lib.last_note.torch().item() == 42.0


def test_a_list_that_the_out_rule_needs_may_not_be_empty(lib: OpLibrary) -> None:
    with pytest.raises(CallError, match=r"obtest::pile: index 0 is out of range, there are 0"):
        lib.pile.torch([])


def test_both_ways_to_call_are_one_operator(lib: OpLibrary) -> None:
    x, y = torch.randn(2, 4)
    assert lib.scaled_add.torch is torch.ops.obtest.scaled_add
    assert lib["scaled_add.out"].torch is torch.ops.obtest.scaled_add.out
    assert torch.equal(torch.ops.obtest.scaled_add(x, y, alpha=3.0), lib.scaled_add(x, y, alpha=3.0))


def test_a_dtype_without_kernels_is_refused(lib: OpLibrary) -> None:
    float8 = torch.zeros(2).to(torch.float8_e4m3fn)
    with pytest.raises(UnsupportedError, match="argument 'x' is of dtype Float8_e4m3fn"):
        lib.identity(float8)


@pytest.mark.skipif(not Path("/proc/self/smaps").exists(), reason="Linux tells of its pages")
def test_a_large_output_asks_for_large_pages(lib: OpLibrary) -> None:
    result = lib.identity(torch.zeros(4 << 20))
    address, advised = result.data_ptr() + (1 << 20), ""
    for line in Path("/proc/self/smaps").read_text().splitlines():
        head = line.partition(" ")[0]
        if "-" in head:
            begin, end = (int(bound, 16) for bound in head.split("-"))
        elif line.startswith("VmFlags:") and begin <= address < end:
            advised = line
    assert "hg" in advised.split()
