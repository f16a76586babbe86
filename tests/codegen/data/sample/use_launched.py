"""The operators of the sample backend whose kernels are generated from `gen_opapi`."""

from __future__ import annotations

import pytest
import torch
from use import on, ops, same, x, y


def new_outputs() -> None:
    same(ops.soft_shift(on(x)), x + 0.5)
    same(ops.soft_shift(on(x), by=2.0, flip=True), 2 - x)
    same(torch.sigmoid(on(x)), x.sigmoid())
    assert ops.soft_shift(on(torch.arange(3))).dtype == torch.float32


def outputs_of_the_caller() -> None:
    out = torch.empty(0, device="sample")
    assert ops.soft_shift.out(on(x), out=out) is out
    same(out, x + 0.5)
    with pytest.raises(RuntimeError, match=r"soft_shift.out expected out of type Float, got Long"):
        ops.soft_shift.out(on(x), out=on(torch.zeros(1, dtype=torch.long)))


def tensors_that_are_written_to() -> None:
    same(ops.soft_shift_(on(x)), x + 0.5)
    left, right = on(x), on(y)
    assert ops.swap_signs(left, right, [False, True]) is None
    same(left, x)
    same(right, -y)


def what_is_inherited() -> None:
    silu = torch.nn.functional.silu
    same(silu(on(x)), silu(x))
    same(silu(on(x), inplace=True), silu(x))


def functions_in_sizes() -> None:
    row = torch.tensor([1.0, 0.0, 1.0])
    same(torch.logical_and(on(x), on(row)), torch.logical_and(x, row))
    same(on(x).logical_and_(on(row)), x.clone().logical_and_(row))
    with pytest.raises(RuntimeError, match="the result does not have the shape of self"):
        on(row).logical_and_(on(x))


def several_outputs() -> None:
    shifted, mean = ops.row_affine(on(x), on(torch.ones(3)), gain=2.0)
    same(shifted, 2 * x)
    same(mean, x.mean(1))
    same(ops.row_affine(on(x), on(torch.ones(3)), on(torch.arange(3.0)))[0], x + torch.arange(3))
    for half, expected in zip(ops.halves(on(x), 1), x.split(1), strict=True):
        same(half, expected)


def lists() -> None:
    same(ops.weighted_sum([on(x), on(y)], [1.0, 2.0], 3), 3 * (x + 2 * y))
    same(ops.gather_rows(on(x), [1, 1, 0]), x[[1, 1, 0]])
    same(ops.gather_rows(on(x), [1], dtype=torch.float64), x[[1]].double())


def what_the_library_says() -> None:
    with pytest.raises(RuntimeError, match="sampleWeightedSum failed with 7"):
        ops.weighted_sum([on(x)], [1.0, 2.0])


def numeric_gradients() -> None:
    values, gamma = (on(tensor).double().requires_grad_() for tensor in (x, torch.arange(1.0, 4.0)))
    assert torch.autograd.gradcheck(lambda v: ops.soft_shift(v, flip=True), values)
    assert torch.autograd.gradcheck(lambda v, g: ops.row_affine(v, g, gain=3.0)[0], (values, gamma))
    assert torch.autograd.gradcheck(torch.nn.functional.silu, values)


def what_torch_compile_asks() -> None:
    # PyTorch cannot look at the fourth, test_autograd_registration, for devices like this one.
    tests = ("test_schema", "test_faketensor", "test_aot_dispatch_dynamic")
    leaf = on(x).requires_grad_()
    for operator, arguments in (
        (ops.soft_shift.default, (leaf,)),
        (ops.row_affine.default, (leaf, on(torch.ones(3)))),
        (ops.halves.default, (on(x), 1)),
        (ops.weighted_sum.default, ([on(x), on(y)], [1.0, 2.0])),
        (ops.gather_rows.default, (on(x), [0, 1])),
        (ops.soft_shift_.default, (on(x),)),
        (ops.swap_signs.default, (on(x), on(y), [True, False])),
    ):
        torch.library.opcheck(operator, arguments, test_utils=tests)


CHECKS = (
    new_outputs,
    outputs_of_the_caller,
    tensors_that_are_written_to,
    what_is_inherited,
    functions_in_sizes,
    several_outputs,
    lists,
    what_the_library_says,
    numeric_gradients,
    what_torch_compile_asks,
)

if __name__ == "__main__":
    for check in CHECKS:
        check()
        print(check.__name__)
