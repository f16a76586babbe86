"""Every formula of the table under torch.compile, export, vmap and forward mode gives what it gives by itself.

The derivative of `f_NAME(x, y, t)` for t is grad times the formula of x and y, so it is linear in grad, as forward mode
wants it.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import torch
from formula_table import AXES, COMPLEX, FORMULAS, SIGNATURE, VARIANTS, WITH_NUMBERS
from torch import Tensor

import opbridge as ob
from opbridge.waist.op import OpLibrary

TABLE = FORMULAS | VARIANTS | WITH_NUMBERS
X = torch.linspace(0.1, 0.9, 9, dtype=torch.float64).reshape(3, 3)
Y = X.flip(0)
AXIS = {"axis": 1, "axes": [1]}


@dataclass(frozen=True)
class Case:
    """What one formula is tried with, and the shape of what it gives."""

    shape: tuple[int, ...] = (3, 3)
    given: dict[str, Any] = field(default_factory=lambda: AXIS)
    x: Tensor = X
    y: Tensor = Y

    @property
    def t(self) -> Tensor:
        return torch.zeros(self.shape, dtype=self.x.dtype)

    @property
    def grad(self) -> Tensor:
        return torch.arange(1, 1 + self.t.numel()).reshape(self.shape).to(self.x.dtype)


CASES: dict[str, Case] = {
    **dict.fromkeys((*AXES, "prod", "argmax", "argmin"), Case((3, 1), {**AXIS, "keepdims": True})),
    **dict.fromkeys(COMPLEX, Case(x=X * (1 + 2j))),
    **dict.fromkeys(("prod_all", "sum_all", "var_corrected"), Case(())),
    "std_corrected": Case((3,)),
    "max_all": Case((1, 1)),
    "reshape": Case((9,), {"shape": [9]}),
    "broadcast_to": Case((2, 3, 3), {"shape": [2, 3, 3]}),
    "sum_to": Case((3, 1), {"shape": [3, 1]}),
    "permute_dims": Case(given={"shape": [1, 0]}),
    "expand_dims": Case((3, 1, 3)),
    "squeeze": Case(x=X[:, None]),
    "take": Case((3, 2), y=torch.tensor([2, 0])),
    "concat": Case((3, 6)),
    "stack": Case((3, 2, 3)),
    **dict.fromkeys(("zeros", "ones"), Case(given={"shape": [3, 3]})),
    "subscripts": Case((1, 2, 2)),
    "shape_arithmetic": Case((9, 1)),
    **{name: Case((formula.count("astype"), 3, 3)) for name, formula in WITH_NUMBERS.items()},
}


def case(name: str) -> Case:
    return CASES.get(name) or Case()


@pytest.fixture(scope="module")
def lib(kernels: Path, tmp_path_factory: pytest.TempPathFactory) -> OpLibrary:
    folder = tmp_path_factory.mktemp("formulas")
    shutil.copy(kernels / "shapes.cpp", folder)
    lines = ["namespace: obtransformed", "ops:"]
    for name, formula in TABLE.items():
        lines += [f"- func: f_{name}{SIGNATURE}", "  out: t", "  batch: loop", "  kernels: {cpu: 'shapes.cpp:probe'}"]
        lines += ["  derivatives:", f"    t: {f'({formula}) * grad'!r}"]
    (folder / "ops.yaml").write_text("\n".join(lines))
    library: OpLibrary = ob.load(folder / "ops.yaml")
    return library


Gradients = Callable[[Tensor, Tensor, Tensor], Tensor]


@pytest.fixture(scope="module")
def gradient(lib: OpLibrary) -> Callable[[str], Gradients]:
    """A formula's value, as a function of x, y and grad."""

    def of(name: str) -> Gradients:
        here, op = case(name), lib[f"f_{name}"].torch

        def gradient(x: Tensor, y: Tensor, grad: Tensor) -> Tensor:
            _, pull = torch.func.vjp(lambda t: op(x, y, t, **here.given), torch.zeros_like(grad))
            (found,) = pull(grad)
            return found

        return gradient

    return of


