"""The parts of the demo below its table: call times, a bug that a twin finds, an edit, and the report."""

from __future__ import annotations

import datetime
import textwrap
import time
from collections.abc import Mapping
from pathlib import Path

import opbridge as ob
from opbridge._version import __version__
from opbridge.analysis.bench import SMALL, Run
from opbridge.analysis.report import Contents, operators_of, page
from opbridge.analysis.report.dispatch_keys import Level
from opbridge.base.errors import OpbridgeError
from opbridge.build.cache import Cache
from opbridge.cli.terminal import bold, red
from opbridge.verify.check import Row
from opbridge.waist.op import Op

REPORT = "opbridge-demo.html"
_WIDTH = 110
_BARRIER = "  sums[threadIdx.x] = sum;\n  __syncthreads();\n"


def show_calls(measured: Run) -> None:
    """Print the time of a small call in each framework next to the framework's own expression."""
    print(f"\n{bold('A call')} of swiglu on a few floats, next to silu(x) * gate in the framework")
    for one in measured.measurements:
        if one.extent == SMALL:
            peer = f"{_microseconds(one.reference_time.median):>10}" if one.reference_time else ""
            print(f"  {one.framework:10} {_microseconds(one.time.median):>10} {peer}")


def _microseconds(seconds: float) -> str:
    return f"{seconds * 1e6:.2f} µs"


def show_bug(folder: Path) -> None:
    """Run the CUDA kernel without its first barrier, a bug that a GPU may hide for years, and print the report."""
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


def show_edit(folder: Path) -> None:
    """Change the C++ kernel, call it again, and print how long that took."""
    import numpy as np

    edit(folder / "swiglu.cpp")
    started = time.perf_counter()
    ob.load(folder / "ops.yaml").swiglu(np.ones(4, np.float32), np.ones(4, np.float32))
    print(f"\n{bold('Edit the C++ kernel, run again')}: {time.perf_counter() - started:.2f} s")


def report(
    operators: list[Op], rows: list[Row], measured: Run, dispatch: Mapping[str, tuple[Level, ...]], path: Path | None
) -> Path:
    """Write the report to `path`, or into the cache if that is None; return its path."""
    shown = operators_of(operators, rows, measured, dispatch)
    now = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")
    text = page(Contents("demo", now, __version__, shown, measured))
    if path is None:
        return Cache().keep(REPORT, text)
    path.write_text(text, encoding="utf-8")
    return path


def edit(source: Path) -> None:
    """Append a unique comment to a source, so that it must be compiled again."""
    source.write_text(f"{source.read_text()}// {time.time_ns()}\n")
