"""Sums of what comes before each element: values, gradients of every order, and the twins of other devices."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from tests.helpers.formula_library import formula_library, torch_value
from tests.waist.formulas.test_cuda import held, inputs

from opbridge.base.errors import RuleError
from opbridge.waist.formulas import formula_operators
from opbridge.waist.op import OpLibrary
from opbridge.waist.schema import Schema

# PyTorch's own forward mode still uses it.
pytestmark = pytest.mark.filterwarnings("ignore:.torch.jit.script. is deprecated:DeprecationWarning")

FORMULAS: dict[str, tuple[str, Callable[..., torch.Tensor]]] = {
    "running_mean": (
        "cumsum(x, -1) / (1 + cumsum(y * y, -1))",
        lambda x, y: x.cumsum(-1) / (1 + (y * y).expand_as(x).cumsum(-1)),
    ),
    "of_shares": ("cumsum(softmax(x, -1), -1) * y", lambda x, y: torch.softmax(x, -1).cumsum(-1) * y),
    "down_columns": ("cumsum(x * y, axis=-2)", lambda x, y: (x * y).cumsum(-2)),
    "over_the_first": ("cumsum(sin(x), 0) + y", lambda x, y: x.sin().cumsum(0) + y),
    "added_up": ("sum(y * cumsum(x, -1), -1)", lambda x, y: (y * x.cumsum(-1)).sum(-1)),
    "of_a_scan": ("cumsum(exp(cumsum(x, -1) * 0.1), -1) * y", lambda x, y: (x.cumsum(-1) * 0.1).exp().cumsum(-1) * y),
    "how_many": ("cumsum(x > y, -1) * x * y", lambda x, y: (x > y).to(x.dtype).cumsum(-1) * x * y),
}
SCHEMAS = {f"scans::{name}(Tensor x, Tensor y) -> Tensor": text for name, (text, _) in FORMULAS.items()}


@pytest.fixture(scope="module")
def lib() -> OpLibrary:
    return formula_library(SCHEMAS)


def drawn() -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(5)
    x, y = (torch.randn(shape, dtype=torch.double, generator=generator) for shape in ((2, 3, 6), (6,)))
    return x.requires_grad_(), y.requires_grad_()


@pytest.mark.parametrize("name", FORMULAS)
def test_values_and_gradients_are_pytorchs(lib: OpLibrary, name: str) -> None:
    x, y = drawn()
    got, expected = lib[name](x, y), FORMULAS[name][1](x, y)
    torch.testing.assert_close(got, expected)
    grad = torch.randn_like(expected)
    found, wanted = (torch.autograd.grad(value, (x, y), grad) for value in (got, expected))
    torch.testing.assert_close(found, wanted)


@pytest.mark.parametrize("name", FORMULAS)
def test_second_derivatives_and_forward_mode(lib: OpLibrary, name: str) -> None:
    assert torch.autograd.gradgradcheck(lib[name], drawn())
    plain = tuple(value.detach() for value in drawn())
    tangents = tuple(map(torch.randn_like, plain))
    found, wanted = (torch.func.jvp(f, plain, tangents)[1] for f in (lib[name], FORMULAS[name][1]))
    torch.testing.assert_close(found, wanted)


def test_long_rows_of_floats_are_added_up_in_double() -> None:
    lib = formula_library({"scans_of_floats::f(Tensor x) -> Tensor": "cumsum(x, -1)"}, "float")
    x = torch.rand(1 << 20)
    assert torch.equal(lib["f"](x), x.double().cumsum(-1).float())


def test_the_source_walks_each_row_once_for_each_scan() -> None:
    source = formula_operators("cumsum(x, -1) * x", Schema.parse("m::f(Tensor x) -> Tensor")).forward.source("cpu")
    assert "ob::row_scan<F>(n, total, [=](int64_t i) { const F x = F(x_row[i]); return F(x); });" in source
    assert "out_row[i] = T(total[i] * x);" in source


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("cumsum(x)", "cumsum() takes x and one axis", "cumsum(x, -1)"),
        ("cumsum(x, [-2, -1])", "cumsum() takes x and one axis", "cumsum(x, -1)"),
        ("cumsum(mean(x, -1), -1)", "adds up what has no such axis", "it takes a tensor"),
        ("cumsum(concat([x, x], -1), -1)", "what is put together from parts", "`formula: concat([x, x], -1)`"),
        ("cumsum(cumsum(x, -1), -2)", "two passes over memory", "make it two operators"),
        ("stack([x, x], -1)", "stack() makes an axis", "interleave([x, y], -1) writes the same"),
    ],
)
def test_what_is_refused(text: str, message: str, hint: str) -> None:
    with pytest.raises(RuleError) as caught:
        formula_operators(text, Schema.parse("m::f(Tensor x) -> Tensor"))
    assert message in str(caught.value)
    assert hint in caught.value.hint


ON_DEVICES = {
    "running_mean": "cumsum(x, -1) / (1 + cumsum(y * y, -1))",
    "of_a_scan": "cumsum(x * rsqrt(1 + cumsum(y, -1)), -1) / cumsum(y, -1) - mean(x, -1, keepdim=True)",
    "down_columns": "cumsum(x * y, -2)",
}


@pytest.fixture(scope="module", params=["cuda-twin", "ascend-twin"])
def on_device(request: pytest.FixtureRequest) -> OpLibrary:
    schemas = {f"scans_on_devices::{name}(Tensor x, Tensor y) -> Tensor": text for name, text in ON_DEVICES.items()}
    return formula_library(schemas, "float, ob::half", request.param)


@pytest.mark.cases(4)
@pytest.mark.parametrize("size", [1, 8, 9, 33, 128, 513, 9001])
def test_rows_of_any_length_in_both_twins(on_device: OpLibrary, size: int) -> None:
    for name in ("running_mean", "of_a_scan"):
        held(on_device, name, ON_DEVICES[name], *inputs((3, size), (size,)))


@pytest.mark.parametrize("shape", [(2, 5, 40), (40, 3, 7), (70, 2), (3, 2, 1)])
def test_axes_that_are_not_the_last_in_both_twins(on_device: OpLibrary, shape: tuple[int, ...]) -> None:
    x, y = inputs(shape, shape[-1:])
    held(on_device, "down_columns", ON_DEVICES["down_columns"], x, y)
    held(on_device, "running_mean", ON_DEVICES["running_mean"], x.detach().mT.contiguous().mT.requires_grad_(), y)


def test_halves_are_added_up_wider_in_both_twins(on_device: OpLibrary) -> None:
    x, y = (tensor.detach().half() for tensor in inputs((2, 3000), (3000,)))
    expected = torch_value(ON_DEVICES["running_mean"], {"x": x.double(), "y": y.double()})
    torch.testing.assert_close(on_device["running_mean"](x, y), expected.half())


def test_infinities_spoil_nothing_that_comes_before_them(on_device: OpLibrary) -> None:
    x = torch.ones(1, 5000)
    x[0, 4000] = torch.inf
    sums = on_device["running_mean"](x, torch.zeros(5000))
    torch.testing.assert_close(sums, x.cumsum(-1))
    x.requires_grad_()
    grad = torch.ones(1, 5000)
    grad[0, 1000] = torch.inf
    (found,) = torch.autograd.grad(on_device["running_mean"](x, torch.zeros(5000)), x, grad)
    torch.testing.assert_close(found, grad.flip(-1).cumsum(-1).flip(-1))


@pytest.mark.parametrize(
    ("device", "line"),
    [
        ("cuda", "const auto total_row = row.scan(0, [=](F x) { return x; }, x_row);"),
        ("npu", "      rows.scan(0, total, x);\n    }\n"),
    ],
)
def test_sources_for_devices_walk_once_for_each_scan_too(device: str, line: str) -> None:
    schema = Schema.parse("m::f(Tensor x) -> Tensor")
    assert line in formula_operators("cumsum(x, -1) * x", schema, device=device).forward.source(device)
