"""Formulas as operators: values, gradients, their gradients and dtypes, held against PyTorch on the same text."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from tests.helpers.formula_library import formula_library, names_asked_for, torch_value
from tests.helpers.random_formulas import formula_texts, hold_formulas

import opbridge as ob
from opbridge.waist.formulas.functions import FUNCTIONS, REDUCING
from opbridge.waist.op import OpLibrary
from opbridge.waist.schema import Schema

WITHIN_ONE = ("asin", "acos", "atanh", "tan")
POSITIVE = ("sqrt", "rsqrt", "reciprocal", "log", "log1p", "log2", "log10", "acosh", "pow")


def _elementwise(name: str, arity: int) -> str:
    x = "sigmoid(x) * 0.9" if name in WITHIN_ONE else "1.1 + square(x)" if name in POSITIVE else "x"
    if name == "astype":
        return "astype(x > y, float32) * x"
    if name == "where":
        return "where(x > y, x * y, y)"
    if name.startswith("logical"):
        return f"where({name}({', '.join(['x > 0', 'y > 0'][:arity])}), x, y * 2)"
    if FUNCTIONS[name].is_truth:
        return f"where({name}({', '.join(['x', 'y'][:arity])}), x, y * 2)"
    return f"{name}({', '.join([x, 'y'][:arity])}) * y"


ELEMENTWISE = {name: _elementwise(name, function.arity) for name, function in FUNCTIONS.items() if function.is_public}
REDUCED = {name: f"{name}(x * y, -1) * 2" for name in REDUCING if name not in ("argmax", "argmin", "any", "all")}
PICKED = {
    "swiglu": "x * sigmoid(x) * y",
    "rms_norm": "x * rsqrt(mean(x * x, -1, keepdim=True) + 1e-6) * y",
    "layer_norm": "m = mean(x, -1, keepdim=True)\n(x - m) * rsqrt(var(x, -1, keepdim=True) + 1e-5) * y + y",
    "softmax": "softmax(x, -1) * y",
    "log_softmax": "log_softmax(x * y, 1)",
    "batch_norm": "(x - mean(x, [0, 2], keepdim=True)) / std(x, [0, 2], keepdim=True) + y",
    "over_the_middle": "x - logsumexp(x * y, 1, keepdim=True)",
    "squared_error": "mean(square(x - y))",
    "divergence": "-mean(sum(softmax(x, -1) * log_softmax(x * y, -1), -1))",
    "frobenius": "x / sqrt(sum(x * x)) + y",
    "cosine": "sum(x * y, -1) / (sqrt(sum(x * x, -1)) * sqrt(sum(y * y, -1)))",
    "huber": "d = abs(x - y)\nmean(where(d < 1, 0.5 * d * d, d - 0.5))",
    "clipped": "clip(x, -0.5, 0.5) * clip(y, min=0.1)",
    "composed": "relu(x) + silu(y) * softplus(x)",
    "largest_share": "max(x * y, [0, 1]) + min(x, [0, 1])",
    "powers": "x * y ** 3 + x ** 2 / (2 + y ** 2)",
}
TEXTS = {**{f"f_{name}": text for name, text in {**ELEMENTWISE, **REDUCED}.items()}, **PICKED}
OF_INFINITIES = ("f_max", "f_min", "f_logsumexp", "f_maximum")
OTHERS = {
    "formulas::scaled(Tensor x, *, float alpha=2.0, int n=3, bool flag=True, str mode='up', Scalar s=1) -> Tensor": (
        "x * alpha * n * s if flag and mode == 'up' else -x"
    ),
    "formulas::masked(Tensor mask, Tensor x) -> Tensor": "where(mask, x, 0)",
    "formulas::moments(Tensor x) -> (Tensor mean, Tensor var, Tensor largest)": (
        "mean(x, -1, keepdim=True), var(x, -1, correction=1), argmax(x, -1)"
    ),
    "formulas::kept(Tensor x) -> (Tensor, Tensor, Tensor)": (
        "sum(x, -1, keepdim=True), max(x, -1, keepdim=True), argmax(x, -1, keepdim=True)"
    ),
    "formulas::kept_first(Tensor x) -> Tensor": "var(x, 0, keepdim=True)",
    "formulas::pair(Tensor x, Tensor y) -> (Tensor, Tensor)": "x * y, x > y",
    "formulas::rows(Tensor x, Tensor b) -> Tensor": "sum(x * x, -1) * b",
    "formulas::names(Tensor new, Tensor row, Tensor n, *, float i=1.0) -> Tensor": "new * row + n * i",
    "formulas::as_float(Tensor x) -> Tensor": "astype(x * 2, float32)",
}


@pytest.fixture(scope="module")
def lib(request: pytest.FixtureRequest) -> OpLibrary:
    wanted = {*names_asked_for(request), *OF_INFINITIES, "swiglu", "softmax", "rms_norm"}
    texts = {f"formulas::{name}(Tensor x, Tensor y) -> Tensor": TEXTS[name] for name in TEXTS if name in wanted}
    return formula_library({**texts, **OTHERS})


def _tensor(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(shape, dtype=torch.double, generator=torch.Generator().manual_seed(seed))


def _inputs(name: str) -> tuple[torch.Tensor, torch.Tensor]:
    shape = (3, 1, 4) if name == "batch_norm" else (4,)
    return _tensor(2, 3, 4).requires_grad_(), _tensor(*shape, seed=1).abs().add(0.2).requires_grad_()


@pytest.mark.cases(8)
@pytest.mark.parametrize("name", TEXTS)
def test_a_formula_and_its_gradients_to_the_second_order_are_what_pytorch_says(lib: OpLibrary, name: str) -> None:
    x, y = _inputs(name)
    if name == "batch_norm":
        y = _tensor(3, 1, seed=1).requires_grad_()
    got, expected = lib[name](x, y), torch_value(TEXTS[name], {"x": x, "y": y})
    torch.testing.assert_close(got, expected.to(got.dtype))
    if not expected.requires_grad:
        return
    seed = torch.cos(expected.detach()).double()

    def gradients(value: torch.Tensor) -> list[torch.Tensor]:
        found = torch.autograd.grad(value, (x, y), seed.to(value.dtype), create_graph=True, allow_unused=True)
        return [torch.zeros_like(t) if g is None else g for g, t in zip(found, (x, y), strict=True)]

    first, wanted = gradients(got), gradients(expected)
    torch.testing.assert_close(first, wanted)

    def second(grads: list[torch.Tensor]) -> list[torch.Tensor]:
        total = sum((torch.sin(grad).sum() for grad in grads), torch.zeros((), dtype=torch.double))
        if not total.requires_grad:
            return [torch.zeros_like(x), torch.zeros_like(y)]
        found = torch.autograd.grad(total, (x, y), allow_unused=True, retain_graph=True)
        return [torch.zeros_like(t) if g is None else g for g, t in zip(found, (x, y), strict=True)]

    torch.testing.assert_close(second(first), second(wanted))


@pytest.mark.filterwarnings("ignore:.torch.jit.script:DeprecationWarning")
@pytest.mark.parametrize("name", ["swiglu", "rms_norm", "cosine", "squared_error", "softmax"])
def test_forward_mode_follows_too(lib: OpLibrary, name: str) -> None:
    x, y = _inputs(name)
    tangents = (torch.cos(x.detach()), torch.sin(y.detach()))

    def reference(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        found = torch_value(TEXTS[name], {"x": x, "y": y})
        assert isinstance(found, torch.Tensor)
        return found

    torch.testing.assert_close(torch.func.jvp(lib[name], (x, y), tangents), torch.func.jvp(reference, (x, y), tangents))


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ((2, 3), (2, 3)),
        ((5000,), (5000,)),
        ((3, 5000), (5000,)),
        ((3, 5000), (3, 1)),
        ((2000, 3), (3,)),
        ((2000, 3), (2000, 1)),
        ((4, 1, 3), (5, 1)),
        ((), (3, 2)),
        ((0, 3), (3,)),
        ((300, 200), (300, 200)),
    ],
)
def test_shapes_broadcast_and_gradients_sum_back(lib: OpLibrary, left: tuple[int, ...], right: tuple[int, ...]) -> None:
    x, y = _tensor(*left).requires_grad_(), _tensor(*right, seed=1).requires_grad_()
    got, expected = lib["swiglu"](x, y), torch.nn.functional.silu(x) * y
    torch.testing.assert_close(got, expected)
    for mine, theirs in zip(
        torch.autograd.grad(got.sum(), (x, y)), torch.autograd.grad(expected.sum(), (x, y)), strict=True
    ):
        torch.testing.assert_close(mine, theirs)


def test_inputs_of_any_layout_are_read_where_they_are(lib: OpLibrary) -> None:
    x, y = _tensor(300, 200).t(), _tensor(200, 600, seed=1)[:, ::2]
    torch.testing.assert_close(lib["swiglu"](x, y), torch.nn.functional.silu(x) * y)
    torch.testing.assert_close(lib["softmax"](x, y), torch.softmax(x, -1) * y)


def test_attributes_choose_and_scale(lib: OpLibrary) -> None:
    x = _tensor(5)
    torch.testing.assert_close(lib["scaled"](x, alpha=0.5, n=4, s=3), x * 6)
    torch.testing.assert_close(lib["scaled"](x, mode="down"), -x)
    torch.testing.assert_close(lib["scaled"](x, flag=False), -x)
    grad = torch.func.grad(lambda x: lib["scaled"](x, alpha=0.5, n=4).sum())(x)
    torch.testing.assert_close(grad, torch.full_like(x, 2.0))


def test_a_mask_is_a_tensor_of_bools(lib: OpLibrary) -> None:
    x = _tensor(2, 3).requires_grad_()
    got = lib["masked"](x > 0, x)
    torch.testing.assert_close(got, torch.relu(x))
    torch.testing.assert_close(torch.autograd.grad(got.sum(), x)[0], (x > 0).double())


def test_outputs_have_shapes_and_types_of_their_own(lib: OpLibrary) -> None:
    x = _tensor(2, 3, 4)
    mean, var, largest = lib["moments"](x)
    torch.testing.assert_close((mean, var, largest), (x.mean(-1, keepdim=True), x.var(-1), x.argmax(-1)))
    product, above = lib["pair"](x, x[0])
    torch.testing.assert_close((product, above), (x * x[0], x > x[0]))
    assert lib["as_float"](x).dtype == torch.float32


def test_a_number_keeps_no_axis_as_it_has_none(lib: OpLibrary) -> None:
    for x in (_tensor(), torch.empty((), dtype=torch.double, device="meta")):
        assert [value.shape for value in (*lib["kept"](x), lib["kept_first"](x))] == [()] * 4
    x = _tensor(3)
    assert [value.shape for value in (*lib["kept"](x), lib["kept_first"](x))] == [(1,)] * 4


def test_a_tensor_beside_what_has_lost_axes_has_lost_them_too(lib: OpLibrary) -> None:
    x, b = _tensor(3, 4).requires_grad_(), _tensor(3, seed=1).requires_grad_()
    torch.testing.assert_close(lib["rows"](x, b), (x * x).sum(-1) * b)
    torch.autograd.gradcheck(lib["rows"], (x, b))


def test_any_name_will_do_for_an_argument(lib: OpLibrary) -> None:
    arguments = [_tensor(3, seed=seed).requires_grad_() for seed in range(3)]
    torch.autograd.gradcheck(lib["names"], arguments)


@pytest.mark.parametrize("name", ["double", "ob"])
def test_any_name_will_do_for_an_operator(name: str) -> None:
    op = ob.formula(f"formula_names::{name}(Tensor x) -> Tensor", "2 * x")
    assert op(torch.ones(2, dtype=torch.float64)).tolist() == [2, 2]


def test_infinities_and_nans_are_what_pytorch_makes_of_them(lib: OpLibrary) -> None:
    x = torch.tensor([[1.0, torch.inf], [-torch.inf, -torch.inf], [torch.nan, 1.0], [torch.inf, -1.0]]).double()
    one = torch.ones(2, dtype=torch.double)
    for name in OF_INFINITIES:
        expected = torch_value(TEXTS[name], {"x": x, "y": one})
        torch.testing.assert_close(lib[name](x, one), expected, equal_nan=True)


@pytest.fixture(scope="module")
def halves() -> OpLibrary:
    texts = {name: TEXTS[name] for name in ("swiglu", "rms_norm", "squared_error")}
    schemas = {f"halves::{name}(Tensor x, Tensor y) -> Tensor": text for name, text in texts.items()}
    return formula_library(schemas, "float, ob::half, ob::bfloat16")


@pytest.mark.parametrize("dtype", [torch.half, torch.bfloat16, torch.float32])
@pytest.mark.parametrize("name", ["swiglu", "rms_norm", "squared_error"])
def test_short_floats_are_computed_in_float_and_rounded_once(halves: OpLibrary, name: str, dtype: torch.dtype) -> None:
    x, y = _tensor(4, 3000).to(dtype).requires_grad_(), _tensor(3000, seed=1).to(dtype).requires_grad_()
    got = halves[name](x, y)
    exact = torch_value(TEXTS[name], {"x": x.double(), "y": y.double()})
    torch.testing.assert_close(got, exact.to(dtype))
    mine = torch.autograd.grad(got.sum(), (x, y))
    theirs = torch.autograd.grad(exact.sum(), (x, y))
    torch.testing.assert_close(mine, theirs, rtol=2e-2 if dtype != torch.float32 else 1e-4, atol=1e-3)


def test_the_largest_is_found_again_where_it_is_computed_anew() -> None:
    """Rounded once in one loop and twice in the other, it would get no gradient."""
    text = "max(x * y + clip(y, -0.7, 0.8), -1, keepdim=True) + x * y"
    op = formula_library({"formulas_largest::f(Tensor x, Tensor y, *, float a=0.7) -> Tensor": text})["f"]
    generator = torch.Generator().manual_seed(3012)
    x, y = (torch.randn(shape, dtype=torch.double, generator=generator).requires_grad_() for shape in ((3, 4), (4,)))
    expected = torch.autograd.grad(torch_value(text, {"x": x, "y": y}).sum(), (x, y))
    torch.testing.assert_close(torch.autograd.grad(op(x, y).sum(), (x, y)), expected)


class TestEveryFramework:
    """What a user of each asks of an operator that has a gradient, with the library that is compiled anyway."""

    X = np.linspace(-2, 2, 24, dtype=np.float32).reshape(4, 6)
    Y = np.linspace(1, 2, 6, dtype=np.float32)

    def expected(self) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        x, y = torch.tensor(self.X).requires_grad_(), torch.tensor(self.Y).requires_grad_()
        value = torch_value(TEXTS["rms_norm"], {"x": x, "y": y})
        to_x, to_y = torch.autograd.grad(value.sin().sum(), (x, y))
        return value.detach(), to_x, to_y

    def test_pytorch_compiled(self, halves: OpLibrary) -> None:
        x, y = torch.tensor(self.X).requires_grad_(), torch.tensor(self.Y).requires_grad_()
        compiled = torch.compile(lambda x, y: halves["rms_norm"](x, y).sin(), fullgraph=True, backend="aot_eager")
        value, *gradients = self.expected()
        out = compiled(x, y)
        torch.testing.assert_close(out, value.sin())
        torch.testing.assert_close(list(torch.autograd.grad(out.sum(), (x, y))), gradients)

    def test_pytorch_mapped(self, halves: OpLibrary) -> None:
        x, y = torch.tensor(self.X), torch.tensor(self.Y)
        value, to_x, to_y = self.expected()
        torch.testing.assert_close(torch.vmap(halves["rms_norm"], (0, None))(x, y), value)
        each = torch.func.grad(lambda x, y: halves["rms_norm"](x, y).sin().sum(), argnums=(0, 1))
        by_row, of_rows = torch.vmap(each, (0, None))(x, y)
        torch.testing.assert_close((by_row, of_rows.sum(0)), (to_x, to_y))

    def test_jax(self, halves: OpLibrary) -> None:
        jax = pytest.importorskip("jax")
        rms_norm = halves["rms_norm"].jax
        loss = jax.jit(jax.grad(lambda x, y: jax.numpy.sin(rms_norm(x, y)).sum(), argnums=(0, 1)))
        for ours, theirs in zip(loss(self.X, self.Y), self.expected()[1:], strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-5)

    def test_mindspore(self, halves: OpLibrary) -> None:
        ms = pytest.importorskip("mindspore")
        rms_norm = halves["rms_norm"].mindspore
        loss = ms.grad(lambda x, y: ms.ops.sin(rms_norm(x, y)).sum(), (0, 1))
        found = loss(ms.Tensor(self.X), ms.Tensor(self.Y))
        for ours, theirs in zip(found, self.expected()[1:], strict=True):
            np.testing.assert_allclose(ours.asnumpy(), theirs, rtol=1e-5, atol=1e-5)


def test_sums_do_not_depend_on_threads(halves: OpLibrary) -> None:
    x, y = _tensor(500, 1000).float().requires_grad_(), _tensor(1000, seed=1).float().requires_grad_()
    before = torch.get_num_threads()
    found = []
    try:
        for threads in (1, 2):
            torch.set_num_threads(threads)
            found.append(torch.autograd.grad(halves["rms_norm"](x, y).sum(), (x, y)))
    finally:
        torch.set_num_threads(before)
    assert all(torch.equal(one, two) for one, two in zip(*found, strict=True))


def test_the_rules_follow(lib: OpLibrary) -> None:
    spec = lib["rms_norm"].spec
    assert {name: value for name, value in spec.rules.fields().items() if name != "flops"} == {
        "out": {"shape": "broadcast(x, y)", "dtype": "promote(x, y)"},
        "derivatives": {"x, y": "formulas::rms_norm_backward(grad, x, y)"},
        "batch": "... d1, ... d1 -> ... d1",
        "shard": "... d1, ... d1 -> ... d1 : whole d1",
    }
    assert lib["softmax"].schema == Schema.parse("formulas::softmax(Tensor x, Tensor y) -> Tensor")


@settings(max_examples=1, deadline=None, derandomize=True, database=None, phases=(Phase.generate,))
@given(st.lists(formula_texts(), min_size=6, max_size=6, unique=True))
def test_random_formulas_are_what_pytorch_says(texts: list[str]) -> None:
    """A thousand of them in test_differences.py."""
    hold_formulas(texts, "few_random_formulas")
