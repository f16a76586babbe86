"""A converted network as a module of flax.nnx: names, values, training, buffers and what is drawn."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch

from opbridge.base.errors import CallError
from opbridge.models.conversion.convert_module import converted, imported

nnx = pytest.importorskip("flax.nnx", reason="flax is not installed; `make networks` brings it")


class Net(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.BatchNorm1d(4))
        self.head = torch.nn.Linear(4, 2)
        self.again = torch.nn.Linear(4, 4)
        self.again.weight = self.layers[0].weight
        self.drop = torch.nn.Dropout(0.5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.drop(self.again(self.layers(x))))


@pytest.fixture
def network() -> Any:
    torch.manual_seed(0)
    return Net().eval()


@pytest.fixture
def package(network: Any, tmp_path: Path) -> Any:
    converted(network, (torch.ones(8, 4),), to="jax", prefer="aten").write(tmp_path / "net")
    return imported(tmp_path / "net")


def test_values_and_names_are_pytorchs(network: Any, package: Any) -> None:
    module, x = package.module(), torch.randn(8, 4)
    np.testing.assert_allclose(module(x.numpy()), network(x).detach().numpy(), rtol=1e-5, atol=1e-6)
    trained = {".".join(map(str, path)) for path in nnx.to_flat_state(nnx.state(module, nnx.Param)).paths}
    assert trained == dict(network.named_parameters()).keys()
    assert module.layers[1].running_mean.value.shape == (4,)


def test_training_moves_weights_and_buffers(network: Any, package: Any) -> None:
    module, x = package.module(rngs=nnx.Rngs(0)), np.random.default_rng(0).normal(size=(8, 4)).astype(np.float32)
    module.train()

    @nnx.jit
    def step(module: Any) -> Any:
        loss, gradients = nnx.value_and_grad(lambda m: (m(x) ** 2).mean())(module)
        params = nnx.state(module, nnx.Param)
        nnx.update(module, _stepped(params, gradients))
        return loss

    losses = [float(step(module)) for _ in range(30)]
    assert losses[-1] < losses[0] / 2
    assert len(set(losses)) == 30, "each step draws anew"
    assert module.layers[1].num_batches_tracked.value == 30
    module.eval()
    assert (module(x) == module(x)).all()


def _stepped(params: Any, gradients: Any) -> Any:
    return jax.tree.map(lambda value, gradient: value - 0.1 * gradient, params, gradients)


def test_what_draws_wants_a_stream(package: Any) -> None:
    module = package.module()
    module.train()
    with pytest.raises(CallError, match="take a key"):
        module(jnp.ones((8, 4)))
