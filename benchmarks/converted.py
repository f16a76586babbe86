"""A step of training of a converted network: in MindSpore against one written by hand, in JAX against PyTorch's."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import converted_networks
from table import Row
from timing import burst, race

import opbridge as ob

_RATE = 0.001
_SIZES = {"resnet18": (4, 3, 64, 64), "encoder": (8, 64, 128)}


def steps(quick: bool) -> list[Row]:
    """Forward, backward and a step of gradient descent, in both modes; one batch of random numbers."""
    import torch

    os.environ.setdefault("GLOG_v", "3")
    return [
        row
        for name, size in _SIZES.items()
        for rows in (_rows, _rows_of_jax)
        for row in rows(name, torch.randn(size, generator=torch.Generator().manual_seed(0)), 3 if quick else 15)
    ]


def _rows(name: str, example: Any, rounds: int) -> list[Row]:
    import mindspore as ms

    cells = {prefer: _converted(name, example, prefer) for prefer in ("aten", "native")}
    cells["by hand"] = getattr(converted_networks, f"{name}_by_hand")()
    data = ms.Tensor(example.numpy())
    found = []
    for mode in ("PyNative", "Graph"):
        runs = {way: _step(cell.set_train(), in_graph=mode == "Graph") for way, cell in cells.items()}
        times = race({way: burst("f(x).asnumpy()", f=run, x=data) for way, run in runs.items()}, rounds)
        found += [
            Row.relative(
                f"a training step of {name} in MindSpore, {mode}, converted with `--prefer {prefer}`",
                times[prefer],
                "written for MindSpore by hand",
                times["by hand"],
                "1.1",
            )
            for prefer in ("aten", "native")
        ]
    return found


def _rows_of_jax(name: str, example: Any, rounds: int) -> list[Row]:
    model = getattr(converted_networks, f"{name}_of_pytorch")()
    runs = {prefer: _step_of_jax(*_converted(name, example, prefer, "jax")) for prefer in ("aten", "native")}
    data = example.numpy()
    commands = {way: burst("f(x).block_until_ready()", f=run, x=data) for way, run in runs.items()}
    times = race({**commands, "pytorch": burst("f(x)", f=_step_of_pytorch(model), x=example)}, rounds)
    return [
        Row.relative(
            f"a training step of {name} in JAX, converted with `--prefer {prefer}`",
            times[prefer],
            "PyTorch's own, not compiled",
            times["pytorch"],
            None,
        )
        for prefer in ("aten", "native")
    ]


def _converted(name: str, example: Any, prefer: str, to: str = "mindspore") -> Any:
    model = getattr(converted_networks, f"{name}_of_pytorch")().eval()
    return ob.convert(model, (example,), to=to, prefer=prefer)


def _step_of_jax(apply: Any, values: dict[str, Any]) -> Callable[[Any], Any]:
    import jax

    trained = {name: value for name, value in values.items() if value.dtype == "float32" and "running" not in name}

    def loss(some, x):  # type: ignore[no-untyped-def]
        result, _ = apply({**values, **some}, x, train=True)
        return (result**2).mean()

    @jax.jit
    def step(some, x):  # type: ignore[no-untyped-def]
        value, gradients = jax.value_and_grad(loss)(some, x)
        return value, jax.tree.map(lambda one, gradient: one - _RATE * gradient, some, gradients)

    return lambda x: step(trained, x)[0]


def _step_of_pytorch(model: Any) -> Callable[[Any], Any]:
    import torch

    optimizer = torch.optim.SGD(model.parameters(), _RATE)

    def step(x: Any) -> Any:
        optimizer.zero_grad()
        value = (model(x) ** 2).mean()
        value.backward()
        optimizer.step()
        return value

    return step


def _step(cell: Any, *, in_graph: bool) -> Callable[[Any], Any]:
    import mindspore as ms

    optimizer = ms.nn.SGD(cell.trainable_params(), _RATE)

    def loss(x):  # type: ignore[no-untyped-def]
        return (cell(x) ** 2).mean()

    with_gradients = ms.value_and_grad(loss, None, optimizer.parameters)

    def step(x):  # type: ignore[no-untyped-def]
        value, gradients = with_gradients(x)
        optimizer(gradients)
        return value

    return ms.jit(step) if in_graph else step
