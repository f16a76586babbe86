"""Functions of tensors and numbers, bound without pybind11's headers, as Python calls them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

import opbridge as ob

pytestmark = pytest.mark.matrix("torch_device/inside/extension.py builds these functions with its own, and tests them")

DECLARED = """
torch::Tensor scaled(const torch::Tensor& x, float by, int times = 1, bool negate = false);
std::vector<torch::Tensor> moved(torch::Tensor x, int64_t n, double d);
torch::Tensor total(std::vector<torch::Tensor> all);
void fill(torch::Tensor x, float value);
int count(torch::Tensor x);
torch::Tensor refuse(torch::Tensor x);
"""
DEFINED = """
torch::Tensor scaled(const torch::Tensor& x, float by, int times, bool negate) {
  return x * (by * times * (negate ? -1 : 1));
}
std::vector<torch::Tensor> moved(torch::Tensor x, int64_t n, double d) { return {x + n, x + d}; }
torch::Tensor total(std::vector<torch::Tensor> all) { return torch::stack(all).sum(0); }
void fill(torch::Tensor x, float value) { x.fill_(value); }
int count(torch::Tensor x) { return x.numel(); }
torch::Tensor refuse(torch::Tensor x) { TORCH_CHECK(x.dim() == 7, "seven dimensions expected"); return x; }
"""
NAMES = ("scaled", "moved", "total", "fill", "count", "refuse")


@pytest.fixture(scope="module")
def bound() -> Any:
    return ob.extension("bound", cpp_sources=DECLARED, cuda_sources=DEFINED, functions=NAMES, device="cuda-twin")


def test_values_go_there_and_back(bound: Any) -> None:
    x = torch.ones(3)
    assert torch.equal(bound.scaled(x, 2, 3, True), torch.full((3,), -6.0))
    assert [one[0].item() for one in bound.moved(x, 2**40, 0.5)] == [2**40, 1.5]
    assert torch.equal(bound.total((x, x, x)), torch.full((3,), 3.0))
    assert bound.fill(x, 7.0) is None
    assert (x[0].item(), bound.count(x)) == (7.0, 3)
    assert bound.scaled.__doc__.startswith("scaled(arg0: torch.Tensor, arg1: float, arg2: int, arg3: bool)")


@pytest.mark.parametrize(
    "call",
    [
        lambda bound, x: bound.scaled(x, 2.0),
        lambda bound, x: bound.scaled(x, 2.0, 1.5, False),
        lambda bound, x: bound.scaled(x, 2.0, 2**40, False),
        lambda bound, x: bound.scaled(3, 2.0, 1, False),
        lambda bound, x: bound.total([x, None]),
        lambda bound, x: bound.count(x=x),
    ],
)
def test_other_arguments_are_refused(bound: Any, call: Callable[[Any, torch.Tensor], object]) -> None:
    """Of C++, arguments have neither names nor defaults in Python, as by pybind11."""
    with pytest.raises(TypeError, match=r"incompatible function arguments(.|\n)*arg0: "):
        call(bound, torch.ones(3))


def test_errors_are_pytorchs(bound: Any) -> None:
    with pytest.raises(RuntimeError, match="seven dimensions expected"):
        bound.refuse(torch.ones(3))


def test_gradients_pass_through(bound: Any) -> None:
    x = torch.ones(3, requires_grad=True)
    bound.scaled(x, 2.0, 2, False).sum().backward()
    assert torch.equal(x.grad, torch.full((3,), 4.0))
