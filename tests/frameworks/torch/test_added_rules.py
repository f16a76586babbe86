"""Rules over operators that somebody else registered with PyTorch, with nothing but a kernel."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path

import jax
import mindspore as ms
import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose
from torch.autograd import gradcheck, gradgradcheck

import opbridge as ob
from opbridge.base.errors import CallError, ManifestError, NoSuchOperatorError, SchemaError
from opbridge.waist.manifest import Manifest

SCHEMA = "(Tensor a, Tensor b, float c=1.0) -> Tensor"
RULES = {
    "out": "a",
    "derivatives": {"a": "grad * b", "b": "grad * a"},
    "batch": "elementwise",
}
_numbers = itertools.count()


@pytest.fixture
def muladd(registered: Callable[..., str]) -> str:
    """An operator as a stranger registers one; its name."""
    return registered(SCHEMA, lambda a, b, c=1.0: (a * b + c).detach())


@pytest.fixture
def registered() -> Callable[..., str]:
    kept = []

    def register(schema: str, function: Callable[..., torch.Tensor], *keys: str) -> str:
        library = torch.library.Library(f"stranger{next(_numbers)}", "DEF")
        kept.append(library)
        library.define(f"f{schema}")
        for key in ("CPU", *keys):
            library.impl("f", function, key)
        return f"{library.ns}::f"

    return register


def pair(**kinds: object) -> tuple[torch.Tensor, torch.Tensor]:
    return torch.randn(3, 4, dtype=torch.float64, **kinds), torch.randn(3, 4, dtype=torch.float64, **kinds)


@pytest.mark.filterwarnings("ignore:.torch.jit.script. is deprecated:DeprecationWarning")  # of PyTorch's own
@pytest.mark.parametrize("renamed", [False, True])
def test_all_of_pytorch_applies(muladd: str, renamed: bool) -> None:
    name = f"ruled{muladd}" if renamed else muladd
    op = ob.load(muladd, schema=f"{name}{SCHEMA}", **RULES)
    theirs = getattr(torch.ops, name.partition("::")[0]).f
    assert op.torch is theirs
    for call in (op, theirs):
        assert gradcheck(call, pair(requires_grad=True), check_forward_ad=True)
        assert gradgradcheck(call, pair(requires_grad=True))
        a, b = pair()
        torch.testing.assert_close(torch.vmap(call, (0, None))(a, b), (a[:, None] * b + 1))
        assert call(a.to("meta"), b.to("meta")).shape == (3, 4)
        torch.testing.assert_close(torch.compile(call, fullgraph=True, backend="aot_eager")(a, b, 2.0), a * b + 2)
    torch.library.opcheck(theirs.default, pair(requires_grad=True))


def test_the_other_frameworks(muladd: str) -> None:
    op = ob.load(muladd, **RULES)
    a, b = (np.random.randn(3, 4).astype(np.float32) for _ in range(2))
    assert_allclose(op(a, b, 2.0), a * b + 2, rtol=1e-6)
    assert_allclose(jax.jit(lambda a, b: op(a, b, c=2.0))(a, b), a * b + 2, rtol=1e-6)
    assert_allclose(jax.grad(lambda a: op(a, jax.numpy.asarray(b)).sum())(jax.numpy.asarray(a)), b, rtol=1e-6)
    batched = jax.vmap(lambda a: op(a, jax.numpy.asarray(b[0])))(jax.numpy.asarray(a))
    assert_allclose(batched, a * b[0] + 1, rtol=1e-6)
    assert_allclose(ms.grad(lambda a: op(a, ms.Tensor(b)))(ms.Tensor(a)).asnumpy(), b, rtol=1e-6)


def test_a_manifest_names_it(muladd: str, tmp_path: Path) -> None:
    text = f"""
        namespace: of_a_stranger
        ops:
          - func: "madd(Tensor x, Tensor y, float z=0.0) -> Tensor"
            kernels: {{cpu: "{muladd}"}}
            out: broadcast(x, y)
            derivatives: {{x: grad * y, y: grad * x}}
        """
    manifest = Manifest.parse(text)
    assert Manifest.parse(str(manifest)) == manifest
    (tmp_path / "ops.yaml").write_text(text)
    madd = ob.load(tmp_path / "ops.yaml").madd
    assert gradcheck(madd, pair(requires_grad=True))
    assert madd(torch.empty(3, device="meta"), torch.empty(4, 1, device="meta")).shape == (4, 3)


def test_what_is_not_said_stays_as_it_is(registered: Callable[..., str]) -> None:
    """It has a gradient of its own, and gets a batch rule."""

    class Cube(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):  # type: ignore[no-untyped-def]
            ctx.save_for_backward(x)
            return x**3

        @staticmethod
        def backward(ctx, grad):  # type: ignore[no-untyped-def]
            return 3 * grad * ctx.saved_tensors[0] ** 2

    name = registered("(Tensor x) -> Tensor", lambda x: x**3, "Meta")
    library = torch.library.Library(name.partition("::")[0], "FRAGMENT")
    library.impl("f", Cube.apply, "Autograd")
    op = ob.load(name, schema=f"batched{name}(Tensor x) -> Tensor", batch="elementwise")
    x = torch.randn(3, dtype=torch.float64, requires_grad=True)
    assert gradcheck(op, x)
    torch.testing.assert_close(torch.vmap(op)(x), x**3)
    assert op(x.detach().to("meta")).shape == (3,)
    ob.load(name, batch="elementwise")
    with pytest.raises(ManifestError, match=f"{name} has its own 'derivatives'"):
        ob.load(name, derivatives={"x": "3 * grad * x * x"})
    with pytest.raises(ManifestError, match=f"{name} has its own 'out'"):
        ob.load(name, out="x")


def test_rules_said_again_replace_those_before(muladd: str) -> None:
    a, b = pair()
    a.requires_grad_()
    for factor in (1, 2):
        op = ob.load(muladd, derivatives={"a": f"{factor} * grad * b"})
        (grad,) = torch.autograd.grad(op(a, b).sum(), a)
        torch.testing.assert_close(grad, factor * b)
    op = ob.load(muladd, out="a")  # and no derivatives
    with pytest.warns(UserWarning, match="autograd kernel was not registered"):
        op(a, b).sum().backward()


def test_a_missing_derivative_is_named(muladd: str) -> None:
    op = ob.load(muladd, derivatives={"a": "grad * b"})
    a, b = pair(requires_grad=True)
    with pytest.raises(RuntimeError, match=f"{muladd} has no derivative for 'b'"):
        op(a, b).sum().backward()


def test_without_rules_it_is_the_operator(muladd: str) -> None:
    assert ob.load(muladd) is ob.aten(muladd)


def test_errors(muladd: str, registered: Callable[..., str]) -> None:
    with pytest.raises(SchemaError, match="is registered with other arguments"):
        ob.load(muladd, schema=f"{muladd}(Tensor x, Tensor b, float c=1.0) -> Tensor", out="x")
    with pytest.raises(SchemaError, match="does not fit"):
        ob.load(muladd, schema="other::f(Tensor x) -> Tensor", out="x")
    with pytest.raises(NoSuchOperatorError, match="stranger_to_all"):
        ob.load("stranger_to_all::f", out="x")
    with pytest.raises(ManifestError, match="aten::relu has its own 'batch'"):
        ob.load("aten::relu", batch="elementwise")
    with pytest.raises(CallError, match=r"aten::add has several overloads; name one of aten::add\."):
        ob.load("aten::add", batch="elementwise")
    composite = registered("(Tensor x) -> Tensor", lambda x: x * 2, "CompositeImplicitAutograd")
    with pytest.raises(ManifestError, match="has its own 'batch'"):
        ob.load(composite, batch="elementwise")


def test_an_operator_that_writes_to_its_argument(registered: Callable[..., str]) -> None:
    name = registered("(Tensor(a!) x, Tensor y) -> Tensor(a!)", lambda x, y: x.mul_(y))
    op = ob.load(name, derivatives={"x": "grad * y", "y": "grad * x"})
    x, y = pair(requires_grad=True)
    op(x.clone(), y).sum().backward()
    torch.testing.assert_close((x.grad, y.grad), (y, x))
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad is being used in an in-place"):
        op(x, y)


def test_a_name_of_its_own_may_become_a_kernel_and_back(muladd: str) -> None:
    schema = "of_two_kinds::f(Tensor a, Tensor b) -> Tensor"
    a, b = pair(requires_grad=True)
    for _ in range(2):
        assert gradcheck(ob.load(muladd, schema=schema, **RULES), (a, b))
        by_formula = ob.formula(schema, "a - b")
        torch.testing.assert_close(by_formula(a, b), a - b)
        assert ob.load(muladd, schema=schema)(a, b).grad_fn is not None
