"""Compare operators in MindSpore with MindSpore's custom operators on the same kernel."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

from table import Row
from timing import burst, race

import opbridge as ob

KERNELS = Path(__file__).resolve().parent / "kernels"
_SMALL = 4


def small_calls(quick: bool) -> list[Row]:
    import numpy as np

    # MindSpore logs everything unless this is set before the import.
    os.environ.setdefault("GLOG_v", "3")
    import mindspore

    with tempfile.TemporaryDirectory() as folder:
        library = _compiled(Path(folder))
        op = ob.aot(library, schema="opbridge_bench::bare_leaky_relu(Tensor x) -> Tensor", out="x")
        direct = mindspore.ops.Custom(library, out_shape=_same, out_dtype=_same, func_type="aot")
        x = mindspore.Tensor(np.linspace(-1, 1, _SMALL, dtype=np.float32))
        rounds = 5 if quick else 301
        # Reading the memory waits for MindSpore's threads.  A race for each mode: the first call after one in the
        # other mode takes twice as long.
        eager = {"op(x)": op, "op.mindspore(x)": op.mindspore, "ops.Custom": direct}
        times = race({name: burst("f(x).data_ptr()", f=f, x=x) for name, f in eager.items()}, rounds)
        in_graph = {"op.mindspore(x)": _graph(op.mindspore), "ops.Custom": _graph(direct)}
        graph_times = race({name: burst("f(x).data_ptr()", f=f, x=x) for name, f in in_graph.items()}, rounds)
    what, graph = "MindSpore call, 4 floats, PyNative", "MindSpore call, 4 floats, Graph"
    return [
        Row.relative(f"{what}: `op(x)`", times["op(x)"], "ops.Custom", times["ops.Custom"], "1.1"),
        Row.relative(f"{what}: `op.mindspore(x)`", times["op.mindspore(x)"], "ops.Custom", times["ops.Custom"], "1.1"),
        Row.relative(
            f"{graph}: `op.mindspore(x)`",
            graph_times["op.mindspore(x)"],
            "ops.Custom",
            graph_times["ops.Custom"],
            "1.1",
        ),
    ]


def _compiled(folder: Path) -> str:
    from opbridge.cli import main

    library = folder / "bare_leaky_relu.so"
    if main(["compile", str(KERNELS / "bare_leaky_relu.cpp"), str(library)]) != 0:
        raise SystemExit("the kernel of the MindSpore rows does not compile")
    return f"{library}:bare_leaky_relu"


def _same(x: Any) -> Any:
    return x


def _graph(operator: Any) -> Any:
    import mindspore

    def network(x):  # type: ignore[no-untyped-def]
        return operator(x)

    return mindspore.jit(network)
