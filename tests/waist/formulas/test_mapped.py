"""Formulas under `torch.vmap` and `jax.vmap`, over samples of every rank: what PyTorch gives, sample by sample.

A sample may have fewer dimensions than a formula reduces.  A batch must not take their place.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np
import pytest
import torch
from tests.helpers.formula_edges import has_y
from tests.helpers.formula_library import formula_library, torch_value
from torch import Tensor

from opbridge.waist.formulas.functions import REDUCING
from opbridge.waist.op import OpLibrary

FEW: Mapping[str, str] = {
    "total": "sum(x)",
    "row_sum": "sum(x, -1)",
    "two_axes": "sum(x, [-2, -1])",
    "softmax": "softmax(x, -1)",
    "scan": "cumsum(x, -1)",
    "place": "argmax(x, -1)",
    "weighted": "mean(x * y, -1)",
    "product": "x * sin(y)",
}
MANY: Mapping[str, str] = {
    **{f"{name}_of_rows": f"{name}({'x > 0' if name in ('any', 'all') else 'x'}, -1)" for name in REDUCING},
    **{f"{name}_of_all": f"{name}(x)" for name in ("mean", "max", "min", "logsumexp", "var", "std")},
    **{f"{name}_of_all": f"{name}(x > 0)" for name in ("any", "all")},
    "log_softmax": "log_softmax(x, -1)",
    "softmax_of_columns": "softmax(x, 0)",
    "softmax_of_both": "softmax(x * y, -1)",
    "kept": "x - max(x, -1, keepdim=True)",
    "planes": "mean(x, [-2, -1])",
    "columns": "max(x, -2)",
    "kept_planes": "x * y - mean(x * y, [-2, -1], keepdim=True)",
    "corrected": "var(x, -1, correction=1)",
    "scan_of_both": "cumsum(x + y, -1)",
    "norm": "x / sqrt(mean(square(x), -1, keepdim=True) + 0.1) * y",
    "sine": "sin(x)",
    "chosen": "where(x > y, x, y * y)",
}
SAMPLES = ((), (4,), (1,), (2, 4), (2, 3, 4))
BATCH = 4  # the size of the last axis too, so that the one in the place of the other has a size that fits

pytestmark = pytest.mark.filterwarnings("ignore:(var|std)..:UserWarning")


def _library(namespace: str, texts: Mapping[str, str]) -> OpLibrary:
    schemas = {
        f"{namespace}::{name}(Tensor x{', Tensor y' * has_y(text)}) -> Tensor": text for name, text in texts.items()
    }
    return formula_library(schemas)


@pytest.fixture(scope="module")
def few() -> OpLibrary:
    return _library("mapped", FEW)


@pytest.fixture(scope="module")
def many() -> OpLibrary:
    return _library("mapped_widely", MANY)


def _draw(shape: tuple[int, ...], seed: int) -> Tensor:
    return torch.randn(shape, dtype=torch.double, generator=torch.Generator().manual_seed(seed))


def _batches(text: str) -> Iterator[tuple[tuple[Tensor, ...], tuple[int | None, ...]]]:
    """Yield tensors of samples of all ranks, and the batch dimension of each."""
    for x, y in itertools.product(SAMPLES, SAMPLES if has_y(text) else ((),)):
        ranks = (x, y)[: 1 + has_y(text)]
        for dims in itertools.product((0, -1, None), repeat=len(ranks)):
            if any(dim is not None for dim in dims):
                yield tuple(_batched(*pair, seed) for seed, pair in enumerate(zip(ranks, dims, strict=True))), dims


def _batched(shape: tuple[int, ...], dim: int | None, seed: int) -> Tensor:
    return _draw({0: (BATCH, *shape), -1: (*shape, BATCH), None: shape}[dim], seed)


def _sample(tensors: tuple[Tensor, ...], dims: tuple[int | None, ...], place: int) -> list[Tensor]:
    return [tensor if dim is None else tensor.select(dim, place) for tensor, dim in zip(tensors, dims, strict=True)]


def _value(text: str, *tensors: Tensor) -> Tensor:
    value: Tensor = torch_value(text, dict(zip("xy", tensors, strict=False)))
    return value


def _expected(
    function: Callable[..., Tensor], tensors: tuple[Tensor, ...], dims: tuple[int | None, ...]
) -> Tensor | None:
    """Return what PyTorch gives sample by sample; None if it refuses the samples."""
    try:
        return torch.stack([function(*_sample(tensors, dims, place)) for place in range(BATCH)])
    except (IndexError, RuntimeError):
        return None


def _hold(lib: OpLibrary, name: str, text: str) -> int:
    compared = 0
    for tensors, dims in _batches(text):
        expected = _expected(partial(_value, text), tensors, dims)
        if expected is None:
            continue
        found = torch.vmap(lib[name].torch, dims)(*tensors)
        torch.testing.assert_close(
            found, expected, equal_nan=True, check_dtype=False, msg=partial("{} {}: {}".format, text, dims)
        )
        compared += 1
    return compared


@pytest.mark.parametrize("name", FEW)
def test_samples_of_every_rank(few: OpLibrary, name: str) -> None:
    assert _hold(few, name, FEW[name]) >= 4


@pytest.mark.matrix("test_samples_of_every_rank has eight formulas of these kinds")
@pytest.mark.parametrize("name", MANY)
def test_samples_of_every_rank_widely(many: OpLibrary, name: str) -> None:
    assert _hold(many, name, MANY[name]) >= 4


def _hold_gradients(lib: OpLibrary, name: str, text: str) -> None:
    """Compare `vmap(grad)`, `jacrev` and a vmap in a vmap."""

    def ours(*tensors: Tensor) -> Tensor:
        return lib[name](*tensors).square().sum()

    def theirs(*tensors: Tensor) -> Tensor:
        return _value(text, *tensors).square().sum()

    for shape in SAMPLES[:4]:
        tensors = tuple(_draw((BATCH, *shape), seed) for seed in range(1 + has_y(text)))
        expected = _expected(torch.func.grad(theirs), tensors, (0,) * len(tensors))
        if expected is None:
            continue
        torch.testing.assert_close(torch.vmap(torch.func.grad(ours))(*tensors), expected, equal_nan=True)
        torch.testing.assert_close(
            torch.func.jacrev(torch.vmap(lib[name].torch))(*tensors),
            torch.func.jacrev(torch.vmap(partial(_value, text)))(*tensors),
            equal_nan=True,
        )
        twice = tuple(torch.stack([tensor, 2 * tensor]) for tensor in tensors)
        found = torch.vmap(torch.vmap(lib[name].torch))(*twice)
        each = [
            torch.stack([_value(text, *_sample(half, (0,) * len(half), place)) for place in range(BATCH)])
            for half in zip(*twice, strict=True)
        ]
        torch.testing.assert_close(found, torch.stack(each), equal_nan=True)


@pytest.mark.parametrize("name", [name for name in FEW if name != "place"])
def test_gradients_of_samples(few: OpLibrary, name: str) -> None:
    _hold_gradients(few, name, FEW[name])


@pytest.mark.matrix("test_gradients_of_samples has seven formulas of these kinds")
@pytest.mark.parametrize("name", [name for name, text in MANY.items() if text[:3] not in ("any", "all", "arg")])
def test_gradients_of_samples_widely(many: OpLibrary, name: str) -> None:
    _hold_gradients(many, name, MANY[name])


def _hold_in_jax(lib: OpLibrary, name: str, text: str) -> None:
    jax = pytest.importorskip("jax")
    with jax.experimental.enable_x64():
        for tensors, dims in _batches(text):
            expected = _expected(partial(_value, text), tensors, dims)
            if expected is not None:
                axes = [dim if dim is None else dim % tensor.ndim for tensor, dim in zip(tensors, dims, strict=True)]
                found: Any = jax.vmap(lib[name].jax, axes)(*(tensor.numpy() for tensor in tensors))
                np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-9, err_msg=f"{text} {dims}")


@pytest.mark.parametrize("name", ["row_sum", "softmax", "two_axes"])
def test_samples_of_every_rank_in_jax(few: OpLibrary, name: str) -> None:
    _hold_in_jax(few, name, FEW[name])


@pytest.mark.matrix("test_samples_of_every_rank_in_jax has three formulas of these kinds")
@pytest.mark.parametrize("name", ["weighted", "scan", "place", "total", "product"])
def test_samples_of_every_rank_in_jax_widely(few: OpLibrary, name: str) -> None:
    _hold_in_jax(few, name, FEW[name])
