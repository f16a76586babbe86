"""Check and measure CUDA kernels on a GPU, next to PyTorch and the limits of the hardware.

    python benchmarks/gpu.py                    checks and measures
    python benchmarks/gpu.py --check            checks alone, on many shapes and dtypes, and under compute-sanitizer
    python benchmarks/gpu.py --check --twin     the same checks on the CPU, by the CUDA twin; no GPU needed
    python benchmarks/gpu.py --build            compiles for sm_80, sm_90 and sm_100; no GPU needed

Exit codes: 0 all well, 1 a check failed, 2 there is no GPU.
"""

from __future__ import annotations

import argparse
import dataclasses
import datetime
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import gpu_checks
import gpu_speed
import machine
from table import results_table

import opbridge as ob
from opbridge.build.toolchains import BuildRequest, build_many, nvcc

if TYPE_CHECKING:
    from opbridge.waist.op import OpLibrary

KERNELS = Path(__file__).resolve().parent / "kernels"
EVERYWHERE = ("80", "90", "100")
NO_GPU = 2


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="benchmarks/gpu.py", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--check", action="store_true", help="check, and measure nothing")
    parser.add_argument("--twin", action="store_true", help="check on the CPU")
    parser.add_argument("--build", action="store_true", help="compile, and run nothing")
    parser.add_argument("--quick", action="store_true", help="few shapes and rounds")
    parser.add_argument("--under-sanitizer", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the numbers here too")
    options = parser.parse_args(arguments)
    if options.twin and not options.check:
        parser.error("--twin is for --check: what the CPU needs for a CUDA kernel is in benchmarks/run.py")

    if options.build:
        return compile_everywhere()
    if not options.twin and (why := no_gpu()):
        print(f"no GPU: {why}\n  --build compiles without one, --check --twin checks on the CPU", file=sys.stderr)
        return NO_GPU
    library = ob.load(KERNELS / "gpu.yaml", device="cuda-twin" if options.twin else "cpu")
    on_gpu = not options.twin
    # Under the sanitizer, launches wait for each other, so the checks of streams would fail.
    failures = gpu_checks.run(
        library, "cuda" if on_gpu else "cpu", options.quick, streams=on_gpu and not options.under_sanitizer
    )
    if on_gpu and not options.under_sanitizer:
        failures += sanitize()
    if not options.check:
        measure(library, options.quick, options.json)
    print(f"{len(failures)} checks failed" if failures else "all checks passed")
    return 1 if failures else 0


def no_gpu() -> str:
    """Return why nothing can run on a GPU here; empty if kernels can run."""
    import torch

    if not torch.backends.cuda.is_built():
        return f"PyTorch {torch.__version__} is built without CUDA"
    return "" if torch.cuda.is_available() else "PyTorch finds no device or no driver"


def compile_everywhere() -> int:
    os.environ[nvcc.ARCHITECTURES] = ";".join(EVERYWHERE)
    sources = sorted(KERNELS.glob("gpu*.cu"))
    built = build_many([BuildRequest((source,), f"{source.stem}.so", language="cuda") for source in sources])
    for source, library in zip(sources, built, strict=True):
        print(f"{source.name}: {library.path.stat().st_size >> 10} KB for sm_{', sm_'.join(EVERYWHERE)}")
    return 0


def sanitize() -> list[str]:
    """Run the quick checks again, under compute-sanitizer."""
    again = [sys.executable, str(Path(__file__).resolve()), "--check", "--quick", "--under-sanitizer"]
    # PyTorch's allocator returns parts of large blocks, where an access next to a tensor is not out of bounds.
    environment = os.environ | {"PYTORCH_NO_CUDA_MEMORY_CACHING": "1"}
    failures: list[str] = []
    for tool in ("memcheck", "racecheck"):
        watched = ["compute-sanitizer", "--tool", tool, "--error-exitcode", "9", *again]
        try:
            done = subprocess.run(watched, capture_output=True, text=True, env=environment)
        except FileNotFoundError:
            print("compute-sanitizer: not found; it comes with the CUDA toolkit")
            return failures
        print(f"compute-sanitizer {tool}: {'clean' if done.returncode == 0 else 'FAILED'}")
        if done.returncode:
            failures.append(f"compute-sanitizer {tool}")
            print(done.stdout[-4000:], done.stderr[-4000:], file=sys.stderr)
    return failures


def measure(library: OpLibrary, quick: bool, numbers: Path | None) -> None:
    conditions = machine.describe() | gpu_speed.describe() | {"date": datetime.date.today().isoformat()}
    rows = gpu_speed.rows(library, quick)
    print(results_table(rows, {}))
    print("\n".join(f"* {name}: {value}" for name, value in conditions.items()))
    if numbers:
        measured = {"machine": conditions, "rows": [dataclasses.asdict(row) for row in rows]}
        numbers.write_text(json.dumps(measured, default=str, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
