"""opbridge doctor: report what is installed or missing and how to fix it, or what is wrong with a library."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from opbridge.base.errors import CacheError, ToolchainError
from opbridge.base.progress import step
from opbridge.cli.json_output import add_json, print_json
from opbridge.cli.terminal import bold, green, red

if TYPE_CHECKING:
    from opbridge.authoring.doctor.finding import Finding


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `opbridge doctor`."""
    parser.add_argument(
        "library",
        type=Path,
        nargs="?",
        metavar="FILE.so",
        help="report why this library does not load, what it offers and how to use it, without running it",
    )
    add_json(parser)


def run(options: argparse.Namespace) -> int:
    """Examine the environment or a library; return 1 if the library has problems.

    Raises:
        ToolchainError: A required part of the environment is missing or broken.
    """
    if options.library is not None:
        return _library(options.library, options.json)
    return _environment(options.json)


def _library(path: Path, as_json: bool) -> int:
    from opbridge.authoring.doctor import examine

    report = examine(path)
    if as_json:
        print_json(asdict(report))
        return 1 if report.problems else 0
    needs = "; ".join(f"{name} {what}" for name, what in report.needs.items())
    print(f"{bold(report.path)}: {report.kind}" + (f"\n         needs: {needs}" if needs else ""))
    for problem in report.problems:
        _print(red("wrong"), problem.what, *problem.details, f"→ {problem.cure}")
    for note in report.notes:
        _print("note", note)
    for entry in report.entry_points:
        _print(green("offers"), ": ".join(filter(None, (f"{entry.kind} {entry.name}", entry.details))), entry.use)
    if not report.problems and not report.entry_points:
        _print("note", "it offers no function that opbridge, PyTorch, Python, JAX or tvm-ffi would find")
    return 1 if report.problems else 0


def _step(what: str) -> AbstractContextManager[None]:
    """Return a step that remembers how long it took, if there is a cache; a finding says what is wrong with it."""
    from opbridge.build.cache import Cache

    try:
        return Cache().step(what)
    except CacheError:
        return step(what)


def _environment(as_json: bool) -> int:
    from opbridge.authoring.doctor.environment import examine_environment
    from opbridge.authoring.doctor.readiness import readiness

    with _step("examining this machine, and importing each framework to see that it works"):
        findings = examine_environment()
    if as_json:
        print_json([asdict(finding) for finding in findings])
        _expect_all(findings)
        return 0
    for finding in findings:
        if finding.found is not None:
            print(f"{green('ok')}       {finding.what}: {finding.found}")
        else:
            state = red("missing") if finding.required else "absent "
            print("\n         ".join((f"{state}  {finding.what}", *map(str.strip, finding.cure.splitlines()))))
    print(f"\n{bold(readiness(findings))}")
    _expect_all(findings)
    return 0


def _expect_all(findings: Sequence[Finding]) -> None:
    if wrong := [finding.what for finding in findings if finding.is_wrong]:
        raise ToolchainError(f"missing or broken here: {', '.join(wrong)}")


def _print(state: str, *lines: str) -> None:
    print("\n         ".join((f"{state:<7}  {lines[0]}", *lines[1:])))
