"""Autocast, inference, profiling, modes, tensor subclasses, and threads."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from opbridge.waist.op import OpLibrary


def test_autocast_promotes_mixed_dtypes(lib: OpLibrary) -> None:
    x, y = torch.randn(3, requires_grad=True), torch.randn(3, dtype=torch.bfloat16, requires_grad=True)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        result = lib.product(x, y)
        assert lib.identity(y).dtype is torch.bfloat16
    assert result.dtype is torch.float32
    torch.testing.assert_close(result, x * y)
    result.sum().backward()
    assert (x.grad.dtype, y.grad.dtype) == (torch.float32, torch.bfloat16)  # type: ignore[union-attr]
    torch.testing.assert_close(x.grad, y.float())


def test_autocast_leaves_other_dtypes_alone(lib: OpLibrary) -> None:
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert lib.identity(torch.arange(3)).dtype is torch.int64
        assert lib.identity(torch.zeros(3, dtype=torch.float64)).dtype is torch.float64
        assert lib.scaled_add(torch.zeros(3, dtype=torch.float16), torch.zeros(3)).dtype is torch.float32


def test_a_network_under_autocast(lib: OpLibrary) -> None:
    layer = torch.nn.Linear(4, 4)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        hidden = layer(torch.randn(2, 4))
        result = lib.scale_columns(hidden, layer.bias)
    assert (hidden.dtype, result.dtype) == (torch.bfloat16, torch.float32)
    result.sum().backward()
    assert layer.weight.grad is not None


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
def test_without_gradients(lib: OpLibrary, mode: Any) -> None:
    x = torch.randn(3, requires_grad=True)
    with mode():
        result = lib.product(x, x)
    assert result.grad_fn is None
    assert result.is_inference() == (mode is torch.inference_mode)


def test_inference_tensors_are_inputs_too(lib: OpLibrary) -> None:
    with torch.inference_mode():
        x = torch.ones(3)
    torch.testing.assert_close(lib.product(x, x), torch.ones(3))


@pytest.mark.parametrize("mode", [torch.enable_grad, torch.no_grad, torch.inference_mode])
@pytest.mark.parametrize("requires_grad", [False, True])
def test_a_plain_call_takes_a_shorter_way_than_one_somebody_watches(
    lib: OpLibrary, mode: Any, requires_grad: bool
) -> None:
    x = torch.ones(1, requires_grad=requires_grad)
    with mode():
        plain = lib.call_depth(x)
        with torch.autograd.profiler.profile():
            watched = lib.call_depth(x)
    assert plain.item() < watched.item()


def test_no_gradient_below_autograd(lib: OpLibrary) -> None:
    x = torch.ones(1, requires_grad=True)
    with torch._C._AutoDispatchBelowAutograd():
        assert lib.product(x, x).grad_fn is None


@pytest.mark.parametrize("spelling", ["op", "torch"])
def test_the_profiler_shows_the_operator(lib: OpLibrary, spelling: str) -> None:
    op = lib.product if spelling == "op" else lib.product.torch
    x = torch.randn(3, requires_grad=True)
    with torch.profiler.profile(record_shapes=True) as profile:
        op(x, x).sum().backward()
    events = {event.name: event for event in profile.events()}
    assert events["obtest::product"].input_shapes[:2] == [[3], [3]]
    assert any("ProductBackward" in name for name in events)


class Recorder(TorchDispatchMode):
    def __init__(self) -> None:
        super().__init__()
        self.seen: list[str] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.seen.append(str(func))
        return func(*args, **(kwargs or {}))


class FunctionRecorder(TorchFunctionMode):
    def __init__(self) -> None:
        super().__init__()
        self.seen: list[str] = []

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.seen.append(str(func))
        return func(*args, **(kwargs or {}))


def test_modes_see_every_call(lib: OpLibrary) -> None:
    x = torch.randn(3)
    with Recorder() as dispatched:
        torch.testing.assert_close(lib.product(x, x), x * x)
    with FunctionRecorder() as functions:
        lib.product(x, x)
    assert "obtest.product.default" in dispatched.seen
    assert any("obtest.product" in name for name in functions.seen)


class Tagged(torch.Tensor):
    """A subclass that PyTorch's own operators preserve."""


class Scaled(torch.Tensor):
    """A wrapper that multiplies lazily."""

    @staticmethod
    def __new__(cls, inner: torch.Tensor, factor: float) -> Scaled:
        made: Scaled = torch.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype)  # type: ignore[attr-defined]
        return made

    def __init__(self, inner: torch.Tensor, factor: float) -> None:
        self.inner, self.factor = inner, factor

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        plain = [arg.inner * arg.factor if isinstance(arg, Scaled) else arg for arg in args]
        return func(*plain, **(kwargs or {}))


def test_subclasses(lib: OpLibrary) -> None:
    x = torch.ones(3)
    assert type(lib.product(x.as_subclass(Tagged), x)) is Tagged
    assert lib.product(Scaled(x, 3.0), x).tolist() == [3.0, 3.0, 3.0]
    parameter = torch.nn.Parameter(x)
    result = lib.product(parameter, parameter)
    assert type(result) is torch.Tensor
    result.sum().backward()
    torch.testing.assert_close(parameter.grad, 2 * x)


def test_calls_run_side_by_side(lib: OpLibrary) -> None:
    """Each kernel waits for the other to come in: with the interpreter locked, neither would return."""
    x = torch.ones(1)
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda _: lib.meet(x, 4).item(), range(4)))
        assert results == [1.0] * 4
        results = list(pool.map(lambda _: lib.meet.torch(x, 2).item(), range(4)))
        assert results == [1.0] * 4


def test_many_threads_one_operator(lib: OpLibrary) -> None:
    x, y = torch.randn(1000), torch.randn(1000)
    expected = x + 2 * y
    failures: list[object] = []

    def work() -> None:
        for _ in range(200):
            if not torch.equal(lib.scaled_add(x, y, alpha=2.0), expected):
                failures.append(1)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


@pytest.fixture
def thread_count() -> Iterator[None]:
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


@pytest.mark.usefixtures("thread_count")
@pytest.mark.parametrize("count", [1, 2, 3])
def test_kernels_use_pytorchs_threads(lib: OpLibrary, count: int) -> None:
    torch.set_num_threads(count)
    assert lib.threads_used(torch.ones(1), 64).item() == count


@pytest.mark.usefixtures("thread_count")
def test_loops_in_loops(lib: OpLibrary) -> None:
    torch.set_num_threads(2)
    assert lib.nested(torch.ones(1), 50).item() == 2500
