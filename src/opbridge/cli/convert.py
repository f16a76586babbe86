"""opbridge convert: convert a PyTorch network to MindSpore or JAX source."""

from __future__ import annotations

import argparse
import datetime
import keyword
import re
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from opbridge._version import __version__
from opbridge.base.errors import InputError, ToolchainError, UnsupportedError
from opbridge.build.cache import Cache
from opbridge.cli.json_output import add_json, people_read_stderr, print_json
from opbridge.cli.output_paths import require_writable, require_writable_folder
from opbridge.cli.terminal import bold, green, red, size
from opbridge.frameworks import FRAMEWORKS, installed

if TYPE_CHECKING:
    from opbridge.models.conversion.comparison import Comparison, Difference
    from opbridge.models.conversion.convert_module import Converted

_DIFFERENT = 1
_ROWS = 12


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `opbridge convert`."""
    parser.add_argument("model", metavar="MODULE:MODEL", help="a class, a function as module:make(), or a model")
    parser.add_argument(
        "--input",
        action="append",
        default=[],
        metavar="SHAPE",
        help="the shape of an argument, as 2,3,224,224 or 8,128:int64; repeat it for each argument",
    )
    parser.add_argument(
        "--inputs", metavar="MODULE:NAME", help="a tuple or dict of inputs, or a function that returns one"
    )
    parser.add_argument("--to", default="mindspore", metavar="FRAMEWORK", help="mindspore (default) or jax")
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="DIR", help="write the package here")
    parser.add_argument(
        "--prefer",
        metavar="KERNELS",
        help="aten (default for MindSpore): PyTorch kernels; native (default for JAX): operators of the framework "
        "that agree in a trial",
    )
    parser.add_argument(
        "--native-only", action="store_true", help="use only operators of the framework, or report why not"
    )
    parser.add_argument(
        "--target",
        metavar="DEVICE",
        help="ascend: a MindSpore package for the NPU, with check_on_device.py to compare it with PyTorch there",
    )
    parser.add_argument(
        "--check",
        action="store_true",
        help="compare values, the gradient of each parameter and three training steps with PyTorch",
    )
    parser.add_argument("--page", type=Path, metavar="FILE", help="with --check: write the results as one HTML file")
    add_json(parser)


def run(options: argparse.Namespace) -> int:
    """Convert the network, and compare it with PyTorch if asked; return 1 if they differ."""
    if not installed(FRAMEWORKS["torch"]):
        raise ToolchainError(f"a conversion runs PyTorch; install it with `{FRAMEWORKS['torch'].install}`")
    if options.page and not options.check:
        raise InputError("--page shows what --check finds", hint="--check --page net.html")
    require_writable(options.page)
    _importable(options.output)
    require_writable_folder(options.output)
    with people_read_stderr(options.json):
        document = _convert(options)
    if options.json:
        print_json(document)
    return _DIFFERENT if document.get("verdict") == "differs" else 0


def _convert(options: argparse.Namespace) -> dict[str, object]:
    """Convert the network, and return the document that `--json` prints."""
    from opbridge.models.conversion.convert_module import converted
    from opbridge.models.scan.run_target import loaded_model
    from opbridge.models.scan.trials import TITLES

    with Cache().step(f"converting {options.model}"):
        model = loaded_model(options.model)
        args, kwargs = _inputs(options)
        started = time.perf_counter()
        made = converted(
            model,
            args,
            kwargs,
            to=options.to,
            prefer=options.prefer,
            native_only=options.native_only,
            device=options.target,
        )
        made.write(options.output)
        took = time.perf_counter() - started
    print(green(f"{bold(str(options.output))}: {len(made.state)} values    ({took:.1f} s)"))
    print(f"  from {options.output.name} import load")
    for note in made.notes:
        print(f"  {note}")
    document = {
        "package": str(options.output),
        "to": made.to,
        "values": len(made.state),
        "operators": made.operators,
        "native": made.native,
        "notes": made.notes,
        "seconds": took,
    }
    if made.device:
        _print_device(made, options)
    checked = _checked(model, made, (args, kwargs), options) if options.check else {}
    print(_kernels(made, TITLES[made.to], options.prefer))
    return {**document, **checked}


def _print_device(made: Converted, options: argparse.Namespace) -> None:
    """Say how to check the package on the device, and what could not be tried here."""
    name = options.output.name
    if made.documented:
        print(f"  by MindSpore's documentation, because only an NPU can run them: {', '.join(made.documented)}")
        if options.check:
            raise UnsupportedError(
                f"--check runs the network here, and this device has no kernels for {', '.join(made.documented)}\n"
                f"  on the NPU: python -m {name}.check_on_device"
            )
    there = f"there: python -m {name}.check_on_device" if made.example else "it draws random numbers, so none are kept"
    print(f"  not run on an NPU yet; {there}")


def _kernels(made: Converted, framework: str, prefer: str | None) -> str:
    """Return the sentence about what computes the operators, and how to change that."""
    count, native = len(made.operators), len(made.native)
    if not count:
        return f"all operators ({native}) are {framework}'s own"
    if not native and prefer != "native":
        return (
            f"all operators ({count}) run PyTorch's CPU kernels; --prefer native takes those of {framework} that agree"
        )
    return f"{native} operators are {framework}'s own, {count} run PyTorch's CPU kernels; --native-only says why"


def _importable(folder: Path) -> None:
    """Raise InputError if a folder has a name that no import statement can have."""
    name = folder.name
    if not name.isidentifier() or keyword.iskeyword(name):
        near = re.sub(r"\W", "_", name).strip("_").lstrip("0123456789_") or "net"
        raise InputError(f"-o {folder}: no package can be imported by the name '{name}'", hint=f"-o {near}")


def _inputs(options: argparse.Namespace) -> tuple[tuple[object, ...], dict[str, object]]:
    from opbridge.models.scan.run_target import drawn, given

    if bool(options.input) == bool(options.inputs):
        raise InputError("expected --input SHAPE or --inputs MODULE:NAME", hint="--input 2,3,224,224")
    if options.inputs:
        return given(options.inputs)
    return drawn(options.input), {}


def _checked(model: Any, made: Converted, inputs: tuple[Any, Any], options: argparse.Namespace) -> dict[str, object]:
    from opbridge.models.conversion.check_conversion import check

    with Cache().step(f"comparing {options.output.name} with PyTorch's"):
        found = check(model, options.output, *inputs)
    wrong = [each for each in found if not each.is_right]
    _print_rows(found)
    if wrong:
        print(red(f"{len(wrong)} of {len(found)} comparisons differ from PyTorch"))
        first = _first_difference(made, options.output, inputs)
    else:
        print(green(f"all {len(found)} comparisons agree with PyTorch"))
        first = None
    if options.page:
        _write_page(options.page, made, found, first)
    return {
        "verdict": "differs" if wrong else "agrees",
        "comparisons": [each.fields() for each in found],
        "first": first.fields() if first else None,
    }


def _first_difference(made: Converted, folder: Path, inputs: tuple[Any, Any]) -> Difference | None:
    from opbridge.models.conversion.first_difference import first_difference

    first = first_difference(made, folder.resolve(), *inputs)
    print(f"first: {first}" if first else "each operator agrees by itself in inference, given PyTorch's numbers")
    return first


def _write_page(file: Path, made: Converted, found: list[Comparison], first: Difference | None) -> None:
    from opbridge.analysis.report.conversions import ShownConversion, conversion_page
    from opbridge.models.scan.trials import TITLES

    now = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")
    name, framework = made.package.exported.name, TITLES[made.to]
    operators = made.operators, made.native, made.in_the_way
    page = conversion_page(ShownConversion(name, framework, now, __version__, found, *operators, first))
    file.write_text(page, encoding="utf-8")
    print(f"{file}: {size(len(page.encode()))}")


def _print_rows(found: list[Comparison]) -> None:
    shown = sorted(found, key=lambda each: -each.difference)[:_ROWS]
    print(bold(f"{'difference':>10}  of"))
    for each in shown:
        line = f"{each.difference:10.1e}  {each.what}"
        print(line if each.is_right else red(line))
    if len(found) > len(shown):
        print(f"{'':10}  and {len(found) - len(shown)} smaller")
