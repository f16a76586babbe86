"""What a wrong call, a failing kernel and a kernel that does not compile say."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import opbridge as ob
from opbridge.base.errors import BuildError, CallError, KernelError, OpbridgeError, UnsupportedError
from opbridge.waist.op import OpLibrary

X, Y = torch.ones(2, 3), torch.ones(2, 3)


def shrunk(size: int, transposed: bool = False) -> torch.Tensor:
    """A tensor of 24 bytes in a storage of fewer, as FSDP leaves them."""
    tensor = torch.ones(3, 2).T if transposed else torch.ones(2, 3)
    tensor.untyped_storage().resize_(size)
    return tensor


WRONG: dict[str, tuple[Callable[[OpLibrary], Any], type[OpbridgeError], str]] = {
    "an argument is missing": (lambda lib: lib.product(X), CallError, "missing value for argument 'y'"),
    "one argument too many": (lambda lib: lib.product(X, Y, X), CallError, "2 argument.* 3"),
    "a keyword by position": (lambda lib: lib.scaled_add(X, Y, 2.0), CallError, "takes 2 positional"),
    "an unknown keyword": (lambda lib: lib.scaled_add(X, Y, beta=2.0), CallError, "'beta'"),
    "an argument twice": (lambda lib: lib.scaled_add(X, Y, y=Y), CallError, "'y'|y"),
    "None for a tensor": (lambda lib: lib.product(X, None), OpbridgeError, "None"),
    "text for a number": (lambda lib: lib.scaled_add(X, Y, alpha="two"), CallError, "'alpha': expected float, got str"),
    "a number for a tensor": (lambda lib: lib.product(X, "y"), CallError, "'y': expected Tensor, got str"),
    "an array among tensors": (
        lambda lib: lib.product(X, np.ones((2, 3))),
        CallError,
        r"(?s)'y'.*ndarray.*one framework",
    ),
    "three of int[2]": (
        lambda lib: lib.attributes(X, pair=[1, 2, 3]),
        CallError,
        "'pair' has 2 values in the schema, got 3",
    ),
    "a dtype without kernel": (
        lambda lib: lib.product(X.int(), Y.int()),
        KernelError,
        "no int32 kernel among float32",
    ),
    "two dtypes": (
        lambda lib: lib.product(X, Y.double()),
        KernelError,
        "float64 but .* float32|float32 but .* float64",
    ),
    "a sparse tensor": (
        lambda lib: lib.product(X, Y.to_sparse()),
        UnsupportedError,
        r"'y' is a Sparse.*\.to_dense\(\)",
    ),
    "a compressed tensor": (lambda lib: lib.identity(X.to_sparse_csr()), UnsupportedError, r"\.to_dense\(\)"),
    "shapes that do not broadcast": (
        lambda lib: lib.broadcast_add(X, torch.ones(4)),
        CallError,
        r"obtest::broadcast_add: .*\[2, 3\].*\[4\]|3.*4",
    ),
    "shapes that do not pair": (
        lambda lib: lib.product(X, torch.ones(3)),
        OpbridgeError,
        r"'y' has shape \[3\], expected \[2, 3\] as 'x' has",
    ),
    "a negative size": (lambda lib: lib.windows(X, 9), CallError, "obtest::windows: .*negative|-5"),
    "a missing dimension": (lambda lib: lib.matrix_product(X, torch.ones(3)), CallError, "obtest::matrix_product"),
    "a list for a tensor": (lambda lib: lib.product([X], Y), CallError, "'x': expected Tensor, got"),
    "a tensor for a list": (lambda lib: lib.pile(X), OpbridgeError, "xs|list"),
    "weights that do not match": (
        lambda lib: lib.weighted_sum([X], [1.0, 2.0]),
        KernelError,
        "1 tensors and 2 weights",
    ),
    "a tensor without memory beside one with it": (
        lambda lib: lib.product(X.to("meta"), Y),
        CallError,
        r"'y' is on cpu, the others are on meta; move it there with \.to",
    ),
    "one with memory before one without": (lambda lib: lib.product(X, Y.to("meta")), CallError, "'x' is on cpu"),
    "a storage that was freed": (lambda lib: lib.product(X, shrunk(0)), CallError, "'y' of shape .* only 0 bytes"),
    "a storage that is too small": (lambda lib: lib.product(shrunk(20), Y), CallError, "'x' of shape .* only 20 bytes"),
    "a view beyond its storage": (
        lambda lib: lib.identity(shrunk(20, transposed=True)),
        CallError,
        r"'x' of shape \[2, 3\] lies in a storage of only 20 bytes",
    ),
    "no tensors": (lambda lib: lib.product(1, 2), CallError, "expected tensors of one framework .* got int, int"),
}


@pytest.mark.filterwarnings("ignore:Sparse CSR tensor support is in beta")
@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG.keys())
def test_wrong_calls(lib: OpLibrary, wrong: tuple[Callable[[OpLibrary], Any], type[OpbridgeError], str]) -> None:
    call, error, message = wrong
    with pytest.raises(error, match=message) as caught:
        call(lib)
    text = str(caught.value)
    assert "obtest::" in text
    assert len(text) < 1000


FAILING = {
    "throws": "the tank is empty",
    "throws_number": "no std::exception|not a std::exception",
    "garbles": "no \N{REPLACEMENT CHARACTER} text",
    "returns_seven": "returned 7",
    "checks": r"too small, \[3\] \(.*failing\.cpp:\d+: x\.numel\(\) > 1000\)",
    "throws_on_pool": "the last piece failed",
    "bare_returns_seven": "kernel bare_returns_seven returned 7",
    "bare_throws": "kernel bare_throws threw: straight through$",
}


@pytest.mark.parametrize("spelling", ["op", "torch"])
@pytest.mark.parametrize(("name", "message"), FAILING.items())
def test_failing_kernels(lib: OpLibrary, name: str, message: str, spelling: str) -> None:
    op = lib[name] if spelling == "op" else lib[name].torch
    for _ in range(3):
        with pytest.raises(KernelError, match=rf"obtest::{name}: .*({message})"):
            op(torch.ones(3))
    assert lib.identity(torch.ones(1)).item() == 1.0


def test_a_kernel_that_fails_keeps_no_tensor(lib: OpLibrary) -> None:
    import gc
    import weakref

    x = torch.ones(3)
    alive = weakref.ref(x)
    with pytest.raises(KernelError):
        lib.throws(x)
    del x
    gc.collect()
    assert alive() is None


def test_a_device_without_kernel(kernels: Path) -> None:
    op = ob.load(
        kernels / "elementwise.cpp:square", schema="oberror::square(Tensor x) -> Tensor", out="x", device="cuda"
    )
    with pytest.raises(KernelError, match=r"oberror::square has no kernel for cpu; it has cuda: "):
        op(torch.ones(2))


def test_source_that_does_not_compile() -> None:
    with pytest.raises(BuildError, match=r"broken\.cpp:2:\d+: error: "):
        ob.inline("\nnonsense;\n", schema="oberror::broken(Tensor x) -> Tensor", out="x")


def test_a_kernel_that_does_not_fit_its_schema(kernels: Path) -> None:
    op = ob.load(kernels / "elementwise.cpp:product", schema="oberror::one(Tensor x) -> Tensor", out="x")
    with pytest.raises(
        KernelError, match=r"(?s)elementwise\.cpp:\d+: kernel product does not fit oberror::one.*parameter 2"
    ):
        op(torch.ones(2))


def test_views_end_where_their_storage_ends(lib: OpLibrary) -> None:
    whole = torch.arange(6.0)
    for view in (whole[4:], whole[5:6], whole[1::2], whole.reshape(2, 3)[:, 1:].T, whole[6:], whole[:1].expand(3)):
        assert torch.equal(lib.identity(view), view)


def test_a_single_number_goes_beside_a_tensor_without_memory(lib: OpLibrary) -> None:
    assert lib.broadcast_add(X.to("meta"), torch.tensor(1.0)).is_meta
