"""Five sources become operators of every framework here: built, checked and timed in front of the user."""

from __future__ import annotations

import argparse
import contextlib
import datetime
import importlib.util
import shutil
import tempfile
import textwrap
import time
from dataclasses import dataclass
from pathlib import Path

import opbridge as ob
from opbridge._version import __version__
from opbridge.bench import SMALL, Run, bench
from opbridge.cache import Cache
from opbridge.check import Row, Status, check
from opbridge.cli.terminal import bold, green, red, working
from opbridge.errors import OpbridgeError
from opbridge.frameworks import FRAMEWORKS, installed
from opbridge.op import Op, OpLibrary
from opbridge.report import Contents, operators_of, page
from opbridge.report.dispatch import walks
from opbridge.sources.store import source_request
from opbridge.toolchains import build_many

_LIBRARY = Path(__file__).parent / "demo_library"
_REPORT = "opbridge-demo.html"
_CELL = "demo::cell(Tensor x, Tensor state, Tensor weights) -> (Tensor new_state, Tensor keep, Tensor fresh)"


@dataclass(frozen=True)
class Scenario:
    """One thing that people bring."""

    source: str
    operator: str
    file: str
    device: str = "cpu"

    @property
    def is_built(self) -> bool:
        return not self.file.startswith("aten::")


_SCENARIOS = (
    Scenario("a C++ kernel", "swiglu", "swiglu.cpp"),
    Scenario("PyTorch's operator, by name", "softshrink", "aten::softshrink"),
    Scenario("a CUDA kernel, on the CPU", "row_norm", "row_norm.cu", "cuda-twin"),
    Scenario("an Ascend C kernel, on the CPU", "squared_relu", "squared_relu.cpp", "ascend-twin"),
)
_EXTENSION = Scenario("a PyTorch extension", "cell", "cell.cpp")
_NO_TORCH = "needs PyTorch: pip install torch"
_WIDTH = 110
_BARRIER = "  sums[threadIdx.x] = sum;\n  __syncthreads();\n"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--keep", type=Path, metavar="DIR", help="leave the demo's files and its report in this folder, to play with"
    )


def run(options: argparse.Namespace) -> int:
    if options.keep:
        shutil.copytree(_LIBRARY, options.keep, dirs_exist_ok=True)
        return _show(options.keep.absolute(), options.keep / _REPORT)
    with tempfile.TemporaryDirectory(prefix="opbridge-demo-") as folder:
        shutil.copytree(_LIBRARY, folder, dirs_exist_ok=True)
        return _show(Path(folder), None)


def _show(folder: Path, report: Path | None) -> int:
    # A comment that no run had before: what follows is a build and not a look into the cache.
    for name in ("swiglu.cpp", "row_norm.cu", "squared_relu.cpp"):
        _edit(folder / name)
    print(f"{bold(f'opbridge {__version__}')}: write a tensor operator once, call it from every framework\n")
    frameworks = [name for name, framework in FRAMEWORKS.items() if installed(framework)]
    scenarios = [one for one in _SCENARIOS if one.is_built or "torch" in frameworks]
    working("compiling four sources ...")
    built = _built(folder)
    library: OpLibrary = ob.load(folder / "ops.yaml")
    operators = [library[scenario.operator] for scenario in scenarios]
    references = {one.operator: f"{folder / 'expected.py'}:{one.operator}" for one in scenarios}
    working(f"checking values and gradients in {', '.join(frameworks)} ...")
    rows = check(operators, frameworks=frameworks, checks=["values", "gradients"], reference=references)
    peer = f"swiglu={folder / 'peers.py'}:swiglu"
    working("timing calls ...")
    measured = bench(library.swiglu, references=[peer], rounds=5, extents=(SMALL,), frameworks=frameworks)

    working()
    width = max(len(scenario.source) for scenario in (*_SCENARIOS, _EXTENSION))
    columns = " ".join(f"{name:10}" for name in frameworks)
    print(bold(f"  {'you bring':{width}}  {'operator':13} {'built in':9} {columns}"))
    for scenario in _SCENARIOS:
        seconds = f"{built[scenario.operator]:.2f} s" if scenario.is_built else "nothing"
        marks = " ".join(_mark(rows, scenario.operator, name) for name in frameworks)
        shown = marks if scenario in scenarios else _NO_TORCH
        print(f"  {scenario.source:{width}}  {scenario.operator:13} {seconds:9} {shown}")
    print(f"\n  {green('✓')} value   {green('∂')} gradient: both held against NumPy's numbers, in each framework")
    for framework in FRAMEWORKS.values():
        if framework.name not in frameworks and framework.beside_others:
            print(f"  {framework.name} is not installed: {framework.install}")
    _show_calls(measured)
    _show_bug(folder)
    _show_edit(folder)
    written = _report(operators, rows, measured, report)
    print(f"\n{bold('The whole story')}, with each operator's rules, errors and dispatch, as a page:\n  {written}")
    print(f"{bold('Next')}  opbridge new my_op            a library of your own, with its tests")
    print("      opbridge aten softplus        any operator of PyTorch's, in the other frameworks")
    print("      opbridge check ops.yaml       what an operator promises, checked in every framework")
    failed = [row for row in rows if row.failed]
    for row in failed:
        print(f"\n{red('failed')}  {row.operator} in {row.framework}, {row.check}: {row.message}")
    # The last, because PyTorch's headers take a minute where they are not precompiled yet.
    extension_fails = _show_extension(folder, width, frameworks)
    return 1 if failed or extension_fails else 0


