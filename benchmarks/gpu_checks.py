"""Compare kernels on a GPU with PyTorch, also in its streams and graphs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from opbridge.waist.op import OpLibrary

_DTYPES = (torch.float32, torch.float64, torch.float16, torch.bfloat16)
_LENGTHS = (0, 1, 3, 31, 255, 256, 257, 1023, 4097, 65_537, 1_000_003)
_MATRICES = ((0, 5), (3, 0), (1, 1), (1, 300), (257, 3), (33, 256), (64, 1000), (5, 4096), (2, 65_537))
_SLEEP_CYCLES = 200_000_000


@dataclass(frozen=True)
class Check:
    name: str
    passes: Callable[[], None]
    """Raises where it does not."""


def run(library: OpLibrary, device: str, quick: bool, streams: bool) -> list[str]:
    """Run the checks, and return the names of those that fail."""
    checks = [*_against_torch(library, device, quick), *(_on_streams(library) if streams else ())]
    failures = []
    for check in checks:
        try:
            check.passes()
        except Exception as error:
            failures.append(check.name)
            print(f"FAILED {check.name}: {error}")
    print(f"{len(checks) - len(failures)} of {len(checks)} checks against PyTorch on {device}")
    return failures


def _against_torch(library: OpLibrary, device: str, quick: bool) -> Iterator[Check]:
    lengths, matrices = (_LENGTHS[:8], _MATRICES[:6]) if quick else (_LENGTHS, _MATRICES)
    for dtype in _DTYPES:
        for length in lengths:
            yield Check(f"saxpy {dtype} {length}", _saxpy(library.saxpy, dtype, length, device))
            yield Check(f"scaled_add {dtype} {length}", _saxpy(library.scaled_add, dtype, length, device))
        yield Check(f"saxpy {dtype} at an odd address", _saxpy(library.saxpy, dtype, 1000, device, offset=1))
        for shape in matrices:
            yield Check(f"row_sum {dtype} {shape}", _rows(library.row_sum, lambda x: x.sum(1), dtype, shape, device))
            of_rows = _rows(library.softmax, lambda x: x.softmax(1), dtype, shape, device)
            yield Check(f"softmax {dtype} {shape}", of_rows)
        turned = _rows(library.softmax, lambda x: x.softmax(1), dtype, (40, 30), device, turned=True)
        yield Check(f"softmax {dtype} of a transposed matrix", turned)
    for length in lengths:
        yield Check(f"bare_add {length}", _bare_add(library, length, device))
    yield Check("gradients of saxpy", _gradients(library, device))


def _saxpy(
    op: Callable[..., torch.Tensor], dtype: torch.dtype, length: int, device: str, offset: int = 0
) -> Callable[[], None]:
    def check() -> None:
        x, y = (torch.randn(length + offset, device=device).to(dtype)[offset:] for _ in range(2))
        wide = torch.promote_types(dtype, torch.float32)
        expected = torch.add(x.to(wide), y.to(wide), alpha=1.5).to(dtype)
        torch.testing.assert_close(op(x, y, alpha=1.5), expected)

    return check


def _rows(
    op: Callable[[torch.Tensor], torch.Tensor],
    reference: Callable[[torch.Tensor], torch.Tensor],
    dtype: torch.dtype,
    shape: tuple[int, int],
    device: str,
    turned: bool = False,
) -> Callable[[], None]:
    def check() -> None:
        # Of one sign, so that a sum keeps its digits.
        x = torch.rand(shape, device=device).to(dtype)
        x = x.t() if turned else x
        torch.testing.assert_close(op(x), reference(x.double()).to(dtype))

    return check


def _bare_add(library: OpLibrary, length: int, device: str) -> Callable[[], None]:
    def check() -> None:
        x, y = torch.randn(length, device=device), torch.randn(length, device=device)
        torch.testing.assert_close(library.bare_add(x, y), x + y)

    return check


def _gradients(library: OpLibrary, device: str) -> Callable[[], None]:
    def check() -> None:
        x, y = (torch.randn(3, 4, device=device, dtype=torch.float64, requires_grad=True) for _ in range(2))
        torch.autograd.gradcheck(lambda x, y: library.saxpy(x, y, alpha=0.5), (x, y))

    return check


def _on_streams(library: OpLibrary) -> Iterator[Check]:
    yield Check("a call does not wait for the GPU", lambda: _does_not_wait(library))
    yield Check("two streams run independently", lambda: _two_streams(library))
    yield Check("a graph of calls gives what they give", lambda: _captured(library))
    if torch.cuda.device_count() > 1:
        yield Check("the second GPU", lambda: _second_gpu(library))


def _does_not_wait(library: OpLibrary) -> None:
    x = torch.randn(1000, device="cuda")
    expected = library.saxpy(x, x)
    torch.cuda.synchronize()
    torch.cuda._sleep(_SLEEP_CYCLES)
    out = library.saxpy(x, x)
    assert not torch.cuda.current_stream().query(), "the call waited for the work before it"
    torch.testing.assert_close(out, expected)


def _two_streams(library: OpLibrary) -> None:
    x = torch.randn(1 << 20, device="cuda")
    expected = 2 * x
    busy, free = torch.cuda.Stream(), torch.cuda.Stream()
    torch.cuda.synchronize()
    with torch.cuda.stream(busy):
        torch.cuda._sleep(_SLEEP_CYCLES)
        first = library.scaled_add(x, x)
    with torch.cuda.stream(free):
        second = library.scaled_add(x, x)
        free.synchronize()
    assert not busy.query(), "the kernel ran on another stream than PyTorch's current one, or waited for one"
    torch.testing.assert_close(second, expected)
    busy.synchronize()
    torch.testing.assert_close(first, expected)


def _captured(library: OpLibrary) -> None:
    x = torch.rand(64, 1000, device="cuda")
    # CUDA loads a kernel when it first runs, which a capture forbids.
    library.softmax(library.saxpy(x, x))
    library.row_sum(x)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        doubled = library.saxpy(x, x)
        shares, sums = library.softmax(doubled), library.row_sum(doubled)
    for _ in range(3):
        x.uniform_()
        graph.replay()
        torch.testing.assert_close(shares, (2 * x).softmax(1))
        torch.testing.assert_close(sums, (2 * x).sum(1))


def _second_gpu(library: OpLibrary) -> None:
    x = torch.randn(1000, device="cuda:1")
    out = library.saxpy(x, x)
    assert out.device == x.device, f"the result is on {out.device}"
    torch.testing.assert_close(out, 2 * x)
