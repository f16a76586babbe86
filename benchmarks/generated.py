"""Measure calls of generated sources next to handwritten ones, and the generation of a large backend."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

import peers
from table import Row
from timing import Spread, burst, race

from opbridge.build.cache import Cache
from opbridge.codegen.generator import generate
from opbridge.codegen.inputs import Inputs, Wish
from opbridge.codegen.output_files import write

KERNELS = Path(__file__).resolve().parent / "kernels"
_ENTRIES = 1500


def calls(quick: bool) -> list[Row]:
    if peers.missing("torch"):
        return []
    import torch

    peers.torch_extension()
    _build()
    x = torch.randn(4)
    leaf, g = torch.randn(4, requires_grad=True), torch.ones(4)
    by_hand, ours = torch.ops.bench_peers, torch.ops.bench_generated
    plain = {
        "ours": burst("f(x)", f=ours.leaky_relu, x=x),
        "TORCH_LIBRARY operator": burst("f(x)", f=by_hand.leaky_relu, x=x),
    }
    both_ways = {
        "ours": burst("f(x).backward(g)", f=ours.leaky_relu_autograd, x=leaf, g=g),
        "C++ autograd::Function": burst("f(x).backward(g)", f=by_hand.leaky_relu_autograd, x=leaf, g=g),
    }
    rows = []
    for what, contestants in (("no grad", plain), ("forward and backward", both_ways)):
        times = race(contestants, rounds=5 if quick else 301)
        peer = next(name for name in contestants if name != "ours")
        rows.append(Row.relative(f"generated operator, 4 floats, {what}", times["ours"], peer, times[peer], "1"))
    return rows


def generation(quick: bool) -> list[Row]:
    """Measure the generation for a file in torch_npu's dialect, and again without changes."""
    text = _declarations(_ENTRIES)
    first, again = [], []
    for _ in range(2 if quick else 7):
        with tempfile.TemporaryDirectory() as name:
            path = Path(name) / "functions.yaml"
            path.write_text(text)
            for times in (first, again):
                started = time.perf_counter()
                inputs = Inputs.read([path], Wish(namespace="bench"))
                write(Path(name) / "out", generate(inputs, Cache(Path(name) / "cache")).files)
                times.append(time.perf_counter() - started)
    return [
        Row.absolute(f"sources for {_ENTRIES:,} declarations, 400 of them with gen_opapi", Spread.of(first), "3"),
        Row.absolute("the same, nothing changed", Spread.of(again), "1/2"),
    ]


def _build() -> None:
    from torch.utils import cpp_extension

    folder = peers.folder("generated")
    declared = [KERNELS / "generated.yaml", KERNELS / "generated_derivatives.yaml"]
    write(folder, generate(Inputs.read(declared, Wish(key="CPU")), Cache()).files)
    (folder / "lock").unlink(missing_ok=True)
    cpp_extension.load(
        "bench_generated",
        [*map(str, sorted(folder.glob("*.cpp"))), str(KERNELS / "generated.cpp")],
        extra_include_paths=[str(folder)],
        extra_cflags=["-O3", "-fopenmp"],
        build_directory=str(folder),
        is_python_module=False,
    )


def _declarations(count: int) -> str:
    """Yield eleven operators with separate kernels and four with generated kernels, in turn."""
    lines = ["all_version: [v2.6, v2.7]", "custom:"]
    for number in range(count // 15):
        for kind in range(11):
            lines.append(
                f"  - func: plain_{number}_{kind}(Tensor x, Tensor? y=None, *, int[] n=[1, 2]) -> (Tensor, Tensor)"
            )
            lines.append("    op_api: all_version")
        described = "{out: {size: x, dtype: x}, exec: deviceAct}"
        out = f"act_{number}.out(Tensor x, *, Tensor(a!) out) -> Tensor(a!)"
        lines += [f"  - func: {out}", "    op_api: all_version", f"    gen_opapi: {described}"]
        for func in (f"act_{number}(Tensor x) -> Tensor", f"act_{number}_(Tensor(a!) x) -> Tensor(a!)"):
            inherited = f"{{structured_inherit: act_{number}.out}}"
            lines += [f"  - func: {func}", "    op_api: all_version", f"    gen_opapi: {inherited}"]
        norm = "{y: {size: x, dtype: x}, mean: {size: '{x.size(0)}', dtype: x}, exec: deviceNorm}"
        lines += [f"  - func: norm_{number}(Tensor x, Tensor? g=None) -> (Tensor, Tensor)", f"    gen_opapi: {norm}"]
    return "\n".join([*lines, ""])
