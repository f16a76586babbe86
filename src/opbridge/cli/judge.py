"""opbridge judge: whether answers to tasks are right, without the hardware that they are for."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING

from opbridge.cli.terminal import green, red
from opbridge.errors import InputError

if TYPE_CHECKING:
    from opbridge.judging import Judgement
    from opbridge.judging.costing import Costs


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "reference",
        type=Path,
        metavar="REFERENCE.py|DIR|ops.yaml",
        help="the task, a folder of tasks, or a manifest of opbridge's operators",
    )
    parser.add_argument(
        "answer",
        nargs="?",
        metavar="ANSWER",
        help="what is to do the same; of a manifest, what operators are held against (check --reference)",
    )
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="of the inputs (default: 0)")
    parser.add_argument(
        "--timeout", type=float, default=60.0, metavar="S", help="seconds for the build, and for a call (default: 60)"
    )
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="answers of a folder at a time (default: 1)")
    parser.add_argument("--page", type=Path, metavar="FILE", help="of a folder: one HTML file of its verdicts")
    parser.add_argument("--json", action="store_true", help="print the verdict as JSON instead")
    parser.add_argument(
        "--cost", metavar="CHIP", help="say too what a right answer takes on a chip beside the reference, as in a100"
    )


def run(options: argparse.Namespace) -> int:
    from opbridge.costs import chip_named
    from opbridge.judging import judge
    from opbridge.judging.operators import is_manifest, judge_operators

    if options.cost:
        chip_named(options.cost)  # before anything is built
    if options.reference.is_dir():
        from opbridge.cli import judging_many

        return judging_many.run(options)
    if options.page:
        raise InputError("--page is of a folder of answers", hint="as in: opbridge judge DIR --page verdicts.html")
    if is_manifest(options.reference):
        found = judge_operators(options.reference, options.answer, seed=options.seed, timeout=options.timeout)
        return _print(found, options.json)
    if options.answer is None:
        raise InputError("judge needs a task and an answer", hint="as in: opbridge judge reference.py answer.py")
    found = judge(options.reference, options.answer, seed=options.seed, timeout=options.timeout)
    return _print(found, options.json, _cost(options) if options.cost and not found.verdict.exit_code else None)


def _print(found: Judgement, as_json: bool, cost: Costs | None = None) -> int:
    if as_json:
        print(json.dumps(json.loads(found.to_json()) | ({"cost": cost.fields()} if cost else {}), indent=2))
    else:
        print(_coloured(found), *([cost] if cost else []), sep="\n")
    return found.verdict.exit_code


def _cost(options: argparse.Namespace) -> Costs:
    from opbridge.judging.costing import costs

    return costs(options.reference, Path(options.answer), options.cost)


def _coloured(found: Judgement) -> str:
    return (red if found.verdict.exit_code else green)(str(found))
