"""opbridge scan: report which operators of a PyTorch model MindSpore has, and write a package of the missing ones."""

from __future__ import annotations

import argparse
import re
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from opbridge.base.errors import InputError, ToolchainError
from opbridge.cli.json_output import add_json, people_read_stderr, print_json
from opbridge.cli.output_paths import require_writable_folder
from opbridge.cli.terminal import bold, green, red
from opbridge.frameworks import FRAMEWORKS, installed
from opbridge.models.scan.verdicts import ScannedOperator, State, Verdict

if TYPE_CHECKING:
    from opbridge.models.scan.trials import Answers

Colour = Callable[[str], str]

_NAME = re.compile(r"[a-z][a-z0-9_]*")
_COUNTED = {
    State.MISSING: "missing",
    State.FAILS: "failing",
    State.DIFFERS: "different",
    State.ELSEWHERE: "only on Ascend",
    State.NO_GRADIENT: "without their gradient",
    State.UNTRIED: "not tried",
}
_WIDEST_ANSWER = 64


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `opbridge scan`."""
    parser.add_argument(
        "target",
        metavar="SCRIPT.py|MODULE:MODEL",
        help="a script; or a model, its class, or a function that returns one, as module:make()",
    )
    parser.add_argument(
        "--input",
        action="append",
        default=[],
        metavar="SHAPE",
        help="the shape of an argument, as 2,3,224,224 or 8,128:int64; repeat it for each argument",
    )
    parser.add_argument(
        "--namespace",
        metavar="NAME",
        help="the namespace of the written operators (default: the name of the model and _ops)",
    )
    parser.add_argument(
        "-o", "--output", type=Path, metavar="DIR", help="write the package here (default: the namespace)"
    )
    add_json(parser)
    parser.add_argument("arguments", nargs="*", metavar="-- ARGUMENTS", help="the arguments of the script")


def run(options: argparse.Namespace) -> int:
    """Run the model, print its operators, and write the package; return 0."""
    with people_read_stderr(options.json):
        operators, found = _scanned(options)
    if options.json:
        print_json(_document(operators, found))
    return 0


def _scanned(options: argparse.Namespace) -> tuple[Sequence[ScannedOperator], Answers | None]:
    if not installed(FRAMEWORKS["torch"]):
        raise ToolchainError(f"a scan runs PyTorch; install it with `{FRAMEWORKS['torch'].install}`")
    namespace = options.namespace or _default_namespace(options.target)
    if not _NAME.fullmatch(namespace):
        raise InputError(
            f"'{namespace}' cannot be a namespace", hint="lower-case letters, digits and _: --namespace my_ops"
        )
    output = options.output or Path(namespace)
    if options.output or installed(FRAMEWORKS["mindspore"]):  # else nothing is written
        require_writable_folder(output)
    with tempfile.TemporaryDirectory(prefix="opbridge-scan-") as folder:
        operators = _recorded(options, Path(folder))
        if not operators:
            raise InputError(f"{options.target} ran, and called no PyTorch operator in a model's forward pass")
        if not installed(FRAMEWORKS["mindspore"]):
            _print_operators(operators)
            print(f"\nTo see which of them MindSpore has: {FRAMEWORKS['mindspore'].install}, and scan again.")
            return operators, None
        from opbridge.models.scan.trials import probe

        try:
            found = probe(operators)
        except BaseException:
            _print_operators(operators)  # finding them took a run of the model
            raise
    _report(operators, found)
    lacking = [(operator, found.verdicts[operator.name]) for operator in operators]
    lacking = [(operator, verdict) for operator, verdict in lacking if not verdict.state.is_there]
    if lacking:
        _write(lacking, namespace, output, options.target, found)
    return operators, found


def _document(operators: Sequence[ScannedOperator], found: Answers | None) -> list[dict[str, object]]:
    return [
        {
            "operator": operator.name,
            "schema": operator.schema,
            "calls": operator.calls,
            "dtypes": sorted(operator.dtypes),
            "module": operator.place.module,
            "line": operator.place.line,
            "mindspore": found and found.verdicts[operator.name].fields(),
        }
        for operator in operators
    ]


def _recorded(options: argparse.Namespace, folder: Path) -> list[ScannedOperator]:
    from opbridge.models.scan.operator_recorder import Recorder
    from opbridge.models.scan.run_target import Input, run_model, run_script

    recorder = Recorder(folder)
    if options.target.endswith(".py"):
        if options.input:
            raise InputError("--input is for a model; a script makes its own inputs")
        run_script(Path(options.target), options.arguments, recorder)
    else:
        run_model(options.target, [Input.parse(text) for text in options.input], recorder)
    return list(recorder.operators.values())


def _default_namespace(target: str) -> str:
    """Return the namespace for a target: unet3d_ops for `nets.unet:UNet3D` and for `UNet3D.py`."""
    name = Path(target).stem if target.endswith(".py") else target.rpartition(":")[2].rpartition(".")[2]
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z][a-z])", "_", name.removesuffix("()"))
    return re.sub(r"\W+", "_", words).strip("_0123456789").lower() + "_ops"


def _print_operators(operators: Sequence[ScannedOperator]) -> None:
    rows = [(item.name, str(item.calls), ", ".join(sorted(item.dtypes)), str(item.place)) for item in operators]
    _print_table(("operator", "calls", "dtypes", "first called in"), rows)


def _report(operators: Sequence[ScannedOperator], found: Answers) -> None:
    lacks = {operator.name: not found.verdicts[operator.name].state.is_there for operator in operators}
    ordered = sorted(operators, key=lambda operator: not lacks[operator.name])
    answers = [_shortened(str(found.verdicts[operator.name])) for operator in ordered]
    rows = [
        (item.name, str(item.calls), answer, str(item.place)) for item, answer in zip(ordered, answers, strict=True)
    ]
    head = ("operator", "calls", f"MindSpore {found.version} on {found.device}", "first called in")
    _print_table(head, rows, [red if lacks[operator.name] else green for operator in ordered])
    states = Counter(verdict.state for verdict in found.verdicts.values())
    counted = [f"{states[state]} {words}" for state, words in _COUNTED.items() if states[state]]
    print("\n" + bold(", ".join([f"MindSpore has {states[State.HAS]} of {len(operators)} operators", *counted])))
    print("Tried on the model's own calls; values and gradients are compared with PyTorch's.")
    print("The backward pass is not listed: a gradient comes with its operator, MindSpore's or PyTorch's.")


def _print_table(head: Sequence[str], rows: Sequence[Sequence[str]], colours: Sequence[Colour] = ()) -> None:
    """Print a table whose second column is numeric and whose third column has a color per row."""
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    print(bold("  ".join(cell.ljust(width) for cell, width in zip(head, widths, strict=True)).rstrip()))
    for row, colour in zip(rows, colours or [str] * len(rows), strict=True):
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
        cells[1] = row[1].rjust(widths[1])
        cells[2] = colour(cells[2])
        print("  ".join(cells).rstrip())


def _shortened(text: str) -> str:
    return text if len(text) <= _WIDEST_ANSWER else f"{text[: _WIDEST_ANSWER - 1]}…"


def _write(
    lacking: Sequence[tuple[ScannedOperator, Verdict]], namespace: str, folder: Path, target: str, found: Answers
) -> None:
    from opbridge.models.scan.written_package import functions, package, write

    made, refused = functions(lacking, namespace)
    for operator in refused:
        print(f"left out: {operator.schema}")
    if not made:
        return
    write(folder, package(made, namespace, target, f"MindSpore {found.version} on {found.device}"))
    print(f"\nWrote {folder / 'ops.yaml'} and {folder / '__init__.py'}:")
    names = ", ".join(function.name for function in made[:3]) + (", …" if len(made) > 3 else "")
    print(f"  from {folder.name} import {names}")
