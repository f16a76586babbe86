"""opbridge report: write the checks and measurements of a library to one HTML file."""

from __future__ import annotations

import argparse
import datetime
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from opbridge._version import __version__
from opbridge.analysis.bench import Run, bench
from opbridge.analysis.bench.saved_runs import folder_of, history, read_run
from opbridge.analysis.report import Contents, operators_of, page
from opbridge.analysis.report.dispatch_keys import walks
from opbridge.base.errors import InputError
from opbridge.base.safe_open import read_json
from opbridge.build.cache import Cache
from opbridge.cli.manifest_arguments import add_selection, chosen, load_library
from opbridge.cli.output_paths import require_writable
from opbridge.cli.terminal import size
from opbridge.frameworks import FRAMEWORKS
from opbridge.verify.check import Row, check
from opbridge.waist.op import Op

_FILE = Path("opbridge-report.html")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `opbridge report`."""
    parser.add_argument(
        "-o", "--output", type=Path, default=_FILE, metavar="FILE", help=f"write the report here (default: {_FILE})"
    )
    parser.add_argument(
        "--check",
        action="append",
        type=Path,
        metavar="FILE",
        help="the FILE of `opbridge check --json FILE`; may be repeated, for several devices",
    )
    parser.add_argument("--bench", type=Path, metavar="FILE", help="the FILE of `opbridge bench --json FILE`")
    parser.add_argument("--profile", type=Path, metavar="FILE", help="the output of `opbridge profile --json`")
    add_selection(parser, "shown", by_default="ops.yaml")


def run(options: argparse.Namespace) -> int:
    """Write the report; return 1 if a check failed or an operator could not be measured."""
    require_writable(options.output)
    library = load_library(options.manifest, options.device)
    operators = chosen(library, options.op)
    profile = _profile(options.profile) if options.profile else None
    given = read_run(options.bench) if options.bench else None  # before minutes of work are lost for it
    rows = _rows(options, operators)
    measured = _run(options, operators, given)
    dispatch = walks(operators) if "torch" in (options.framework or FRAMEWORKS) else {}
    shown = operators_of(operators, rows, measured, dispatch)
    contents = Contents(
        library.namespace or options.manifest.stem,
        datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        __version__,
        shown,
        measured,
        {name: run for name, run in history(folder_of(options.manifest)).items() if run.machine == measured.machine},
        profile,
    )
    written = page(contents)
    options.output.write_text(written, encoding="utf-8")
    failed = sum(row.failed for row in rows)
    print(f"{options.output}: {len(shown)} operators, {len(rows)} checks, {failed} failed, {size(len(written))}")
    return 1 if failed or (measured and measured.problems) else 0


def _profile(file: Path) -> dict[str, Any]:
    try:
        found = read_json(file)
        if {"chip", "kernels"} <= found.keys():
            return dict(found)
    except (OSError, ValueError, AttributeError):
        pass
    raise InputError(f"{file} is not a profile", hint="opbridge profile --json ops.yaml > profile.json writes one")


def _rows(options: argparse.Namespace, operators: Sequence[Op]) -> list[Row]:
    if options.check is None:
        with Cache().step(f"checking {len(operators)} operators"):
            return check(operators, frameworks=options.framework, device=options.device)
    return [row for file in options.check for row in _read_rows(file)]


def _read_rows(file: Path) -> list[Row]:
    try:
        return [Row.of(fields) for fields in read_json(file)["rows"]]
    except (ValueError, TypeError, KeyError, AttributeError):
        hint = "check again: opbridge check ops.yaml --json FILE"
        raise InputError(f"{file} is not what this version's `opbridge check --json` writes", hint=hint) from None


def _run(options: argparse.Namespace, operators: Sequence[Op], given: Run | None) -> Run:
    if given is None:
        with Cache().step(f"measuring {len(operators)} operators"):
            return bench(operators, frameworks=options.framework, device=options.device)
    return given
