"""opbridge demo: five sources become operators in every installed framework, built, checked and timed for the user."""

from __future__ import annotations

import argparse
import shutil
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import opbridge as ob
from opbridge._version import __version__
from opbridge.analysis.bench import SMALL, bench
from opbridge.analysis.report.dispatch_keys import walks
from opbridge.base.progress import show
from opbridge.build.cache import Cache
from opbridge.cli.demo import commands
from opbridge.cli.demo.extension import show_extension, start_extension
from opbridge.cli.demo.parts import REPORT, edit, show_bug, show_calls, show_edit
from opbridge.cli.demo.parts import report as write_report
from opbridge.cli.demo.programs import frameworks_imported
from opbridge.cli.demo.scenarios import SCENARIOS, seconds_to_build
from opbridge.cli.demo.table import WIDTH, Table
from opbridge.cli.terminal import bold, red
from opbridge.frameworks import FRAMEWORKS, installed
from opbridge.verify.check import check
from opbridge.waist.op import OpLibrary

_LIBRARY = Path(__file__).parent / "library"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `opbridge demo`."""
    parser.add_argument(
        "--keep", type=Path, metavar="DIR", help="keep the files and the report of the demo in this folder"
    )


def run(options: argparse.Namespace) -> int:
    """Run the demo; return 1 if a check, a command or the extension fails."""
    if options.keep:
        shutil.copytree(_LIBRARY, options.keep, dirs_exist_ok=True)
        return _show(options.keep.absolute(), options.keep)
    with tempfile.TemporaryDirectory(prefix="opbridge-demo-") as folder:
        shutil.copytree(_LIBRARY, folder, dirs_exist_ok=True)
        return _show(Path(folder), None)


def _show(folder: Path, kept: Path | None) -> int:
    # Append a unique comment to each source, so that the demo compiles it instead of finding it in the cache.
    for name in ("swiglu.cpp", "row_norm.cu", "squared_relu.cpp"):
        edit(folder / name)
    print(f"{bold(f'opbridge {__version__}')}: write a tensor operator once, call it from every framework\n")
    frameworks = [name for name, framework in FRAMEWORKS.items() if installed(framework)]
    with frameworks_imported(frameworks):
        return _show_all(folder, kept, frameworks)


def _show_all(folder: Path, kept: Path | None, frameworks: list[str]) -> int:
    scenarios = [one for one in SCENARIOS if one.is_built or "torch" in frameworks]
    show("compiling four sources ...")
    built = seconds_to_build(folder)
    library: OpLibrary = ob.load(folder / "ops.yaml")
    operators = [library[scenario.operator] for scenario in scenarios]
    references = {one.operator: f"{folder / 'expected.py'}:{one.operator}" for one in scenarios}
    table = Table(frameworks, built)
    show(f"checking values and gradients in {', '.join(frameworks)} ...")
    # The report needs the dispatch; compute it during the checks, since importing PyTorch takes most of its time.
    with ThreadPoolExecutor(1) as thread:
        dispatch = thread.submit(walks, operators)
        rows = check(
            operators,
            frameworks=frameworks,
            checks=["values", "gradients"],
            reference=references,
            on_row=table.add,
        )
        table.finish()
    show_bug(folder)
    show_edit(folder)
    extension = start_extension(folder, frameworks)
    running = commands.start(folder, frameworks)
    extension_fails = show_extension(extension, WIDTH, frameworks)
    commands_fail = commands.show(running, str(kept) if kept else "the folder that opbridge demo --keep DIR leaves")
    # Measure last, so that other work does not affect the times.
    peer = f"swiglu={folder / 'peers.py'}:swiglu"
    with Cache().step("timing calls"):
        measured = bench(library.swiglu, references=[peer], rounds=5, extents=(SMALL,), frameworks=frameworks)
    show_calls(measured)
    written = write_report(operators, rows, measured, dispatch.result(), kept / REPORT if kept else None)
    print(
        f"\n{bold('The whole story')}, with each operator's rules, errors and dispatch, as a page:\n  {written}",
        flush=True,
    )
    print(f"\n{bold('Next')}  opbridge new my_op            a library of your own, with its tests")
    print("      opbridge aten softplus        any operator of PyTorch's, in the other frameworks")
    print("      opbridge check ops.yaml       what an operator promises, checked in every framework")
    failed = [row for row in rows if row.failed]
    for row in failed:
        print(f"\n{red('failed')}  {row.operator} in {row.framework}, {row.check}: {row.message}")
    return 1 if failed or commands_fail or extension_fails else 0
