"""One C++ kernel becomes an operator of every framework here: built, checked and timed in front of the user."""

from __future__ import annotations

import argparse
import shutil
import tempfile
import time
from collections.abc import Callable, Iterable
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import Any

import opbridge as ob
from opbridge.cli.terminal import bold, green, red
from opbridge.frameworks import FRAMEWORKS, Framework, installed

_LIBRARY = Path(__file__).parent / "demo_library"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--keep", metavar="DIR", help="leave the demo's files in this folder, to play with")


def run(options: argparse.Namespace) -> int:
    if options.keep:
        folder = Path(options.keep)
        shutil.copytree(_LIBRARY, folder, dirs_exist_ok=True)
        return _show(folder)
    with tempfile.TemporaryDirectory(prefix="opbridge-demo-") as folder_name:
        folder = Path(folder_name)
        shutil.copytree(_LIBRARY, folder, dirs_exist_ok=True)
        return _show(folder)


def _show(folder: Path) -> int:
    source = folder / "swiglu.cpp"
    # A comment that no run had before: what follows is a build and not a look into the cache.
    _edit(source, f"// {time.time_ns()}")
    print(bold("Your kernel") + "  swiglu.cpp")
    print(_indented(_between(source.read_text(), "template", "OB_KERNEL")))
    print(bold("Its operator") + "  ops.yaml")
    print(_indented((folder / "ops.yaml").read_text().partition("ops:\n")[2]))

    import numpy  # noqa: F401 - the time it takes to import is not the build's

    started = time.perf_counter()
    lib = ob.load(folder / "ops.yaml")
    _warm_numpy(lib.swiglu)
    print(f"{bold('Built, loaded and called')} in {time.perf_counter() - started:.2f} s\n")

    print(bold("Frameworks"))
    failures = 0
    for framework in FRAMEWORKS.values():
        rows = _check(framework, lib.swiglu)
        failures += sum(not passed for _, passed in rows)
        print(f"  {framework.name:10}{_state(framework, rows)}")

    print(f"\n{bold('A call')} on 4 floats, beside the peers (median)")
    for name, seconds in _timings(lib.swiglu):
        print(f"  {name:46}{seconds * 1e6:7.2f} µs")

    _edit(source, f"// {time.time_ns()}")
    started = time.perf_counter()
    _warm_numpy(ob.load(folder / "ops.yaml").swiglu)
    print(f"\n{bold('Edit the kernel, run again')}: {time.perf_counter() - started:.2f} s\n")
    print("Next:  opbridge new my_op      a library of your own, with a test")
    print("       opbridge aten softplus  any operator of PyTorch's, in the other frameworks too")
    print("       opbridge doctor         what is here, and what is missing")
    print("       opbridge cache ls       what was built")
    return 1 if failures else 0


def _warm_numpy(op: Any) -> None:
    import numpy as np

    op(np.ones(4, np.float32), np.ones(4, np.float32))


def _edit(source: Path, comment: str) -> None:
    source.write_text(source.read_text() + comment + "\n")


def _between(text: str, first: str, last: str) -> str:
    end = text.index("\n", text.index(last))
    return text[text.index(first) : end]


def _indented(text: str) -> str:
    return "".join(f"  {line}\n" for line in text.rstrip().split("\n"))


def _state(framework: Framework, rows: list[tuple[str, bool]]) -> str:
    if not installed(framework):
        return f"not installed: {framework.install}"
    marks = "  ".join(green(f"✓ {name}") if passed else red(f"✗ {name}") for name, passed in rows)
    return f"{version(framework.distribution):12}{marks}"


def _check(framework: Framework, op: Any) -> list[tuple[str, bool]]:
    if not installed(framework):
        return []
    return [(name, _passes(check)) for name, check in _CHECKS[framework.name](op)]


def _passes(check: Callable[[], bool]) -> bool:
    try:
        return check()
    except Exception as error:  # whatever goes wrong here is a failed row, and said so
        print(f"  {red('failed:')} {error}")
        return False


def _numpy_checks(op: Any) -> Iterable[tuple[str, Callable[[], bool]]]:
    import numpy as np

    rng = np.random.default_rng(0)
    x, gate = rng.standard_normal((2, 3, 1000))
    expected = gate * x / (1 + np.exp(-x))
    out = np.empty_like(x)
    yield "value", lambda: np.allclose(op(x, gate), expected)
    yield "out=", lambda: op.numpy(x, gate, out=out) is out and np.allclose(out, expected)


def _torch_checks(op: Any) -> Iterable[tuple[str, Callable[[], bool]]]:
    import torch

    torch.manual_seed(0)
    x, gate = torch.randn(2, 3, 5, dtype=torch.float64).unbind()
    x.requires_grad_()
    gate.requires_grad_()

    def reference(x: Any, gate: Any) -> Any:
        return torch.nn.functional.silu(x) * gate

    def compiled() -> bool:
        function = torch.compile(lambda x, gate: op(x, gate).sin(), fullgraph=True, backend="aot_eager")
        return bool(torch.allclose(function(x, gate), reference(x, gate).sin()))

    def batched() -> bool:
        return bool(torch.allclose(torch.func.vmap(op, in_dims=(0, None))(x, gate[0]), reference(x, gate[0])))

    yield "value", lambda: torch.allclose(op(x, gate), reference(x, gate))
    yield "gradient", lambda: torch.autograd.gradcheck(op, (x, gate), check_forward_ad=True)
    yield "second order", lambda: torch.autograd.gradgradcheck(op, (x, gate))
    yield "vmap", batched
    yield "torch.compile", compiled


