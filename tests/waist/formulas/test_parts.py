"""Slices and what puts parts together: values and gradients, held against PyTorch's, and what the sources look like."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from tests.helpers.formula_library import formula_library, names_asked_for

from opbridge.base.errors import KernelError, RuleError
from opbridge.waist.formulas import formula_operators
from opbridge.waist.op import OpLibrary
from opbridge.waist.schema import Schema

# PyTorch's own forward mode still uses it.
pytestmark = pytest.mark.filterwarnings("ignore:.torch.jit.script. is deprecated:DeprecationWarning")

Shape = tuple[int, ...]
X, Y = (2, 3, 8), (3, 8)


def _rotated(x: torch.Tensor) -> torch.Tensor:
    half = x.shape[-1] // 2
    return torch.cat([-x[..., half:], x[..., :half]], -1)


def _turned(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    even, odd = x[..., ::2], x[..., 1::2]
    return torch.stack([even * cos - odd * sin, odd * cos + even * sin], -1).flatten(-2)


ROTATED = "h = x.shape[-1] // 2\nx * y + concat([-x[..., h:], x[..., :h]], -1) * z"
FORMULAS: dict[str, tuple[str, str, Callable[..., torch.Tensor], tuple[Shape, ...]]] = {
    "glu": (
        "Tensor x",
        "h = x.shape[-1] // 2\nx[..., :h] * sigmoid(x[..., h:])",
        torch.nn.functional.glu,
        (X,),
    ),
    "rope": ("Tensor x, Tensor y, Tensor z", ROTATED, lambda x, y, z: x * y + _rotated(x) * z, (X, Y, (3, 1))),
    "rope_of_pairs": (
        "Tensor x, Tensor y, Tensor z",
        "a = x[..., ::2]\nb = x[..., 1::2]\ninterleave([a * y - b * z, b * y + a * z], -1)",
        _turned,
        (X, (3, 4), (4,)),
    ),
    "rolled": (
        "Tensor x, *, int k=1",
        "sin(x) - roll(x, k, -2)",
        lambda x: torch.sin(x) - torch.roll(x, 1, -2),
        (X,),
    ),
    "rolled_twice": (
        "Tensor x",
        "x * roll(roll(x, -1, -1), 1, axis=-2)",
        lambda x: x * torch.roll(x, (-1, 1), (-1, -2)),
        (X,),
    ),
    "differences": ("Tensor x", "x[..., 1:] * x[..., :-1]", lambda x: x[..., 1:] * x[..., :-1], (X,)),
    "flipped": (
        "Tensor x",
        "x * flip(x, -1) + exp(x[..., ::-1, :])",
        lambda x: x * x.flip(-1) + x.flip(-2).exp(),
        (X,),
    ),
    "mean_of_every_second": (
        "Tensor x, Tensor y",
        "mean(x[..., ::2] * y, -1)",
        lambda x, y: (x[..., ::2] * y).mean(-1),
        (X, (3, 4)),
    ),
    "side_by_side": (
        "Tensor x, Tensor y",
        "concat([x, 2 * y], -1)",
        lambda x, y: torch.cat([x, 2 * y], -1),
        (X, (2, 3, 3)),
    ),
    "softmax_of_a_part": (
        "Tensor x",
        "softmax(x[..., 1:], -1)",
        lambda x: torch.softmax(x[..., 1:], -1),
        (X,),
    ),
    "sizes_as_numbers": (
        "Tensor x, Tensor y, *, float eps=0.5",
        "n = x.shape[-1]\nshare = y * (1 - eps) + eps / n\nshare * exp(x / n) - x.shape[-2]",
        lambda x, y: (y * 0.5 + 0.5 / 8) * (x / 8).exp() - 3,
        (X, Y),
    ),
    "first_against_rest": ("Tensor x", "x[..., :1] * x[..., 1:]", lambda x: x[..., :1] * x[..., 1:], (X,)),
    # Gradients that no element is needed for have their shape from the tensors.
    "sum_of_every_second": (
        "Tensor x, Tensor y",
        "sum(x[..., ::2] + y, -1)",
        lambda x, y: (x[..., ::2] + y).sum(-1),
        (X, (3, 4)),
    ),
    "total_of_steps": (
        "Tensor x, Tensor y",
        "sum(x[..., 1:] - x[..., :-1] + y)",
        lambda x, y: (x[..., 1:] - x[..., :-1] + y).sum(),
        (X, (3, 7)),
    ),
    "size_of_steps": (
        "Tensor x",
        "sum(abs(x[..., 1:] - x[..., :-1])) / (x.shape[-1] - 1)",
        lambda x: (x[..., 1:] - x[..., :-1]).abs().sum() / 7,
        (X,),
    ),
    "mean_over_the_middle": (
        "Tensor x, Tensor y",
        "mean(x[..., :2, :] * y, -2, keepdim=True)",
        lambda x, y: (x[..., :2, :] * y).mean(-2, keepdim=True),
        (X, (8,)),
    ),
    "halves_added_up": (
        "Tensor x",
        "sum(x[..., :4] + 2 * x[..., 4:], -2)",
        lambda x: (x[..., :4] + 2 * x[..., 4:]).sum(-2),
        (X,),
    ),
}
SCHEMAS = {f"parts::{name}({arguments}) -> Tensor": text for name, (arguments, text, _, _) in FORMULAS.items()}


ON_TWIN = ("rope", "sizes_as_numbers", "rolled", "mean_of_every_second", "first_against_rest", "total_of_steps")


@pytest.fixture(scope="module")
def lib(request: pytest.FixtureRequest) -> OpLibrary:
    return formula_library(_of({*names_asked_for(request), "rope", "glu", "rolled"}))


@pytest.fixture(scope="module")
def twin(request: pytest.FixtureRequest) -> OpLibrary:
    chosen = _of(names_asked_for(request) & {*ON_TWIN})
    return formula_library(
        {schema.replace("parts", "parts_cuda"): text for schema, text in chosen.items()}, "float", "cuda-twin"
    )


def _of(names: set[str]) -> dict[str, str]:
    return {schema: SCHEMAS[schema] for schema, name in zip(SCHEMAS, FORMULAS, strict=True) if name in names}


def drawn(shape: Shape, seed: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(shape, dtype=torch.double, generator=generator).requires_grad_()


@pytest.mark.cases(2)
@pytest.mark.parametrize("name", FORMULAS)
def test_values_and_gradients(lib: OpLibrary, name: str) -> None:
    _, _, reference, shapes = FORMULAS[name]
    inputs = [drawn(shape, seed) for seed, shape in enumerate(shapes)]
    got, expected = lib[name](*inputs), reference(*inputs)
    torch.testing.assert_close(got, expected)
    grad = drawn(tuple(expected.shape), 9).detach()
    mine, theirs = (torch.autograd.grad(value, inputs, grad) for value in (got, expected))
    torch.testing.assert_close(mine, theirs)


@pytest.mark.cases(4)
@pytest.mark.parametrize("name", FORMULAS)
def test_second_derivatives_and_forward_mode(lib: OpLibrary, name: str) -> None:
    _, _, reference, shapes = FORMULAS[name]
    inputs = tuple(drawn(shape, seed) for seed, shape in enumerate(shapes))
    assert torch.autograd.gradgradcheck(lib[name], inputs)
    plain = tuple(value.detach() for value in inputs)
    tangents = tuple(map(torch.randn_like, plain))
    found, wanted = (torch.func.jvp(f, plain, tangents)[1] for f in (lib[name], reference))
    torch.testing.assert_close(found, wanted)


def test_two_tensors_are_turned_by_the_same_angles() -> None:
    text = "h = x.shape[-1] // 2\n" + ", ".join(
        f"{t} * y + concat([-{t}[..., h:], {t}[..., :h]], -1) * z" for t in ("x", "w")
    )
    schema = "parts_of_two::rope(Tensor x, Tensor w, Tensor y, Tensor z) -> (Tensor, Tensor)"
    op = formula_library({schema: text})["rope"]
    x, w, y, z = (drawn(shape, seed) for seed, shape in enumerate((X, X, Y, Y)))
    got, expected = op(x, w, y, z), tuple(t * y + _rotated(t) * z for t in (x, w))
    torch.testing.assert_close(got, expected)
    found, wanted = (torch.autograd.grad(a.sin().sum() + b.cos().sum(), (x, w, y, z)) for a, b in (got, expected))
    torch.testing.assert_close(found, wanted)


def test_a_size_of_one_sample_is_that_under_vmap() -> None:
    op = formula_library({"parts_of_one::shared(Tensor x) -> Tensor": "x / x.shape[0]"})["shared"]
    x = drawn((4, 2, 3), 0)
    torch.testing.assert_close(torch.vmap(op)(x), x / 2)


@pytest.mark.cases(1)
@pytest.mark.parametrize("name", ON_TWIN)
def test_values_and_gradients_on_a_gpu(twin: OpLibrary, name: str) -> None:
    """The twin has no finding, or the call would fail."""
    _, _, reference, shapes = FORMULAS[name]
    inputs = [drawn(shape, seed).detach().float().requires_grad_() for seed, shape in enumerate(shapes)]
    got, expected = twin[name](*inputs), reference(*inputs)
    torch.testing.assert_close(got, expected)
    mine, theirs = (torch.autograd.grad(value.sin().sum(), inputs) for value in (got, expected))
    torch.testing.assert_close(mine, theirs)


def test_tensors_that_lie_across(lib: OpLibrary) -> None:
    x, y = drawn((8, 3, 2), 0).transpose(0, 2), drawn((8, 3), 1).t()
    z = drawn((3, 1), 2)
    torch.testing.assert_close(lib["rope"](x, y, z), x * y + _rotated(x) * z)


def test_what_does_not_divide_is_refused(lib: OpLibrary) -> None:
    with pytest.raises(KernelError, match="takes 2 equal parts of an axis of size 5"):
        lib["glu"](torch.randn(3, 5, dtype=torch.double))
    with pytest.raises(KernelError, match=r"a tensor of shape \[1, 2, 8\] has no"):
        lib["rolled"](torch.randn(1, 2, 8, dtype=torch.double), k=3)


def test_a_rotation_is_one_pass_over_memory() -> None:
    schema = Schema.parse("parts::rope(Tensor x, Tensor y, Tensor z) -> Tensor")
    found = formula_operators(ROTATED, schema)
    assert found.forward.loops.others == ()
    assert found.backward is not None
    assert found.backward.loops.others == ()


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("sum(concat([x, y], -1), -1)", "does not reduce what is put together", "formula: concat([x, y], -1)"),
        ("softmax(x, -1)[..., 1:]", "a slice of what is reduced", "slice the tensors"),
        ("sum(x, -1)[..., 1:]", "a slice of what is reduced", "slice the tensors"),
        ("mean(abs(x[..., 1:] - x[..., :-1]))", "in its gradient", "sum(...) / (x.shape[-1] - 1)"),
        ("x[..., 0]", "expected a slice, got 0", "one slice for each of the last axes"),
        ("x[..., ::-2]", "expected a step of 1 or more", "goes backwards"),
        ("x[..., 3::2]", "one of its first places", "x[..., k::2]"),
        ("roll(x, 1, 0)", "roll() takes one axis, below 0", "roll(x, 1, -1)"),
        ("concat(x, -1)", "concat() takes a list", "concat([x, y], -1)"),
        (
            "n = x.shape[-2]\nconcat([x[..., n:], x[..., :n]], -1) * roll(x, 1, -1)",
            "of which no size says which comes first",
            "make it two operators",
        ),
        ("roll(x, 1, -1) + interleave([x[..., ::2], y], -1)", "put together in different steps", "two operators"),
        ("x[..., a:]", "expected a size, got a", "x.shape[-1]"),
    ],
)
def test_mistakes(text: str, message: str, hint: str) -> None:
    schema = Schema.parse("parts::f(Tensor x, Tensor y, *, int k=1, float a=1.0) -> Tensor")
    with pytest.raises(RuleError) as caught:
        formula_operators(text, schema)
    assert message in str(caught.value)
    assert hint in caught.value.hint
