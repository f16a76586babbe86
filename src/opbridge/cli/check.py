"""opbridge check: verify that the operators of a manifest work as declared, in every installed framework."""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path

from opbridge.base.errors import InputError
from opbridge.cli.json_output import add_json_or_file, file_of, hand_over, people_read_stderr
from opbridge.cli.manifest_arguments import add_selection, chosen, load_library
from opbridge.cli.output_paths import require_writable
from opbridge.cli.terminal import bold, green, red, yellow
from opbridge.verify.check import SANITIZERS, Row, Status, check
from opbridge.verify.check.reports import to_json, to_junit
from opbridge.waist.op import Op

_MARKS: dict[Status, tuple[str, Callable[[str], str]]] = {
    Status.PASSED: ("✓", green),
    Status.FAILED: ("✗", red),
    Status.SKIPPED: ("-", str),
    Status.UNCHECKED: ("?", yellow),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `opbridge check`."""
    add_selection(parser, "checked")
    parser.add_argument(
        "--reference",
        action="append",
        default=[],
        metavar="[NAME=]REFERENCE",
        help="compare results (of the operator NAME) with another kernel as DEVICE, a PyTorch operator as aten::NAME, "
        "or a function of NumPy arrays as MODULE:FUNCTION; may be repeated with names",
    )
    parser.add_argument(
        "--sanitize",
        action="append",
        choices=SANITIZERS,
        default=[],
        help="build the kernels with this sanitizer too, and report what it finds; may be repeated",
    )
    parser.add_argument("--junit", type=Path, metavar="FILE", help="write the rows as JUnit XML")
    add_json_or_file(parser)
    parser.add_argument(
        "--plot", type=Path, metavar="FILE", help="plot the errors of gradients over eps, as PNG or SVG"
    )
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="the seed of the random inputs (default: 0)")
    parser.add_argument(
        "--timeout",
        type=_seconds,
        default=60.0,
        metavar="S",
        help="the time limit of one input, in seconds (default: 60)",
    )


def _seconds(text: str) -> float:
    value = float(text)
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"expected a number of seconds above 0, got {text}")
    return value


def run(options: argparse.Namespace) -> int:
    """Check the operators and print a row for each check; return 1 if any failed."""
    with people_read_stderr(options.json):
        rows = _checked(options)
    hand_over(to_json(rows, options.seed), options.json)
    return 0 if is_green(rows) else 1


def _checked(options: argparse.Namespace) -> list[Row]:
    started = time.perf_counter()
    if options.plot:
        from opbridge.verify.check import gradient_plot

        gradient_plot.require(options.plot)
    require_writable(file_of(options.json), options.junit, options.plot)
    operators = chosen(load_library(options.manifest, options.device), options.op)
    table = _Table(operators)
    rows = check(
        operators,
        frameworks=options.framework,
        reference=_reference(options.reference),
        sanitize=tuple(dict.fromkeys(options.sanitize)),
        device=options.device,
        seed=options.seed,
        timeout=options.timeout,
        on_row=table.print,
    )
    if options.junit:
        options.junit.write_text(to_junit(rows), encoding="utf-8")
    if options.plot:
        gradient_plot.draw(rows, options.plot)
    print(_summary(rows, time.perf_counter() - started))
    return rows


def _reference(given: list[str]) -> str | Mapping[str, str] | None:
    if len(given) == 1 and "=" not in given[0]:
        return given[0]
    named = dict(one.split("=", 1) for one in given if "=" in one)
    if len(named) != len(given):
        raise InputError("of several references each is for one operator", hint="--reference NAME=... for each")
    return named or None


class _Table:
    """Print rows as they arrive, in columns whose widths are known in advance."""

    def __init__(self, operators: list[Op]) -> None:
        self._names = {op.name: op.name.partition("::")[2] for op in operators}
        self._width = max(map(len, self._names.values()))

    def print(self, row: Row) -> None:
        mark, colour = _MARKS[row.status]
        name = self._names[row.operator].ljust(self._width)
        lines = row.message.splitlines() or [""]
        first = f"{bold(name)}  {row.framework:10}{row.check:12}{colour(f'{mark} {lines[0]}')}"
        # Print each row with one call, because rows come from several threads.
        print("\n".join([first, *(f"{'':{self._width + 26}}{line}" for line in lines[1:])]) + "\n", end="", flush=True)


def is_green(rows: list[Row]) -> bool:
    """Return whether something was checked and nothing failed."""
    found = {row.status for row in rows}
    return Status.PASSED in found and Status.FAILED not in found


def _summary(rows: list[Row], seconds: float) -> str:
    counts = Counter(row.status for row in rows)
    told = [f"{counts[status]} {status.value}" for status in Status if counts[status]]
    lines = ["", (green if is_green(rows) else red)(f"{', '.join(told) or 'nothing to check'}, {seconds:.1f} s")]
    seen = {row.operator for row in rows if row.status in (Status.PASSED, Status.FAILED)}
    if left := list(dict.fromkeys(row.operator for row in rows if row.operator not in seen)):
        lines.append(yellow(f"not checked at all: {', '.join(left)}"))
    if counts[Status.UNCHECKED]:
        lines.append("unchecked (?): it ran, and there was nothing to compare with; a --reference changes that")
    return "\n".join(lines)