def _mindspore_checks(op: Any) -> Iterable[tuple[str, Callable[[], bool]]]:
    import mindspore as ms
    import numpy as np

    rng = np.random.default_rng(0)
    x, gate = (ms.Tensor(array) for array in rng.standard_normal((2, 3, 5)))
    swiglu = op.mindspore

    def reference(x: Any, gate: Any) -> Any:
        return ms.ops.silu(x) * gate

    def close(made: Any, expected: Any) -> bool:
        return all(np.allclose(*pair) for pair in zip(made, expected, strict=True))

    def gradients(function: Any) -> Any:
        return [gradient.asnumpy() for gradient in ms.grad(function, (0, 1))(x, gate)]

    def second_order(function: Any) -> Any:
        return gradients(lambda x, gate: ms.grad(function)(x, gate))

    yield "value", lambda: np.allclose(op(x, gate).asnumpy(), reference(x, gate).asnumpy())
    yield "gradient", lambda: close(gradients(swiglu), gradients(reference))
    yield "second order", lambda: close(second_order(swiglu), second_order(reference))
    yield "ms.jit", lambda: np.allclose(ms.jit(swiglu)(x, gate).asnumpy(), reference(x, gate).asnumpy())


def _jax_checks(op: Any) -> Iterable[tuple[str, Callable[[], bool]]]:
    import jax
    import numpy as np

    rng = np.random.default_rng(0)
    x, gate = (jax.numpy.asarray(array, "float32") for array in rng.standard_normal((2, 3, 5)))
    swiglu = op.jax

    def reference(x: Any, gate: Any) -> Any:
        return jax.nn.silu(x) * gate

    def same(transform: Callable[[Any], Any]) -> bool:
        made, expected = transform(swiglu)(x, gate), transform(reference)(x, gate)
        return bool(jax.numpy.allclose(made, expected, atol=1e-5))

    def gradient(function: Any) -> Any:
        return jax.grad(lambda x, gate: function(x, gate).sum())

    def second_order(function: Any) -> Any:
        return jax.grad(lambda x, gate: gradient(function)(x, gate).sum())

    yield "value", lambda: bool(jax.numpy.allclose(op(x, gate), reference(x, gate), atol=1e-5))
    yield "gradient", lambda: same(gradient)
    yield "second order", lambda: same(second_order)
    yield "vmap", lambda: same(jax.vmap)
    yield "jax.jit", lambda: same(jax.jit)


def _paddle_checks(op: Any) -> Iterable[tuple[str, Callable[[], bool]]]:
    import numpy as np
    import paddle

    x, gate = (paddle.to_tensor(array) for array in np.random.default_rng(0).standard_normal((2, 3, 5)))
    x.stop_gradient = gate.stop_gradient = False

    def reference(x: Any, gate: Any) -> Any:
        return paddle.nn.functional.silu(x) * gate

    def gradients(function: Any, **how: bool) -> list[Any]:
        return list(paddle.grad(function(x, gate).sum(), [x, gate], **how))

    def second_order(function: Any) -> list[Any]:
        return list(paddle.grad(sum(part.sum() for part in gradients(function, create_graph=True)), [x, gate]))

    def same(of: Callable[[Any], list[Any]]) -> bool:
        return all(bool(paddle.allclose(a, b)) for a, b in zip(of(op), of(reference), strict=True))

    yield "value", lambda: bool(paddle.allclose(op(x, gate), reference(x, gate)))
    yield "gradient", lambda: same(gradients)
    yield "second order", lambda: same(second_order)


_CHECKS: dict[str, Callable[[Any], Iterable[tuple[str, Callable[[], bool]]]]] = {
    "numpy": _numpy_checks,
    "torch": _torch_checks,
    "mindspore": _mindspore_checks,
    "jax": _jax_checks,
    "paddle": _paddle_checks,
}


def _timings(op: Any) -> list[tuple[str, float]]:
    """The median of short bursts, taken in turn so that a busy machine slows all alike."""
    functions: dict[str, Callable[[], object]] = {}
    _numpy_timings(op, functions)
    if installed(FRAMEWORKS["torch"]):
        _torch_timings(op, functions)
    bursts: dict[str, list[float]] = {name: [] for name in functions}
    for _ in range(15):
        for name, function in functions.items():
            started = time.perf_counter()
            for _ in range(300):
                function()
            bursts[name].append((time.perf_counter() - started) / 300)
    return [(name, median(times)) for name, times in bursts.items()]


def _numpy_timings(op: Any, functions: dict[str, Callable[[], object]]) -> None:
    import numpy as np

    x, gate, out = np.ones((3, 4), np.float32)
    view = op.numpy
    functions["numpy  opbridge, into out="] = lambda: view(x, gate, out=out)
    functions["numpy  gate * x / (1 + np.exp(-x))"] = lambda: gate * x / (1 + np.exp(-x))


def _torch_timings(op: Any, functions: dict[str, Callable[[], object]]) -> None:
    import torch

    x, gate = torch.ones(2, 4).unbind()

    def eager(x: Any, gate: Any) -> Any:
        return torch.nn.functional.silu(x) * gate

    schema = "(Tensor x, Tensor gate) -> Tensor"
    custom = torch.library.custom_op("demo_peer::swiglu", eager, mutates_args=(), schema=schema)
    leaf = x.clone().requires_grad_()
    functions["torch  opbridge"] = lambda: op(x, gate)
    functions["torch  opbridge, recording a gradient"] = lambda: op(leaf, gate)
    functions["torch  torch.nn.functional.silu(x) * gate"] = lambda: eager(x, gate)
    functions["torch  torch.library.custom_op around the same"] = lambda: custom(x, gate)
