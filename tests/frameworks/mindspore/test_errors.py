"""What a wrong call and a failing kernel say in MindSpore; the process goes on."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from opbridge.base.errors import CallError, OpbridgeError, UnsupportedError
from opbridge.waist.op import OpLibrary

ms = pytest.importorskip("mindspore")

Run = Callable[..., Any]
X, Y = ms.ops.ones((2, 3)), ms.ops.ones((2, 3))

WRONG: dict[str, tuple[Callable[[OpLibrary], Any], str]] = {
    "an argument is missing": (lambda lib: lib.product(X), "argument 'y' is missing"),
    "one argument too many": (lambda lib: lib.product(X, Y, X), "2 arguments go by position, got 3"),
    "a keyword by position": (lambda lib: lib.scaled_add(X, Y, 2.0), "write alpha=... for 'alpha'"),
    "an unknown keyword": (lambda lib: lib.scaled_add(X, Y, alpah=2.0), "no argument 'alpah', did you mean 'alpha'"),
    "an argument twice": (lambda lib: lib.scaled_add(X, Y, y=Y), "'y' was passed twice"),
    "None for a tensor": (lambda lib: lib.product(X, None), "'y' expects a mindspore.Tensor, got None"),
    "text for a number": (lambda lib: lib.scaled_add(X, Y, alpha="two"), "'alpha' expects float, got str 'two'"),
    "a fraction for an int": (lambda lib: lib.windows(X, 1.5), "'size' expects int, got float 1.5"),
    "a number for a tensor": (lambda lib: lib.product(X, 2), "'y' expects a mindspore.Tensor, got int"),
    "a tensor for a number": (lambda lib: lib.scaled_add(X, Y, alpha=X), "'alpha' expects float, got mindspore"),
    "a list for a tensor": (lambda lib: lib.product(X, [Y]), "'y' expects a mindspore.Tensor, got a list"),
    "a tensor for a list": (lambda lib: lib.pile(X), r"'xs' expects a list of mindspore.Tensor.* write \[xs\]"),
    "None in a list": (lambda lib: lib.pile([X, None]), r"'xs\[1\]' expects a mindspore.Tensor, got None"),
    "an array among tensors": (
        lambda lib: lib.product(X, np.ones((2, 3))),
        r"'y' expects a mindspore.Tensor, got numpy.ndarray; all tensors of a call come from one framework",
    ),
    "a stranger among tensors": (lambda lib: lib.product(X, torch.ones(2, 3)), "'y' .* got torch.Tensor"),
    "a dtype that is none": (lambda lib: lib.attributes(X, type="flaot32"), "'type' expects ScalarType"),
    "a dtype without kernel": (lambda lib: lib.product(X.int(), Y.int()), "int32"),
    "two dtypes": (lambda lib: lib.product(X, Y.double()), "float64"),
    "shapes that do not pair": (
        lambda lib: lib.product(X, ms.ops.ones(3)),
        r"'y' has shape \[3\], expected \[2, 3\] as 'x' has",
    ),
    "shapes that do not broadcast": (lambda lib: lib.broadcast_add(X, ms.ops.ones(4)), r"\[2, 3\] and \[4\]"),
    "a negative size": (lambda lib: lib.windows(X, 9), "no size can be negative"),
}


@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG.keys())
def test_wrong_calls(lib: OpLibrary, wrong: tuple[Callable[[OpLibrary], Any], str]) -> None:
    call, message = wrong
    with pytest.raises(CallError, match=rf"(?s)^obtest::.*{message}"):
        call(lib)


def missing(lib: OpLibrary) -> Any:
    cell = lib.product.mindspore

    def network(x):  # type: ignore[no-untyped-def]
        return cell(x)

    return network, "argument 'y' is missing"


def unknown(lib: OpLibrary) -> Any:
    cell = lib.scaled_add.mindspore

    def network(x):  # type: ignore[no-untyped-def]
        return cell(x, x, alpah=2.0)

    return network, "did you mean 'alpha'"


def not_a_number(lib: OpLibrary) -> Any:
    cell = lib.scaled_add.mindspore

    def network(x):  # type: ignore[no-untyped-def]
        return cell(x, x, alpha="two")

    return network, "'alpha' expects float, got str"


def not_a_tensor(lib: OpLibrary) -> Any:
    cell = lib.product.mindspore

    def network(x):  # type: ignore[no-untyped-def]
        return cell(x, 2)

    return network, "'y' expects a mindspore.Tensor"


def none(lib: OpLibrary) -> Any:
    cell = lib.product.mindspore

    def network(x):  # type: ignore[no-untyped-def]
        return cell(x, None)

    return network, "'y' expects a mindspore.Tensor, got None"


def other_shape(lib: OpLibrary) -> Any:
    cell = lib.product.mindspore

    def network(x):  # type: ignore[no-untyped-def]
        return cell(x, x[0])

    return network, r"'y' has shape \[3\], expected \[2, 3\]"


def other_dtype(lib: OpLibrary) -> Any:
    cell = lib.product.mindspore

    def network(x):  # type: ignore[no-untyped-def]
        return cell(x, x.astype(ms.int32))

    return network, "int32"


def sum_of_a_graph(lib: OpLibrary) -> Any:
    cell = lib.scaled_add.mindspore

    def network(x):  # type: ignore[no-untyped-def]
        return cell(x, x, alpha=x.sum())

    return network, "'alpha' expects a constant, got a value that only the running graph knows"


@pytest.mark.parametrize(
    "wrong",
    [missing, unknown, not_a_number, not_a_tensor, none, other_dtype, sum_of_a_graph],
    ids=lambda wrong: wrong.__name__,
)
def test_wrong_calls_in_a_graph(lib: OpLibrary, wrong: Callable[[OpLibrary], Any]) -> None:
    network, message = wrong(lib)
    with pytest.raises(CallError, match=rf"(?s)^obtest::.*{message}"):
        ms.jit(network)(X)


def test_an_export_for_another_process_is_refused(lib: OpLibrary, tmp_path: Path) -> None:
    class Network(ms.nn.Cell):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.square = lib.square.mindspore

        def construct(self, x):  # type: ignore[no-untyped-def]
            return self.square(x)

    with pytest.raises(UnsupportedError, match=r"obtest::square: a MINDIR cannot contain .*--native-only"):
        ms.export(Network(), X, file_name=str(tmp_path / "net"), file_format="MINDIR")
    assert not (tmp_path / "net.mindir").exists()


def test_shapes_that_do_not_pair_in_a_graph(lib: OpLibrary) -> None:
    network, message = other_shape(lib)
    with pytest.raises(RuntimeError, match=f"obtest::product: .*{message}"):
        ms.jit(network)(X)


FAILING = {
    "throws": "obtest::throws: the tank is empty",
    "throws_number": "obtest::throws_number: ",
    "returns_seven": "obtest::returns_seven: .*7",
    "checks": r"obtest::checks: too small, \[2, 3\]",
    "throws_on_pool": "obtest::throws_on_pool: the last piece failed",
    "bare_returns_seven": r"obtest::bare_returns_seven: kernel bare_returns_seven returned 7 \(0 means success\)",
    "bare_throws": "obtest::bare_throws: kernel bare_throws threw: straight through",
}


@pytest.mark.cases(3)
@pytest.mark.parametrize("name", FAILING)
def test_failing_kernels(lib: OpLibrary, run: Run, name: str) -> None:
    cell = lib[name].mindspore

    def network(x):  # type: ignore[no-untyped-def]
        return cell(x)

    # MindSpore runs kernels on threads of its own, and reports when somebody waits for them.
    with pytest.raises(RuntimeError, match=rf"(?s){FAILING[name]}"):
        run(network, X).asnumpy()
    np.testing.assert_array_equal(lib.identity(X).asnumpy(), X.asnumpy())


def test_no_kernel_for_the_device() -> None:
    import opbridge as ob

    op = ob.inline("// built by another machine", schema="ms_cuda::f(Tensor x) -> Tensor", out="x", device="cuda")
    with pytest.raises(OpbridgeError, match="ms_cuda::f has no kernel for cpu"):
        op(X)


def test_mixed_precision_has_to_be_told(lib: OpLibrary) -> None:
    class Network(ms.nn.Cell):  # type: ignore[misc,name-defined]
        def construct(self, x: Any) -> Any:
            return lib.scaled_add(x, x)

    with pytest.raises(RuntimeError, match=r"obtest::scaled_add: .*float16.*float32; mixed precision has to know"):
        Network().to_float(ms.float16)(X).asnumpy()


@pytest.mark.parametrize("device", ["GPU", "Ascend"])
def test_other_device_targets_are_refused(lib: OpLibrary, monkeypatch: pytest.MonkeyPatch, device: str) -> None:
    # A device that is not here.
    monkeypatch.setattr(ms, "get_context", {"device_target": device}.get)
    with pytest.raises(UnsupportedError, match=f"CPU backend, the device target is {device}"):
        lib.scaled_add(X, Y, alpha=123.0)