def _built(folder: Path) -> dict[str, float]:
    """The seconds that the compiler takes for each source."""
    built = {}
    for one in _SCENARIOS:
        if one.is_built:
            (library,) = build_many([source_request(folder, one.file, one.device)])
            built[one.operator] = library.seconds
    return built


def _mark(rows: list[Row], operator: str, framework: str) -> str:
    of = {row.check: row for row in rows if (row.operator, row.framework) == (f"demo::{operator}", framework)}
    shown = ""
    for name, sign in (("values", "✓"), ("gradients", "∂")):
        row = of.get(name)
        if row is not None and row.status is not Status.SKIPPED:
            shown += red("✗") if row.failed else green(sign)
        else:
            shown += " "
    return shown + " " * 8


def _show_extension(folder: Path, width: int, frameworks: list[str]) -> bool:
    line = f"\n  {_EXTENSION.source:{width}}  {_EXTENSION.operator:13} "
    if "torch" not in frameworks:
        print(f"{line}{'':9} {_NO_TORCH}")
        return False
    import torch

    working("compiling a PyTorch extension ...")
    started = time.perf_counter()
    functions = ob.extension("demo_cell", sources=[folder / _EXTENSION.file])
    cell = ob.autograd(
        forward=functions.forward,
        backward=functions.backward,
        outputs="new_state",
        saved=("x", "state", "weights", "keep", "fresh"),
        schema=_CELL,
        out=["state", "state", "state"],
    )
    inputs = [torch.randn(shape, dtype=torch.float64, requires_grad=True) for shape in ((2, 3), (2, 4), (8, 7))]
    value = cell(*inputs)
    seconds = time.perf_counter() - started
    x, state, weights = inputs
    keep, fresh = (torch.cat([x, state], 1) @ weights.T).chunk(2, 1)
    right = torch.allclose(value, torch.sigmoid(keep) * state + (1 - torch.sigmoid(keep)) * torch.tanh(fresh))
    with contextlib.suppress(RuntimeError):
        right = right and torch.autograd.gradcheck(cell, inputs)
    marks = " ".join(
        (green("✓∂") if right else red("✗✗")) + " " * 8 if name == "torch" else " " * 10 for name in frameworks
    )
    working()
    print(f"{line}{f'{seconds:.2f} s':9} {marks}")
    return not right


def _show_calls(measured: Run) -> None:
    print(f"\n{bold('A call')} of swiglu on a few floats, beside the framework's own silu(x) * gate")
    for one in measured.measurements:
        if one.extent == SMALL:
            peer = f"{_microseconds(one.reference_time.median):>10}" if one.reference_time else ""
            print(f"  {one.framework:10} {_microseconds(one.time.median):>10} {peer}")


def _microseconds(seconds: float) -> str:
    return f"{seconds * 1e6:.2f} µs"


def _show_bug(folder: Path) -> None:
    """The CUDA kernel without its first barrier, which a GPU may run right for years."""
    import numpy as np

    source = folder / "racing.cu"
    source.write_text((folder / "row_norm.cu").read_text().replace(_BARRIER, _BARRIER.partition("\n")[0] + "\n"))
    schema = "demo::racing(Tensor x, *, float epsilon=0.001) -> Tensor"
    racing = ob.load(f"{source}:row_norm", schema=schema, out="x", device="cuda-twin")
    print(f"\n{bold('The twins find what hardware hides')}: the CUDA kernel without its first __syncthreads()")
    try:
        racing(np.ones((2, 300), np.float32))
        print(red("  it was not found"))
    except OpbridgeError as error:
        for line in str(error).splitlines():
            print(textwrap.fill(line, _WIDTH, initial_indent="  ", subsequent_indent="    "))


def _show_edit(folder: Path) -> None:
    import numpy as np

    _edit(folder / "swiglu.cpp")
    started = time.perf_counter()
    ob.load(folder / "ops.yaml").swiglu(np.ones(4, np.float32), np.ones(4, np.float32))
    print(f"\n{bold('Edit the C++ kernel, run again')}: {time.perf_counter() - started:.2f} s")


def _report(operators: list[Op], rows: list[Row], measured: Run, path: Path | None) -> Path:
    dispatch = walks(operators) if importlib.util.find_spec("torch") else {}
    shown = operators_of(operators, rows, measured, dispatch)
    now = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")
    text = page(Contents("demo", now, __version__, shown, measured))
    if path is None:
        return Cache().keep(_REPORT, text)
    path.write_text(text, encoding="utf-8")
    return path


def _edit(source: Path) -> None:
    source.write_text(f"{source.read_text()}// {time.time_ns()}\n")
