"""opbridge judge: whether an answer to a task is right, without the hardware that it is for."""

from __future__ import annotations

import argparse
from pathlib import Path

from opbridge.cli.terminal import green, red


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("reference", type=Path, metavar="REFERENCE.py", help="the task: Model and its inputs")
    parser.add_argument("answer", type=Path, metavar="ANSWER.py", help="what is to do the same: ModelNew")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="of the inputs (default: 0)")
    parser.add_argument(
        "--timeout",
        type=float,
        default=60.0,
        metavar="S",
        help="seconds for the build, and for each call (default: 60)",
    )
    parser.add_argument("--json", action="store_true", help="print the verdict as JSON instead")


def run(options: argparse.Namespace) -> int:
    from opbridge.judging import Verdict, judge

    found = judge(options.reference, options.answer, seed=options.seed, timeout=options.timeout)
    if options.json:
        print(found.to_json())
    else:
        print((green if found.verdict is Verdict.RIGHT else red)(str(found)))
    return found.verdict.exit_code
