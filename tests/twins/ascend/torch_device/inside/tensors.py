"""Tensors on the device are those of the CPU in every way but where they are."""

from __future__ import annotations

import copy
import io
from collections.abc import Callable
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

DTYPES = (
    torch.bool,
    torch.uint8,
    torch.int32,
    torch.int64,
    torch.float16,
    torch.bfloat16,
    torch.float32,
    torch.float64,
    torch.complex64,
)


def same(result: Any, expected: Any) -> None:
    if isinstance(expected, torch.Tensor):
        assert result.device.type == "npu"
        assert result.stride() == expected.stride()
        torch.testing.assert_close(result.cpu(), expected, equal_nan=True)
    elif isinstance(expected, (list, tuple)):
        assert len(result) == len(expected)
        for one, other in zip(result, expected, strict=True):
            same(one, other)
    else:
        assert result == expected


def values(shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
    count = torch.Size(shape).numel()
    return (torch.arange(count) % 7 - 3).to(dtype).reshape(shape)


@settings(max_examples=40)
@given(
    shape=st.lists(st.integers(0, 5), max_size=4).map(tuple),
    source=st.sampled_from(DTYPES),
    target=st.sampled_from(DTYPES[:-1]),
    data=st.data(),
)
def test_copies_keep_values_and_strides(
    shape: tuple[int, ...], source: torch.dtype, target: torch.dtype, data: st.DataObject
) -> None:
    order = data.draw(st.permutations(range(len(shape))))
    x = values(shape, source).permute(order)
    same(x.npu(), x)
    same(x.npu().clone(), x.clone())
    same(x.npu().to("npu:1").npu(), x)
    assert torch.equal(x.npu().cpu(), x)
    if not source.is_complex:
        same(x.npu().to(target), x.to(target))
    into = torch.zeros_like(x)
    into.copy_(x.npu(), non_blocking=True)
    assert torch.equal(into, x)


FUNCTIONS: dict[str, Callable[[torch.Tensor], Any]] = {
    "arithmetic": lambda x: 2 * x + x / 3 - x.sin(),
    "matmul": lambda x: x @ x.t(),
    "sum": lambda x: x.sum(0),
    "mean of all": lambda x: x.mean(),
    "max": lambda x: tuple(x.max(1)),
    "sort": lambda x: tuple(x.sort(descending=True)),
    "softmax": lambda x: torch.softmax(x, -1),
    "layer norm": lambda x: torch.nn.functional.layer_norm(x, x.shape[-1:]),
    "cat": lambda x: torch.cat([x, x], 1),
    "stack": lambda x: torch.stack([x, x]),
    "split": lambda x: x.split(2, 1),
    "where": lambda x: torch.where(x > 0, x, -x),
    "index": lambda x: x[[2, 0]],
    "index by mask": lambda x: x[x > 0],
    "nonzero": lambda x: x.nonzero(),
    "unfold": lambda x: x.unfold(1, 2, 1),
    "as strided": lambda x: x.as_strided((2, 2), (1, 2), 1),
    "diagonal": lambda x: x.diagonal(),
    "expand": lambda x: x[:, :1].expand(4, 5),
    "reshape of a transpose": lambda x: x.t().reshape(-1),
    "view as real": lambda x: torch.view_as_real(torch.complex(x, x)),
    "isfinite": lambda x: torch.isfinite(x),
    "unique": lambda x: torch.unique(x, return_inverse=True),
    "cumsum": lambda x: x.cumsum(1),
    "einsum": lambda x: torch.einsum("ij,kj->ik", x, x),
    "pad": lambda x: torch.nn.functional.pad(x, (1, 1)),
    "item": lambda x: x[1, 2].item(),
    "tolist": lambda x: x.tolist(),
    "any": lambda x: bool((x > 100).any()),
    "svd": lambda x: torch.linalg.svdvals(x),
    "fft": lambda x: torch.fft.fft(x).abs(),
    "interpolate": lambda x: torch.nn.functional.interpolate(x[None, None], scale_factor=2),
    "foreach": lambda x: torch._foreach_add([x, x], 1.0),
    "new tensors": lambda x: (x.new_zeros(3), x.new_full((2,), 5.0), x.new_tensor([1, 2]), torch.ones_like(x)),
    "factories": lambda x: torch.arange(5, device=x.device) + torch.eye(5, device=x.device),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_give_what_they_give_on_the_cpu(name: str) -> None:
    torch.manual_seed(0)
    x = torch.randn(4, 5)
    same(FUNCTIONS[name](x.npu()), FUNCTIONS[name](x))


def test_results_lie_where_the_arguments_do() -> None:
    x = torch.ones(2, device="npu:1")
    assert (x + 1).device == torch.device("npu:1")
    assert torch.zeros_like(x).device == torch.device("npu:1")
    with torch.npu.device(1):
        assert torch.zeros(2, device="npu").device == torch.device("npu:1")


def test_what_is_written_in_place_is_written() -> None:
    x = torch.arange(6.0).reshape(2, 3).npu()
    row = x[1]
    row.mul_(10)
    x[0, 1] = 7
    x[:, 2].fill_(-1)
    assert x.tolist() == [[0, 7, -1], [30, 40, -1]]
    torch._foreach_add_([x], 1.0)
    assert x.tolist() == [[1, 8, 0], [31, 41, 0]]
    assert row._base is x


def test_indices_stand_beside_slices() -> None:
    x, rows, places = torch.randn(2, 3, 4, 5), torch.tensor([1, 0]), torch.tensor([3, 1])
    y = x.npu()
    assert torch.equal(y[:, rows.npu()].cpu(), x[:, rows])
    assert torch.equal(y[rows.npu(), :, places.npu()].cpu(), x[rows, :, places])
    y[rows.npu(), :, places.npu()] = 7
    x[rows, :, places] = 7
    assert torch.equal(y.cpu(), x)


def test_outputs_grow() -> None:
    x = torch.ones(3).npu()
    out = torch.empty(0, device="npu")
    assert torch.add(x, x, out=out) is out
    assert out.tolist() == [2, 2, 2]
    out.resize_(2, 4)
    assert out.shape == (2, 4)
    assert out.flatten()[:3].tolist() == [2, 2, 2]
    view = torch.empty(0, device="npu").set_(out.untyped_storage(), 1, (2,), (1,))
    assert view.tolist() == [2, 2]


def test_conjugates_are_lazy_here_too() -> None:
    x = torch.tensor([1 + 2j, 3 - 4j])
    assert x.npu().conj().is_conj()
    same(x.npu().conj().resolve_conj(), x.conj().resolve_conj())
    same(x.npu().conj() * 1, x.conj() * 1)
    same(x.npu().conj().imag.clone(), x.conj().imag.clone())


def test_saved_tensors_come_back_where_they_are_asked_for() -> None:
    x = torch.arange(6.0).reshape(2, 3)
    file = io.BytesIO()
    torch.save({"x": x.npu(), "row": x.npu()[1]}, file)
    for place, device in ((None, "npu:0"), ("cpu", "cpu"), ("npu:1", "npu:1")):
        file.seek(0)
        loaded = torch.load(file, map_location=place)
        assert loaded["x"].device == torch.device(device)
        assert torch.equal(loaded["x"].cpu(), x)
    copied = copy.deepcopy(x.npu())
    same(copied, x)


def test_printing_shows_values_and_the_device() -> None:
    assert repr(torch.tensor([1.0, 2.5]).npu()) == "tensor([1.0000, 2.5000], device='npu:0')"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x: x + torch.ones(3), "Expected all tensors to be on the same device"),
        (lambda x: x + torch.ones(3, device="npu:1"), "Expected all tensors to be on the same device"),
        (lambda x: torch.searchsorted(x, torch.ones(3)), "on the same device"),
        (lambda x: x.numpy(), "can't convert npu:0 device type tensor to numpy"),
        (lambda x: x.to("npu:7"), "npu:7 is not there: expected 0 to 1, or set OPBRIDGE_NPU_DEVICES"),
    ],
)
def test_errors_say_what_to_do(call: Callable[[torch.Tensor], object], message: str) -> None:
    with pytest.raises((RuntimeError, TypeError), match=message):
        call(torch.ones(3).npu())


def test_modules_and_storages_move() -> None:
    linear = torch.nn.Linear(2, 3).npu()
    assert {parameter.device.type for parameter in linear.parameters()} == {"npu"}
    assert linear.to("cpu").weight.is_cpu
    x = torch.ones(2)
    assert x.npu().is_npu
    assert x.untyped_storage().npu().cpu().tolist() == x.untyped_storage().tolist()


def test_memory_of_the_host_can_be_pinned() -> None:
    x = torch.ones(4).pin_memory()
    assert x.is_pinned()
    assert not torch.ones(4).is_pinned()
    same(x.to("npu", non_blocking=True), torch.ones(4))


@pytest.mark.filterwarnings("ignore:Sparse")
@pytest.mark.parametrize("layout", [torch.sparse_coo, torch.sparse_csr])
def test_sparse_tensors(layout: torch.layout) -> None:
    sparse = torch.eye(3).npu().to_sparse(layout=layout)
    assert (sparse.layout, sparse.device, sparse.values().device) == (layout, *[torch.device("npu:0")] * 2)
    assert torch.equal((sparse @ torch.ones(3, 3).npu()).cpu(), torch.ones(3, 3))
    assert torch.equal(sparse.cpu().to_dense(), torch.eye(3))
