"""`ob.module`: classes of torch.nn.Module around functions."""

from __future__ import annotations

import copy
import io
import pickle

import pytest
import torch
from torch import Tensor

import opbridge as ob
from opbridge.base.errors import CallError


def affine(x: Tensor, weight: Tensor, bias: Tensor, scale: float = 1.0, *, shift: float = 0.0) -> Tensor:
    return torch.nn.functional.linear(x, weight, bias) * scale + shift


Affine = ob.module(
    affine,
    name="Affine",
    parameters=lambda inputs, outputs=3: {"weight": (outputs, inputs), "bias": (outputs,)},
    init={"bias": torch.nn.init.ones_},
)


def test_it_is_a_module_with_parameters() -> None:
    layer = Affine(inputs=4, dtype=torch.float64)
    assert {name: tuple(value.shape) for name, value in layer.named_parameters()} == {"weight": (3, 4), "bias": (3,)}
    assert repr(layer) == "Affine(inputs=4, outputs=3, weight=(3, 4), bias=(3,))"
    assert Affine(inputs=4, device="meta").weight.is_meta
    x = torch.randn(2, 4, dtype=torch.float64)
    torch.testing.assert_close(layer(x, 2.0, shift=1.0), affine(x, layer.weight, layer.bias, 2.0, shift=1.0))
    assert torch.autograd.gradcheck(layer, (x.requires_grad_(),))


def test_parameters_begin_as_initialisers_say() -> None:
    layer = Affine(inputs=4)
    assert torch.equal(layer.bias, torch.ones(3))
    torch.manual_seed(1)
    layer.reset_parameters()
    torch.manual_seed(1)
    linear = torch.nn.Linear(4, 3)
    assert torch.equal(layer.weight, linear.weight)


def test_it_is_copied_saved_and_loaded_like_any_other() -> None:
    layer, x = Affine(inputs=4), torch.randn(2, 4)
    other = Affine(inputs=4)
    other.load_state_dict(layer.state_dict())
    file = io.BytesIO()
    torch.save(layer, file)
    file.seek(0)
    copies = [other, copy.deepcopy(layer), pickle.loads(pickle.dumps(layer)), torch.load(file, weights_only=False)]
    assert all(torch.equal(same(x), layer(x)) and same.weight is not layer.weight for same in copies)


def test_shapes_may_be_fixed_and_the_name_is_the_functions() -> None:
    scale_shift = ob.module(affine, parameters={"weight": (2, 2), "bias": (2,)})
    assert scale_shift.__name__ == "Affine"
    assert scale_shift()(torch.zeros(1, 2)).tolist() == [[0.0, 0.0]]


def test_it_trains_compiled() -> None:
    torch.manual_seed(0)
    double = ob.autograd(
        forward=lambda x, w: x @ w,
        backward=lambda grad, x, w: (grad @ w.t(), x.t() @ grad),
        saved=("x", "w"),
        schema="modtest::product(Tensor x, Tensor w) -> Tensor",
        out={"shape": "[x.shape[0], w.shape[1]]"},
    )
    layer = ob.module(double, name="Product", parameters={"w": (4, 4)})()
    step = torch.compile(layer, fullgraph=True, backend="aot_eager")
    optimizer = torch.optim.SGD(layer.parameters(), lr=0.5)
    x, target = torch.randn(16, 4), torch.randn(16, 4)
    losses = []
    for _ in range(20):
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(step(x), target)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 0.8 * losses[0]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Affine(), "missing a required argument: 'inputs'; it is made from inputs, outputs=3"),
        (lambda: Affine(inputs=2, output=3), "unexpected keyword argument 'output'"),
        (lambda: Affine(inputs=2)(), "Affine takes x, scale, shift; 'x' was not given"),
        (lambda: Affine(inputs=2)(torch.ones(2), 1.0, 0.0), "takes x, scale, shift; got 3"),
        (lambda: Affine(inputs=2)(torch.ones(2), factor=1.0), "'factor' is none of them"),
        (lambda: ob.module(affine, parameters={"weights": (2,)}), "names 'weights', .* did you mean 'weight'"),
        (lambda: ob.module(affine, parameters=3), "parameters= expects names with shapes"),
        (lambda: ob.module(lambda *xs: xs, parameters={}), "nothing tells what its arguments are"),
        (lambda: ob.module(3, parameters={}), r"module\(\) expects a function, got int"),
    ],
)
def test_what_does_not_fit_is_said(call: object, message: str) -> None:
    with pytest.raises(CallError, match=message):
        call()
