"""Compare opbridge with its peers, in one run and one table; docs/benchmarks.md describes the method."""

from __future__ import annotations

import argparse
import dataclasses
import datetime
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path

import ascend_twin
import aten
import calls
import converted
import cuda_course
import cuda_twin
import fleet
import floors
import formulas
import generated
import jax_calls
import lltm
import machine
import mindspore_calls
import npu_calls
import processes
import rows
import sharding
import training
from notes import NOTES
from table import Row, floors_table, results_table

Benchmark = Callable[[bool], list[Row]]

BENCHMARKS: dict[str, Benchmark] = {
    "cold-build": processes.cold_build,
    "aten-build": processes.aten_build,
    "extension-build": processes.extension_build,
    "edit": processes.edit_loop,
    "cached-load": processes.cached_load,
    "torch-call": calls.torch_call,
    "torch-grad": calls.torch_grad,
    "torch-backward": calls.torch_backward,
    "dtensor-call": sharding.dtensor_call,
    "training": training.step,
    "numpy-call": calls.numpy_call,
    "bandwidth": calls.bandwidth,
    "functions": calls.functions,
    "rows": rows.kernels,
    "formulas": formulas.kernels,
    "formula-compiling": formulas.compiling,
    "mindspore-build": processes.mindspore_build,
    "mindspore-call": mindspore_calls.small_calls,
    "converted": converted.steps,
    "jax-call": jax_calls.small_calls,
    "jax-large": jax_calls.large_calls,
    "aten-call": aten.small_calls,
    "aten-large": processes.aten_large,
    "aten-load": aten.loading,
    "cuda-twin": cuda_twin.kernels,
    "cuda-course": cuda_course.kernels,
    "ascend-twin": ascend_twin.kernels,
    "npu": npu_calls.small_calls,
    "lltm": lltm.cell,
    "library": processes.many_operators,
    "import": processes.importing,
    "generated-call": generated.calls,
    "generation": generated.generation,
    "fleet": fleet.starting,
}
_CAPABILITIES = {"x86-64-v3": "avx2", "x86-64-v4": "avx512"}
"""What PyTorch calls the processors that g++ has names for; MKL, which it asks for functions, writes them large."""


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="benchmarks/run.py", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few rounds, and no build that takes half a minute")
    parser.add_argument("--only", action="append", choices=BENCHMARKS, metavar="NAME", help=", ".join(BENCHMARKS))
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the numbers here too")
    parser.add_argument(
        "--write", type=Path, metavar="FILE", help="write the report between the file's marks for the target"
    )
    parser.add_argument(
        "--target", choices=_CAPABILITIES, help="the processor that our kernels are built for, and PyTorch's chosen for"
    )
    options = parser.parse_args(arguments)
    if options.target:
        # Before PyTorch is loaded, which reads these variables once.
        os.environ["OPBRIDGE_MARCH"] = options.target
        os.environ["ATEN_CPU_CAPABILITY"] = _CAPABILITIES[options.target]
        os.environ["MKL_ENABLE_INSTRUCTIONS"] = _CAPABILITIES[options.target].upper()

    # The peers start ninja by name, and the environment may not be activated.
    os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
    conditions = machine.describe()
    found = []
    for name in options.only or BENCHMARKS:
        print(f"{name} ...", file=sys.stderr, flush=True)
        found += BENCHMARKS[name](options.quick)
    bounds = [] if options.only else floors.measure(options.quick)

    report = results_table(found, NOTES)
    if bounds:
        report += f"\n\n### What the machine allows\n\n{floors_table(bounds)}"
    report += "\n\n" + "\n".join(f"* {name}: {value}" for name, value in conditions.items())
    print(report)
    if options.json:
        measured = {"machine": conditions, "rows": found, "floors": bounds}
        options.json.write_text(json.dumps(measured, default=_plain, indent=1, ensure_ascii=False) + "\n")
    if options.write:
        dated = f"Measured on {datetime.date.today().isoformat()}.\n\n{report}"
        options.write.write_text(between_marks(options.write.read_text(), dated, options.target or "native"))
    return 0


def between_marks(text: str, report: str, target: str) -> str:
    """Return the text with a new report between the marks of the target."""
    begin, end = f"<!-- results {target}: begin -->", f"<!-- results {target}: end -->"
    before, found, rest = text.partition(begin)
    _, ended, after = rest.partition(end)
    if not found or not ended:
        raise SystemExit(f"expected the lines {begin} and {end} in the file; the report goes between them")
    return f"{before}{begin}\n{report}\n{end}{after}"


def _plain(value: object) -> object:
    return dataclasses.asdict(value) if dataclasses.is_dataclass(value) and not isinstance(value, type) else str(value)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
