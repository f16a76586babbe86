"""Parts of a network that are more than a list of operators: control flow, mixed precision, gradients of its own."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import jax
import mindspore as ms
import numpy as np
import pytest
import torch
from torch._higher_order_ops import while_loop
from torch._higher_order_ops.map import map as mapped
from torch._higher_order_ops.scan import scan

import opbridge as ob
from opbridge.base.errors import CallError, UnsupportedError
from opbridge.models.conversion.check_conversion import check
from opbridge.models.conversion.convert_module import converted

pytestmark = pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor that is not a leaf")
"""What PyTorch says while it compiles its own control flow."""


class Regions(torch.nn.Module):
    """Each kind of control flow, one after the other."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(3, 3)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        x = torch.cond(x.sum() > 0, lambda a: self.layer(a), lambda a: a * 2, (x,))
        rows = mapped(lambda row, more: (row * more).relu(), x, x + 1)
        last, passed = scan(lambda before, row: (before + row, self.layer(before) * row), torch.zeros(3), x)
        return rows, last, passed


class Repeats(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return while_loop(lambda i, v: i < 3, lambda i, v: (i + 1, torch.tanh(v) * 2), (torch.tensor(0), x))[1]


class Mixed(torch.nn.Module):
    """Autocast, and float32 behind it."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(3, 3)
        self.conv = torch.nn.Conv1d(2, 2, 1)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            y = self.conv(self.layer(x)[None])
            y = y + torch.softmax(y, -1)
        return y.float() * 2, y


class Steep(torch.autograd.Function):
    """A gradient that is not its derivative."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, factor: float) -> torch.Tensor:
        ctx.save_for_backward(x)
        return x.relu() * factor

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[torch.Tensor, None]:
        (x,) = ctx.saved_tensors
        return gradient * 5 * (x > 0), None


class SumAndDifference(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return x + y, x - y

    @staticmethod
    def backward(ctx: Any, one: torch.Tensor, other: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return one * 3, other


class OwnGradients(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(3, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        one, other = SumAndDifference.apply(Steep.apply(self.layer(x), 2.0), x)
        return one * 2 + other


@pytest.mark.cases(4)
@pytest.mark.parametrize(
    "module", [Regions(), Repeats(), Mixed(), OwnGradients()], ids=lambda each: type(each).__name__
)
@pytest.mark.parametrize("to", ["mindspore", "jax"])
def test_values_and_gradients_are_pytorchs(module: Any, to: str, tmp_path: Path) -> None:
    inputs = (torch.randn(2, 3, generator=torch.Generator().manual_seed(2)),)
    prefer = "aten" if isinstance(module, Mixed) else None  # each framework rounds bfloat16 in its own way
    converted(module.eval(), inputs, to=to, prefer=prefer).write(tmp_path / "net")
    found = check(module, tmp_path / "net", inputs, {})
    assert any("gradient" in each.what for each in found) is bool(list(module.parameters()))
    assert [each for each in found if each.difference > 1e-6] == []


class Branches(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.cond(x.sum() > 0, lambda a: a + 1, lambda a: a * 2, (x,))


def test_both_ways_of_a_branch_are_there() -> None:
    module = Branches()
    given = torch.ones(2, 3)
    cell = ob.convert(module, (given,))
    apply, values = ob.convert(module, (given,), to="jax", prefer="aten")
    for x in (given, -given):
        expected = (x + 1 if x.sum() > 0 else x * 2).numpy()
        np.testing.assert_allclose(cell(ms.Tensor(x.numpy())).asnumpy(), expected)
        np.testing.assert_allclose(jax.jit(apply)(values, x.numpy()), expected)


class Optional(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(3, 3)

    def forward(self, x: Any, mask: Any = None, scale: float = 2.0, *, more: Any = None) -> Any:
        y = self.layer(x) if mask is None else self.layer(x) * mask
        return (y if more is None else y + more["bias"]) * scale


@pytest.mark.cases(1)
@pytest.mark.parametrize(
    ("args", "kwargs", "names"),
    [
        ((None, 3.0), {"more": {"bias": torch.ones(3)}}, "self, x, more_bias"),
        ((), {"mask": torch.ones(2, 3), "scale": 1.5}, "self, x, mask"),
    ],
)
def test_inputs_are_the_tensors_that_were_given(args: Any, kwargs: Any, names: str, tmp_path: Path) -> None:
    given = (torch.ones(2, 3), *args)
    module = Optional().eval()
    made = converted(module, given, kwargs)
    assert f"def construct({names}):" in made.source
    made.write(tmp_path / "net")
    assert all(each.is_right for each in check(module, tmp_path / "net", given, kwargs))


class Sum(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(3, 3)

    def forward(self, many: list[torch.Tensor]) -> torch.Tensor:
        return sum(self.layer(each) for each in many)


class FrozenBackbone(torch.nn.Module):
    """What is computed without gradients goes to a module all together."""

    def __init__(self) -> None:
        super().__init__()
        self.backbone = torch.nn.Linear(3, 3)
        self.head = Sum()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        with torch.no_grad():
            first = self.backbone(x)
            second = first.relu()
        return self.head([first, second])


def test_a_module_takes_all_that_is_computed_without_gradients(tmp_path: Path) -> None:
    module, given = FrozenBackbone(), (torch.ones(2, 3),)
    for to in ("mindspore", "jax"):
        converted(module, given, to=to).write(tmp_path / to)
        assert all(each.is_right for each in check(module, tmp_path / to, given, {}))


class BranchesWithoutGradients(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        with torch.no_grad():
            return torch.cond(x.sum() > 0, lambda a: a + 1, lambda a: a * 2, (x,))


class HiddenGradient(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        class Hidden(Steep):
            pass

        return Hidden.apply(x, 2.0)


@pytest.mark.parametrize(
    ("module", "message"),
    [
        (BranchesWithoutGradients(), r"loses torch.no_grad\(\) next to control flow"),
        (HiddenGradient(), "has a gradient of its own, which the package has to find"),
    ],
)
def test_what_would_lose_its_gradient_is_refused(module: Any, message: str) -> None:
    with pytest.raises(UnsupportedError, match=message) as caught:
        ob.convert(module, (torch.ones(2, 3),))
    assert "test_regions.py" in str(caught.value)


class Drops(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.drop = torch.nn.Dropout(0.25)
        self.channels = torch.nn.Dropout2d(0.5)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        attended = torch.nn.functional.scaled_dot_product_attention(x, x, x, dropout_p=0.5 if self.training else 0.0)
        return self.drop(x), self.channels(x), attended + (torch.rand_like(x) if self.training else 0)


def test_jax_draws_in_training_of_a_key() -> None:
    x = np.ones((64, 8, 16, 4), np.float32)
    apply, values = ob.convert(Drops(), (torch.from_numpy(x),), to="jax", prefer="aten")
    train = jax.jit(partial(apply, train=True))
    (dropped, channels, attended), _ = train(values, x, key=jax.random.key(0))
    assert set(np.unique(dropped)) == {0.0, np.float32(1 / 0.75)}
    assert abs(np.mean(dropped == 0) - 0.25) < 0.02
    assert set(np.unique(np.asarray(channels).mean((2, 3)))) == {0.0, 2.0}
    assert attended.std() > 0.1
    again, other = (train(values, x, key=jax.random.key(seed))[0] for seed in (0, 1))
    np.testing.assert_array_equal(dropped, again[0])
    assert not np.array_equal(dropped, other[0])
    gradient = jax.grad(lambda x: apply(values, x, train=True, key=jax.random.key(0))[0][0].sum())(x)
    np.testing.assert_array_equal(gradient, dropped)
    np.testing.assert_array_equal(apply(values, x)[0], x)
    with pytest.raises(CallError, match=r"key=jax.random.key\(0\)"):
        apply(values, x, train=True)


class Attends(torch.nn.Module):
    """Where the mask leaves nothing, PyTorch's attention gives zeros."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        mask = torch.tensor([[True, False], [False, False]])
        return torch.nn.functional.scaled_dot_product_attention(x, x, x, mask)


def test_what_may_look_at_nothing_gives_zeros_in_jax() -> None:
    x = torch.randn(1, 2, 4, generator=torch.Generator().manual_seed(2))
    apply, values = ob.convert(Attends(), (x,), to="jax", prefer="aten")
    np.testing.assert_allclose(apply(values, x.numpy()), Attends()(x).numpy(), atol=1e-6)
    gradient = jax.grad(lambda given: apply(values, given)[0, 1].sum())(x.numpy())
    np.testing.assert_array_equal(gradient, np.zeros_like(gradient))
