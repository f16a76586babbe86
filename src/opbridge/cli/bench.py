"""opbridge bench: measure how long operators take, compared with a reference and with the machine's limits."""

from __future__ import annotations

import argparse
import math
from pathlib import Path

from opbridge.analysis.bench import ROUNDS, Measurement, Problem, Run, bench
from opbridge.analysis.bench.regressions import Change, changes, require_comparable
from opbridge.analysis.bench.saved_runs import check_name, folder_of, save, saved, to_json
from opbridge.analysis.bench.tables import seconds, table
from opbridge.base.errors import InputError
from opbridge.base.progress import detail
from opbridge.build.cache import Cache
from opbridge.cli.json_output import add_json_or_file, file_of, hand_over, people_read_stderr
from opbridge.cli.manifest_arguments import add_selection, chosen, load_library
from opbridge.cli.output_paths import require_writable
from opbridge.cli.terminal import bold, green, red
from opbridge.waist.op import Op, OpLibrary

_THRESHOLD = 0.1
_AGAIN = 2
"""How often to repeat a measurement that seems slower before it counts."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `opbridge bench`."""
    add_selection(parser, "measured")
    parser.add_argument(
        "--reference",
        action="append",
        default=[],
        metavar="[NAME=]REFERENCE",
        help="time operators (the operator NAME) next to another one, a PyTorch operator as aten::NAME, a function "
        "as MODULE:FUNCTION, another kernel as DEVICE; may be repeated",
    )
    parser.add_argument(
        "--rounds", type=int, default=ROUNDS, metavar="N", help=f"measure each this number of times (default: {ROUNDS})"
    )
    parser.add_argument(
        "--chip", default="", metavar="NAME", help="also predict the time of a call's kernels on this chip, as in a100"
    )
    add_json_or_file(parser)
    parser.add_argument("--save", metavar="NAME", help="keep this run, to compare later ones with it")
    parser.add_argument("--against", metavar="NAME", help="compare this run with a saved one; exit code 1 if slower")
    parser.add_argument(
        "--threshold",
        type=_part,
        metavar="PERCENT",
        help=f"with --against: how much slower is too slow (default: {_THRESHOLD:.0%}%)",
    )


def _part(text: str) -> float:
    try:
        value = float(text.removesuffix("%")) / 100
    except ValueError:
        value = math.nan
    if not 0 < value < math.inf:
        raise argparse.ArgumentTypeError(f"expected a number of per cent above 0, such as 10%, got {text}")
    return value


def run(options: argparse.Namespace) -> int:
    """Measure the operators and print a table; return 1 if one is slower than before or could not be measured."""
    if options.threshold is not None and options.against is None:
        raise InputError("--threshold says how much slower than a saved run is too slow", hint="add --against NAME")
    for name in filter(None, (options.save, options.against)):
        check_name(name)
    require_writable(file_of(options.json))
    library = load_library(options.manifest, options.device)
    operators = chosen(library, options.op)
    folder = folder_of(options.manifest)
    before = _earlier(options.against, folder)
    with people_read_stderr(options.json):
        done = _measured(options, operators, library, before)
        _show(done)
        if options.save:
            print(f"\nsaved as {save(done, options.save, folder)}")
    hand_over(to_json(done), options.json)
    slower: list[Change] = []
    if before is not None:
        threshold = _THRESHOLD if options.threshold is None else options.threshold
        with people_read_stderr(options.json):
            found = changes(done, before, options.against)
            slower = _confirmed(options, operators, library, before, found, threshold)
    return 1 if slower or done.problems else 0


def _show(done: Run) -> None:
    print(table(done))
    for problem in done.problems:
        print(f"{bold(problem.operator)} in {problem.framework}: {red('not measured')}: {problem.message}")


def _earlier(name: str | None, folder: Path) -> Run | None:
    if name is None:
        return None
    from opbridge.analysis.bench import machine

    before = saved(name, folder)
    require_comparable(machine(), before, name)
    return before


def _measured(options: argparse.Namespace, operators: list[Op], library: OpLibrary, before: Run | None) -> Run:
    sizes = {
        (measurement.operator, measurement.framework): measurement.size
        for measurement in (before.measurements if before else ())
        if measurement.size is not None
    }
    with Cache().step(f"measuring {_number(len(operators))}"):
        return bench(
            operators,
            frameworks=options.framework,
            references=options.reference,
            device=options.device,
            rounds=options.rounds,
            sizes=sizes,
            chip=options.chip,
            others=library,
            on_result=_progress,
        )


def _number(operators: int) -> str:
    return "one operator" if operators == 1 else f"{operators} operators"


def _progress(result: Measurement | Problem) -> None:
    detail(f"{result.operator} in {result.framework}")


def _confirmed(
    options: argparse.Namespace,
    operators: list[Op],
    library: OpLibrary,
    before: Run,
    found: list[Change],
    threshold: float,
) -> list[Change]:
    """Return the operators that are slower in each repeated measurement, to rule out a temporarily busy machine."""
    print(f"\nagainst '{options.against}' of {before.date}")
    again = found
    for _ in range(_AGAIN):
        suspects = {change.now.place for change in again if change.is_slower(threshold)}
        if not suspects:
            break
        names = {place[0] for place in suspects}
        rerun = _measured(options, [op for op in operators if op.name in names], library, before)
        newer = {change.now.place: change for change in changes(rerun, before, options.against)}
        again = [_better(change, newer.get(change.now.place)) for change in again]
    for change in again:
        print(_told(change, threshold))
    return [change for change in again if change.is_slower(threshold)]


def _better(change: Change, newer: Change | None) -> Change:
    return newer if newer is not None and newer.part < change.part else change


def _told(change: Change, threshold: float) -> str:
    now, before = change.now, change.before
    where = f"{now.operator.partition('::')[2]} in {now.framework}, {now.extent}"
    what = f"{seconds(before.time.median)} before, {seconds(now.time.median)} now"
    if change.by == "reference" and now.ratio and before.ratio:
        what = f"{before.ratio.median:.2f} of {now.reference}'s time before, {now.ratio.median:.2f} now"
    if change.is_slower(threshold):
        return red(f"✗ {where}: {change.part:.0%} slower: {what}")
    if change.apart and change.part < 0:
        return green(f"✓ {where}: {-change.part:.0%} faster: {what}")
    return f"✓ {where}: {what}"
