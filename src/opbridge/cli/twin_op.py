"""opbridge twin op: read an operator project as msopgen creates it, and build it for the CPU."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from opbridge.twins.ascend.projects import Definition, Operator, Project


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `opbridge twin op`."""
    parser.add_argument(
        "folder", type=Path, metavar="DIR", help="the project, with op_host and op_kernel, or a folder of projects"
    )
    parser.add_argument("-I", dest="include_dirs", type=Path, action="append", default=[], metavar="DIR")
    parser.add_argument(
        *("-o", "--output"),
        type=Path,
        metavar="DIR",
        help="write libraries, headers and an ops.yaml here",
    )
    parser.add_argument(
        "--namespace",
        metavar="NAME",
        help="the namespace of the operators in the ops.yaml (default: the folder of the project)",
    )
    parser.add_argument(
        *("--op", "--operator"),
        action="append",
        default=[],
        metavar="NAME",
        help="only this operator, as ScaledSum; may be repeated",
    )


def run(options: argparse.Namespace) -> int:
    """Build the project's operators and print what each contains; return 3 if some cannot be built."""
    from opbridge.base.errors import OpbridgeError
    from opbridge.cli.output_paths import require_writable_folder
    from opbridge.twins.ascend.projects import Operator, read_project

    require_writable_folder(options.output)
    project = read_project(options.folder, options.include_dirs)
    failures: list[str] = []
    built: list[Operator] = []
    for definition in _chosen(project, options.op):
        print(_signature(definition), flush=True)
        try:
            operator = Operator(project, definition)
            for line in _built(operator):
                print(f"  {line}", flush=True)
            built.append(operator)
        except OpbridgeError as error:
            failures.append(definition.type)
            print("  " + str(error).replace("\n", "\n  "))
    if failures:
        print(f"{len(failures)} of the kernels could not be built: {', '.join(failures)}")
    if built and options.output is not None:
        _write(project, built, options.output, options.namespace or _namespace(project.folder))
    return 3 if failures else 0


def _write(project: Project, operators: list[Operator], folder: Path, namespace: str) -> None:
    from opbridge.twins.ascend.projects.exported_project import write

    for name in write(project, operators, folder, namespace):
        print(f"wrote {folder / name}", flush=True)


def _namespace(folder: Path) -> str:
    return re.sub(r"\W", "_", folder.name)


def _chosen(project: Project, names: list[str]) -> tuple[Definition, ...]:
    from opbridge.base.errors import InputError

    known = {definition.type: definition for definition in project.definitions}
    unknown = [name for name in names if name not in known]
    if unknown:
        raise InputError(f"{project.folder} defines no operator {unknown[0]}; it has {', '.join(known) or 'none'}")
    return tuple(known[name] for name in names) or project.definitions


def _signature(definition: Definition) -> str:
    inputs = (f"Tensor{'?' if one.is_optional else ''} {one.name}" for one in definition.inputs)
    attributes = (
        f"{one.type} {one.name}" + ("" if one.default is None else f"={one.default}") for one in definition.attributes
    )
    outputs = ", ".join(f"Tensor {one.name}" for one in definition.outputs)
    return f"{definition.type}({', '.join((*inputs, *attributes))}) -> {outputs or '()'}"


def _built(operator: Operator) -> Iterator[str]:
    from opbridge.build.toolchains import build

    definition = operator.definition
    yield f"kernel {operator.kernel.relative_to(operator.project.folder)}, tiling {definition.tiling or 'none'}"
    for combination in range(definition.combinations):
        library = build(operator.request(combination))
        types = ", ".join(f"{one.name} {type.in_kernels}" for one, type in definition.types_of(combination))
        yield f"{types}: built{'' if library.cached else f' in {library.seconds:.1f} s'}"