def eager(lib: OpLibrary, name: str) -> Tensor:
    here = case(name)
    t = here.t.requires_grad_()
    (found,) = torch.autograd.grad(lib[f"f_{name}"](here.x, here.y, t, **here.given), t, here.grad)
    return found


def differing(found: dict[str, Tensor], expected: dict[str, Tensor]) -> list[str]:
    assert found.keys() == expected.keys()
    return [
        f"{TABLE[name]}: {found[name]} for {expected[name]}"
        for name in found
        if not torch.allclose(found[name], expected[name], rtol=1e-12, atol=0, equal_nan=True)
    ]


@pytest.fixture(scope="module")
def expected(lib: OpLibrary) -> dict[str, Tensor]:
    return {name: eager(lib, name) for name in TABLE}


some_or_all = pytest.mark.parametrize("step", [4, pytest.param(1, marks=pytest.mark.matrix("every fourth formula"))])


@some_or_all
def test_compiled(lib: OpLibrary, expected: dict[str, Tensor], step: int) -> None:
    """Many in one graph, because each graph takes its time."""
    names = [*TABLE][::step]
    cases = [(lib[f"f_{name}"].torch, case(name).x, case(name).y, case(name).given) for name in names]

    @torch.compile(backend="aot_eager", fullgraph=True, dynamic=True)
    def forward(ts: list[Tensor]) -> list[Tensor]:
        return [op(x, y, t, **given) for (op, x, y, given), t in zip(cases, ts, strict=True)]

    ts = [case(name).t.requires_grad_() for name in names]
    found = torch.autograd.grad(forward(ts), ts, [case(name).grad for name in names])
    assert not differing(dict(zip(names, found, strict=True)), {name: expected[name] for name in names})


@pytest.mark.filterwarnings("ignore:A model attribute `lifted_tensor:UserWarning")  # what vjp differentiates by
@some_or_all
def test_exported(lib: OpLibrary, expected: dict[str, Tensor], step: int) -> None:
    names = [*TABLE][::step]
    cases = [(lib[f"f_{name}"].torch, case(name).x, case(name).y, case(name).given) for name in names]

    class Model(torch.nn.Module):
        def forward(self, ts: list[Tensor], grads: list[Tensor]) -> list[Tensor]:
            def outputs(*ts: Tensor) -> tuple[Tensor, ...]:
                return tuple(op(x, y, t, **given) for (op, x, y, given), t in zip(cases, ts, strict=True))

            _, pull = torch.func.vjp(outputs, *ts)
            return list(pull(tuple(grads)))

    inputs = ([case(name).t for name in names], [case(name).grad for name in names])
    found = torch.export.export(Model(), inputs, strict=False).module()(*inputs)
    assert not differing(dict(zip(names, found, strict=True)), {name: expected[name] for name in names})


def test_mapped(gradient: Callable[[str], Gradients]) -> None:
    found, looped = {}, {}
    for name in TABLE:
        here = case(name)
        batches = [torch.stack([value, value.flip(0)]) for value in (here.x, here.y, here.grad) if value.ndim]
        batches += [torch.stack([here.grad, 2 * here.grad])] * (here.grad.ndim == 0)
        found[name] = torch.func.vmap(gradient(name))(*batches)
        looped[name] = torch.stack([gradient(name)(*tensors) for tensors in zip(*batches, strict=True)])
    assert not differing(found, looped)


@pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated:DeprecationWarning")  # of PyTorch's own
def test_forward_mode(lib: OpLibrary, expected: dict[str, Tensor]) -> None:
    found = {}
    for name in TABLE:
        here = case(name)
        _, found[name] = torch.func.jvp(
            lambda t, name=name, here=here: lib[f"f_{name}"](here.x, here.y, t, **here.given), (here.t,), (here.grad,)
        )
    assert not differing(found, {name: value.conj() for name, value in expected.items()})
