"""opbridge judge: decide whether answers to tasks are right, without the hardware they are written for."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from opbridge.base.errors import InputError
from opbridge.cli.json_output import add_json, print_json
from opbridge.cli.terminal import green, red

if TYPE_CHECKING:
    from opbridge.analysis.judge import Judgement
    from opbridge.analysis.judge.verdict.costs import Costs


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `opbridge judge`."""
    parser.add_argument(
        "reference",
        nargs="?",
        type=Path,
        metavar="REFERENCE.py|DIR|ops.yaml",
        help="the task, a folder of tasks, or a manifest of operators; with --serve, a folder for verdicts",
    )
    parser.add_argument(
        "answer",
        nargs="?",
        metavar="ANSWER",
        help="the answer to judge; with a manifest, the reference of its operators (check --reference)",
    )
    parser.add_argument(
        "--seed",
        type=int,
        metavar="N",
        help="the seed of the inputs, to repeat a verdict (default: drawn for each answer; of a manifest, 0)",
    )
    parser.add_argument(
        "--timeout",
        type=float,
        default=60.0,
        metavar="S",
        help="the time limit of the build and of each call, in seconds (default: 60)",
    )
    parser.add_argument(
        *("-j", "--jobs"),
        type=int,
        default=1,
        metavar="N",
        help="with a folder: answers to judge at a time (default: 1)",
    )
    parser.add_argument("--ray", metavar="ADDRESS", help="with a folder: judge on a Ray cluster; `auto` finds it")
    parser.add_argument("--page", type=Path, metavar="FILE", help="with a folder: write the verdicts as one HTML file")
    parser.add_argument(
        "--policy",
        choices=("kernels", "any"),
        default="kernels",
        help="who has to do the work: kernels at least half of it (default), or any, so that PyTorch's operators count",
    )
    add_json(parser)
    parser.add_argument(
        "--cost",
        metavar="CHIP",
        help="also predict the time of a right answer and of the reference on a chip, as in a100",
    )

    _add_serving(parser.add_argument_group("serving"))


def _add_serving(serving: argparse._ArgumentGroup) -> None:
    serving.add_argument("--serve", action="store_true", help="judge answers that arrive by HTTP, until interrupted")
    serving.add_argument(
        "--host", default="127.0.0.1", metavar="NAME", help="listen on this address (default: 127.0.0.1)"
    )
    serving.add_argument(
        "--port", type=int, default=8765, metavar="N", help="listen on this port; 0 picks a free one (default: 8765)"
    )
    serving.add_argument(
        "--token-file", type=Path, metavar="FILE", help="the file with the secret that clients must send"
    )
    serving.add_argument(
        "--queue",
        type=int,
        default=1000,
        metavar="N",
        help="accept at most this number of waiting answers (default: 1000)",
    )


def run(options: argparse.Namespace) -> int:
    """Judge one answer, a folder of answers or a manifest, or serve over HTTP; return the verdict's exit code."""
    from opbridge.analysis.judge import judge
    from opbridge.analysis.judge.answer.manifest_operators import is_manifest, judge_operators
    from opbridge.analysis.profile import chip_named
    from opbridge.build.cache import Cache

    if options.jobs < 1:
        raise InputError(f"--jobs {options.jobs}: expected at least 1")
    if options.serve:
        return _serve(options)
    if options.reference is None:
        raise InputError("judge needs a task and an answer", hint="as in: opbridge judge reference.py answer.py")
    if options.cost:
        chip_named(options.cost)  # fail before building anything
    if options.reference.is_dir():
        from opbridge.cli import judge_folder

        return judge_folder.run(options)
    if options.page or options.ray:
        raise InputError(
            "--page and --ray need a folder of answers", hint="as in: opbridge judge DIR --page verdicts.html"
        )
    if is_manifest(options.reference):
        with Cache().step(f"judging {options.answer or options.reference}"):
            found = judge_operators(options.reference, options.answer, seed=options.seed or 0, timeout=options.timeout)
        return _print(found, options.json)
    if options.answer is None:
        raise InputError("judge needs a task and an answer", hint="as in: opbridge judge reference.py answer.py")
    with Cache().step(f"judging {options.answer}"):
        found = judge(
            options.reference, options.answer, seed=options.seed, timeout=options.timeout, policy=options.policy
        )
    return _print(found, options.json, _cost(options) if options.cost and not found.verdict.exit_code else None)


def _serve(options: argparse.Namespace) -> int:
    from opbridge.analysis.judge.many.batch import KEPT
    from opbridge.analysis.judge.many.service import Settings, Token, serve

    if options.answer or options.json or options.page or options.cost or options.ray:
        raise InputError("--serve works with --host, --port, --token-file, --queue, --jobs and --timeout only")
    if not 0 <= options.port < 1 << 16:
        raise InputError(f"--port {options.port}: expected a number from 0 to 65535")
    token = Token.read(options.token_file) if options.token_file else None
    kept = (options.reference or Path()) / KEPT
    settings = Settings(kept, options.host, options.port, token, options.jobs, options.queue, options.timeout)
    serve(settings, lambda address: print(f"{address}, verdicts in {kept}", flush=True))
    return 0


def _print(found: Judgement, as_json: bool, cost: Costs | None = None) -> int:
    if as_json:
        print_json(found.fields() | ({"cost": cost.fields()} if cost else {}))
    else:
        print(_coloured(found), *([cost] if cost else []), sep="\n")
    return found.verdict.exit_code


def _cost(options: argparse.Namespace) -> Costs:
    from opbridge.analysis.judge.verdict.costs import costs

    return costs(options.reference, Path(options.answer), options.cost)


def _coloured(found: Judgement) -> str:
    return (red if found.verdict.exit_code else green)(str(found))
