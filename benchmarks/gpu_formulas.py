"""Compare formulas on a GPU with torch.compile of the same PyTorch operators, and with a copy.

python benchmarks/gpu_formulas.py [--quick] [--json FILE]
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import multiprocessing
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import formula_cases
import torch
from formula_cases import Case, cases
from formulas import formula, together
from gpu_speed import describe
from table import Row, results_table
from timing import race, ratios

# Sizes that take a GPU longer than the CPU needs for a call.
formula_cases.WHOLE, formula_cases.ROWS = 64 * 2**20, 64 * 2**10
_CALLS = 10


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="benchmarks/gpu_formulas.py", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="every eighth formula, and few rounds")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the numbers here too")
    options = parser.parse_args(arguments)
    chosen = range(0, len(cases()), 8 if options.quick else 1)
    compile_ahead(chosen)
    rows, means, wrong = [], {}, []
    for number in chosen:
        case = cases()[number]
        try:
            for way, row, to_copy in measured(case, 5 if options.quick else 11):
                rows.append(row)
                means.setdefault((way, "torch.compile"), []).append(row.ratio.median)
                means.setdefault((way, "a copy"), []).append(to_copy)
                print(f"{row.what}: {row.ours.median * 1e6:.0f} us, {to_copy:.3f} of a copy")
        except Exception as error:
            wrong.append(case.name)
            print(f"FAILED {case.name}: {str(error)[:600]}")
    rows += [together(way, peer, found, None) for (way, peer), found in means.items()]
    print(results_table(rows, {}))
    print(f"{len(chosen) - len(wrong)} of {len(chosen)} formulas give what PyTorch gives")
    if options.json:
        numbers = {"machine": describe(), "rows": [dataclasses.asdict(row) for row in rows]}
        options.json.write_text(json.dumps(numbers, default=str, indent=1) + "\n")
    return len(wrong) > 0


def compile_ahead(numbers: Sequence[int]) -> None:
    """Compile on all processors at once; both caches keep the results."""
    with multiprocessing.get_context("spawn").Pool(os.cpu_count()) as pool:
        pool.map(_compiled, numbers, chunksize=1)


def _compiled(number: int) -> None:
    try:
        for _ in measured(cases()[number], 1):
            pass
    except Exception as error:
        print(f"ahead: {cases()[number].name}: {str(error)[:200]}")


def measured(case: Case, rounds: int) -> list[tuple[str, Row, float]]:
    torch._dynamo.reset()
    ours, theirs = formula(case), torch.compile(case.torch, dynamic=False)
    values = [torch.randn(shape, device="cuda") for shape in case.shapes]
    if case.is_positive:
        values = [value.abs() + 0.1 for value in values]
    expected, got = case.torch(*values), ours(*values)
    torch.testing.assert_close(got, expected, rtol=1e-3, atol=1e-3)
    results = got if isinstance(got, tuple) else (got,)
    moved = sum(value.nbytes for value in (*values, *results))
    copied = torch.empty(max(moved // 8, 1), device="cuda")
    found = [raced(case, "forward", [lambda: ours(*values), lambda: theirs(*values)], copied, rounds)]
    if case.is_learned:
        del got, results
        learned = [value.requires_grad_() for value in values]
        grad = torch.randn_like(expected)
        both = [lambda f=f: torch.autograd.grad(f(*learned), learned, grad) for f in (ours, theirs)]
        found.append(raced(case, "forward and backward", both, copied, rounds))
    return found


def raced(
    case: Case, way: str, calls: Sequence[Callable[[], Any]], copied: torch.Tensor, rounds: int
) -> tuple[str, Row, float]:
    contestants = {name: on_gpu(call) for name, call in zip(("ours", "theirs"), calls, strict=True)}
    contestants["copy"] = on_gpu(copied.clone)
    times = race(contestants, rounds)
    row = Row.relative(f"formula: {case.name}, {way}", times["ours"], "torch.compile", times["theirs"], None)
    return way, row, ratios(times["ours"], times["copy"]).median


def on_gpu(call: Callable[[], Any]) -> Callable[[], float]:
    """Return the GPU time of one of several calls, all of which the CPU starts before the first ends."""

    def run() -> float:
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        call()
        begin.record()
        for _ in range(_CALLS):
            call()
        end.record()
        end.synchronize()
        return float(begin.elapsed_time(end)) / 1e3 / _CALLS

    return run


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
