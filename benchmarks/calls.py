"""Measure the cost of one call, and the speed of a large one, in this process."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import peers
from table import Row
from timing import Contestant, burst, race, rested

import opbridge as ob

KERNELS = Path(__file__).resolve().parent / "kernels"
_SMALL = 4
_LARGE = 16 * 2**20


def torch_call(quick: bool) -> list[Row]:
    import torch

    x, op = torch.randn(_SMALL), _operator()
    entrants = {"op(x)": burst("f(x)", f=op, x=x), "op.torch(x)": burst("f(x)", f=op.torch, x=x)}
    rivals = {"torch.relu": burst("f(x)", f=torch.relu, x=x)}
    if not peers.missing("torch"):
        peers.torch_extension()
        rivals["TORCH_LIBRARY operator"] = burst("f(x)", f=torch.ops.bench_peers.leaky_relu, x=x)
    reach = {"torch.relu": "1.3", "TORCH_LIBRARY operator": "0.85"}
    return compared("PyTorch call, 4 floats, no grad", entrants, rivals, reach, quick)


def torch_grad(quick: bool) -> list[Row]:
    reach = {
        "torch.relu": "1.5",
        "autograd.Function over pybind11": "1/2",
        "custom_op + register_autograd": "1/6",
        "C++ autograd::Function": "1/4",
    }
    return _with_grad("PyTorch call, 4 floats, forward with grad", "f(x)", reach, quick)


def torch_backward(quick: bool) -> list[Row]:
    rivals = (
        "torch.relu",
        "autograd.Function over pybind11",
        "custom_op + register_autograd",
        "C++ autograd::Function",
    )
    what = "PyTorch call, 4 floats, forward and backward"
    return _with_grad(what, "f(x).backward(g)", dict.fromkeys(rivals), quick)


def numpy_call(quick: bool) -> list[Row]:
    import numpy as np

    x = np.linspace(-1, 1, _SMALL, dtype=np.float32)
    out, op = np.empty_like(x), _operator()
    entrants = {"op(x, out=out)": burst("f(x, out=out)", f=op, x=x, out=out)}
    rivals = {"ctypes with ndpointer": burst("f(x, out)", f=peers.ctypes_function(), x=x, out=out)}
    if not peers.missing("tvm-ffi"):
        import tvm_ffi

        function = peers.tvm_function()
        own_x, own_out = tvm_ffi.from_dlpack(x), tvm_ffi.from_dlpack(out)
        rivals["tvm-ffi"] = burst("f(x, out, 0.01)", f=function, x=x, out=out)
        rivals["tvm-ffi on its own tensors"] = burst("f(x, out, 0.01)", f=function, x=own_x, out=own_out)
    reach = {"tvm-ffi": "1.2", "tvm-ffi on its own tensors": "1.2", "ctypes with ndpointer": "1/3"}
    return compared("NumPy call, 4 floats", entrants, rivals, reach, quick)


def bandwidth(quick: bool) -> list[Row]:
    """Run the same large loop into newly allocated memory, where page faults limit it, and into existing memory."""
    import numpy as np
    import torch

    from opbridge import _core

    _core.set_num_threads(torch.get_num_threads())
    x, out, op = torch.randn(_LARGE), torch.empty(_LARGE), _operator()
    arrays: dict[str, Any] = {"x": x.numpy(), "out": np.empty(_LARGE, np.float32)}
    fresh = compared(
        "leaky_relu over 16M floats, new output",
        {"op(x)": rested(burst("f(x)", f=op, x=x))},
        {
            "torch.nn.functional.leaky_relu": rested(burst("f(x)", f=torch.nn.functional.leaky_relu, x=x)),
            "x.clone()": rested(burst("x.clone()", x=x)),
        },
        {"torch.nn.functional.leaky_relu": "1", "x.clone()": "1.1"},
        quick,
        rounds=31,
    )
    given = compared(
        "leaky_relu over 16M floats, given output",
        {"op(x, out=out), NumPy": rested(burst("f(x, out=out)", f=op, **arrays))},
        {
            "torch.ops.aten.leaky_relu.out": rested(
                burst("f(x, out=out)", f=torch.ops.aten.leaky_relu.out, x=x, out=out)
            ),
            "out.copy_(x)": rested(burst("out.copy_(x)", x=x, out=out)),
        },
        {"torch.ops.aten.leaky_relu.out": "1", "out.copy_(x)": "1.1"},
        quick,
        rounds=31,
    )
    return fresh + given


def functions(quick: bool) -> list[Row]:
    """Measure kernels whose functions of the standard library become vector code."""
    import torch

    x, library = torch.randn(4 * 2**20), ob.load(KERNELS / "functions.yaml")
    pairs = {
        "silu, by std::exp": (library.silu, torch.nn.functional.silu),
        "tanh, by std::tanh": (library.tanh_of, torch.tanh),
    }
    rows = []
    for what, (ours, theirs) in pairs.items():
        entrants = {"op(x)": rested(burst("f(x)", f=ours, x=x))}
        rivals = {"PyTorch's": rested(burst("f(x)", f=theirs, x=x))}
        rows += compared(f"{what}, 4M floats, new output", entrants, rivals, {"PyTorch's": "1.2"}, quick, rounds=31)
    return rows


def _operator() -> Any:
    return ob.load(KERNELS / "ops.yaml").leaky_relu


def _with_grad(what: str, statement: str, reach: Mapping[str, str | None], quick: bool) -> list[Row]:
    import torch

    x = torch.randn(_SMALL, requires_grad=True)
    g, op = torch.ones(_SMALL), _operator()
    functions: dict[str, peers.Function] = {"torch.relu": torch.relu}
    if not peers.missing("torch"):
        functions["autograd.Function over pybind11"] = peers.autograd_over_pybind()
        functions["custom_op + register_autograd"] = peers.custom_op()
        functions["C++ autograd::Function"] = torch.ops.bench_peers.leaky_relu_autograd
    entrants = {name: burst(statement, f=f, x=x, g=g) for name, f in (("op(x)", op), ("op.torch(x)", op.torch))}
    rivals = {name: burst(statement, f=f, x=x, g=g) for name, f in functions.items()}
    return compared(what, entrants, rivals, reach, quick)


def compared(
    what: str,
    entrants: Mapping[str, Contestant],
    rivals: Mapping[str, Contestant],
    reach: Mapping[str, str | None],
    quick: bool,
    rounds: int = 301,
) -> list[Row]:
    """Return a row for each way to call and each peer, from one race; the first way has the target."""
    times = race({**entrants, **rivals}, rounds=5 if quick else rounds)
    rows = []
    for number, way in enumerate(entrants):
        for rival, promised in reach.items():
            bound = promised if number == 0 else None
            if rival in rivals:
                rows.append(Row.relative(f"{what}: `{way}`", times[way], rival, times[rival], bound))
            else:
                needed = peers.missing("tvm-ffi" if rival.startswith("tvm") else "torch")
                rows.append(Row.without_peer(f"{what}: `{way}`", times[way], rival, bound, needed))
    return rows
