"""opbridge port check: verify that a port to Ascend C computes the same as its CUDA original."""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import TYPE_CHECKING

from opbridge.base.errors import InputError
from opbridge.cli.json_output import add_json, print_json
from opbridge.cli.terminal import bold, green, red

if TYPE_CHECKING:
    from opbridge.analysis.port import Outcome


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `opbridge port check`."""
    parser.add_argument("original", metavar="ORIGINAL.cu", help="the CUDA source, or SOURCE:KERNEL")
    parser.add_argument("port", metavar="PORT.cpp", help="the source in Ascend C, or SOURCE:KERNEL")
    parser.add_argument(
        "--manifest",
        type=Path,
        metavar="ops.yaml",
        help="declares the operator of both kernels (default: the ops.yaml next to the original, if it does)",
    )
    parser.add_argument("--schema", metavar="SCHEMA", help="the operator, if the kernels do not define it")
    parser.add_argument("--out", metavar="RULE", help="the shape of its output: an argument, or as in [x.shape[0], 4]")
    parser.add_argument(
        "--shapes", metavar="DIMENSIONS", help="the dimensions of inputs and outputs, as in 'm k, k n -> m n'"
    )
    parser.add_argument(
        "--launch",
        action="append",
        default=[],
        metavar="NAME=FORMULA",
        help="a parameter of a bare kernel, as in n=x.numel, or grid, block, blockDim; may be repeated",
    )
    parser.add_argument(
        "--dtype", action="append", default=[], metavar="NAME", help="only this element type; may be repeated"
    )
    parser.add_argument(
        "--tolerance",
        type=float,
        metavar="PART",
        help="the allowed difference relative to the largest value (default: by element type; 3e-5 for float32)",
    )
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="the seed of the random inputs (default: 0)")
    parser.add_argument(
        "--timeout", type=float, default=60.0, metavar="S", help="the time limit of one input, in seconds (default: 60)"
    )
    add_json(parser)


def run(options: argparse.Namespace) -> int:
    """Compare each pair of kernels on the same inputs, and print the results; return 1 if any differ."""
    from opbridge.analysis.port import Settings, compare, pairs_of
    from opbridge.analysis.port.kernel_pairs import Said

    started = time.perf_counter()
    launch = dict(_split(text) for text in options.launch)
    said = Said(options.manifest, options.schema, options.out, options.shapes, launch)
    settings = Settings(options.seed, tuple(options.dtype), options.tolerance, options.timeout)
    documents, outcomes = [], []
    unusable: InputError | None = None
    for pair in pairs_of(options.original, options.port, said):
        printer = _Printer(options.json, str(pair.schema).removeprefix("port_check::"))
        try:
            found = compare(pair, settings, printer.outcome)
        except InputError as error:
            unusable = unusable or error  # report it after comparing the other pairs
            continue
        outcomes += found
        documents.append({"operator": pair.schema.name, "inputs": [outcome.fields() for outcome in found]})
    wrong = sum(not outcome.is_good for outcome in outcomes)
    if options.json:
        verdict = "parts" if wrong else "same"
        print_json({"verdict": verdict, "seed": options.seed, "operators": documents})
    elif outcomes:
        print(_summary(len(outcomes), wrong, time.perf_counter() - started))
    if unusable:
        raise unusable
    return 1 if wrong else 0


def _split(text: str) -> tuple[str, str]:
    name, equals, formula = text.partition("=")
    if not equals or not name or not formula:
        raise InputError(f"--launch {text}: expected NAME=FORMULA, such as n=x.numel")
    return name.strip(), formula.strip()


class _Printer:
    """Print one line per input, with the difference below it; a repeated finding is not printed again."""

    def __init__(self, is_silent: bool, title: str) -> None:
        self._is_silent = is_silent
        self._title = title
        self._seen: set[str] = set()

    def outcome(self, outcome: Outcome) -> None:
        if self._is_silent:
            return
        if self._title:
            print(bold(self._title))
            self._title = ""
        mark = green("✓") if outcome.is_good else red("✗")
        lines = _told(outcome)
        finding = "\n".join(line for line in lines[2:] if "memory" not in line and "address" not in line)
        if finding and finding in self._seen:
            lines[1:] = [f"{lines[1]} the same as above"]
        self._seen.add(finding)
        print("\n".join([f"  {mark} {outcome.inputs}{lines[0]}", *(f"      {line}" for line in lines[1:])]), flush=True)


def _told(outcome: Outcome) -> list[str]:
    if outcome.difference is not None:
        parted = outcome.difference
        at = f" at [{', '.join(map(str, parted.index))}]" if parted.index else ""
        output = f" of output {parted.output}" if parted.output else ""
        largest = "" if parted.largest is None else f", by {parted.largest:.3g} at most"
        return [
            "",
            f"the port gives {parted.port} instead of {parted.original}{at}{output}; {parted.differing} of "
            f"{parted.elements} elements differ{largest}; {parted.dtype}, seed {outcome.seed}",
            f"written by {parted.writer}" if parted.writer else "no block of the port has written it",
        ]
    if outcome.side is not None:
        whose = "both kernels" if outcome.side == "both" else f"the {outcome.side}"
        return ["", f"{whose}; {outcome.dtype}, seed {outcome.seed}:", *outcome.message.splitlines()]
    return [f": both refuse it: {outcome.message.splitlines()[0]}" if outcome.message else ""]


def _summary(count: int, wrong: int, seconds: float) -> str:
    inputs = f"{count} input{'' if count == 1 else 's'}"
    if wrong:
        return red(f"the port parts from the original on {wrong} of {inputs}, {seconds:.1f} s")
    return green(f"the same on {inputs}, {seconds:.1f} s")
