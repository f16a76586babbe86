"""What a user of the sample backend does, in a process of its own: a device is registered once in a process."""

from __future__ import annotations

import importlib
import sys
import types

import pytest
import torch

device = types.SimpleNamespace(
    is_available=lambda: True,
    is_initialized=lambda: True,
    _is_in_bad_fork=lambda: False,
    _lazy_init=lambda: None,
    device_count=lambda: 1,
    current_device=lambda: 0,
    get_rng_state=torch.get_rng_state,
    set_rng_state=torch.set_rng_state,
    manual_seed_all=lambda seed: None,
)
torch.utils.rename_privateuse1_backend("sample")
torch._register_device_module("sample", device)
torch.ops.load_library(sys.argv[1])
ops = torch.ops.sample
sys.path.insert(0, sys.argv[2])
sample_ops = importlib.import_module("sample_ops")

x = torch.tensor([[1.0, -2.0, 3.0], [4.0, 5.0, -6.0]])
y = torch.linspace(-1, 1, 6).reshape(2, 3)


def on(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.to("sample")


def same(result: torch.Tensor, expected: torch.Tensor) -> None:
    assert result.device.type == "sample"
    torch.testing.assert_close(result.cpu(), expected)


def memory_and_views() -> None:
    same(on(x), x)
    same(on(x).view(3, 2), x.view(3, 2))
    same(on(x)[1], x[1])
    same(on(x).t(), x.t())


def variants_of_one_kernel() -> None:
    same(on(x) * on(y), x * y)
    same(on(x) * 2, x * 2)
    same(torch.tensor(3.0) * on(x), 3 * x)
    same(on(torch.arange(3)) * 0.5, torch.arange(3) * 0.5)
    same(on(x).mul_(on(y)), x * y)
    out = on(torch.zeros(2, 3))
    assert torch.mul(on(x), on(y), out=out) is out
    same(out, x * y)
    same(torch.cat([on(x), on(y)], dim=1), torch.cat([x, y], dim=1))
    values, indices = torch.max(on(x), dim=1)
    same(values, x.max(dim=1).values)
    same(indices, x.max(dim=1).indices)


def own_operators() -> None:
    same(ops.scaled_add(on(x), on(y), alpha=0.5), x + 0.5 * y)
    same(ops.twice(on(x)), 2 * x)
    low, high = ops.minmax(on(x))
    same(low, x.min())
    same(high, x.max())
    same(ops.clip_(on(x), 0.0), x.clamp(0.0))
    same(ops.clip_(on(x), 0.0, 3.0), x.clamp(0.0, 3.0))
    same(ops.total([on(x), on(y)]), x.sum() + y.sum())
    same(ops.total([on(x)], on(torch.tensor(2.0))), 2 * x.sum())
    for piece, expected in zip(ops.pieces(on(x), [1, 1]), x.split(1), strict=True):
        same(piece, expected)
    assert ops.describe(on(x)) == "tensor of 2 dimensions"
    both = [on(x), on(y)]
    ops.increment_all_(both, 2)
    same(both[0], x + 2)
    same(both[1], y + 2)


def views_share_memory() -> None:
    whole = on(x)
    ops.first_rows(whole, 1).mul_(2)
    same(whole, torch.cat([2 * x[:1], x[1:]]))


def generated_out_variants() -> None:
    out = torch.empty(0, device="sample")
    assert ops.scaled_add.out(on(x), on(y), out=out) is out
    same(out, x + y)
    low, high = torch.empty((), device="sample"), torch.empty((), device="sample")
    ops.minmax.out(on(x), out0=low, out1=high)
    same(low, x.min())
    same(high, x.max())


def gradients() -> None:
    def leaf(tensor: torch.Tensor) -> torch.Tensor:
        return on(tensor).requires_grad_()

    dx, dy = leaf(x), leaf(y)
    ops.scaled_add(dx, dy, alpha=3.0).sum().backward()
    same(dx.grad, torch.ones_like(x))
    same(dy.grad, torch.full_like(y, 3.0))
    dx, dw = leaf(x), leaf(y)
    power, count = ops.power_pair(dx, dw, 3)
    assert not count.requires_grad
    power.sum().backward()
    same(dx.grad, 3 * x**2 * y)
    same(dw.grad, x**3)
    dx = leaf(x)
    ops.softplus_of(dx).sum().backward()
    same(dx.grad, x.sigmoid())


def gradients_of_gradients() -> None:
    dx = on(x).requires_grad_()
    power, _ = ops.power_pair(dx, None, 3)
    (first,) = torch.autograd.grad(power.sum(), dx, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), dx)
    same(first, 3 * x**2)
    same(second, 6 * x)


def the_python_module_has_the_operators() -> None:
    assert sample_ops.scaled_add is ops.scaled_add
    assert sample_ops.clip_.__doc__ == str(torch._C._get_schema("sample::clip_", ""))


def what_has_no_kernel_runs_on_the_cpu() -> None:
    same(torch.sin(on(x)), x.sin())
    same(on(x) @ on(y).t(), x @ y.t())


def devices_are_not_mixed() -> None:
    with pytest.raises(RuntimeError, match="same device"):
        ops.scaled_add(on(x), y)


CHECKS = (
    memory_and_views,
    variants_of_one_kernel,
    own_operators,
    views_share_memory,
    generated_out_variants,
    gradients,
    gradients_of_gradients,
    the_python_module_has_the_operators,
    what_has_no_kernel_runs_on_the_cpu,
    devices_are_not_mixed,
)

if __name__ == "__main__":
    for check in CHECKS:
        check()
        print(check.__name__)
