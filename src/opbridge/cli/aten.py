"""opbridge aten: look up a PyTorch operator, and how to call it from other frameworks."""

from __future__ import annotations

import argparse
import os
import textwrap
from collections.abc import Iterator
from typing import TYPE_CHECKING

from opbridge.base.errors import InputError, ToolchainError
from opbridge.cli.json_output import add_json, print_json
from opbridge.cli.terminal import bold
from opbridge.frameworks import FRAMEWORKS, installed
from opbridge.waist.schema import Argument, Schema

if TYPE_CHECKING:
    from opbridge.models.scan.catalog import OperatorDescription

_WIDTH = 100
_MOST_HITS = 40
_SAMPLES = {"int": "1", "SymInt": "1", "float": "0.5", "Scalar": "0.5", "bool": "False", "str": '"mean"'}
"""A sample value of each type, for the code example."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `opbridge aten`."""
    parser.add_argument(
        "name", nargs="?", metavar="NAME", help="an operator, as in leaky_relu, add.Tensor or torchvision::nms"
    )
    parser.add_argument(
        "--search", nargs="+", metavar="WORD", help="list the operators with these words in their names"
    )
    add_json(parser)


def run(options: argparse.Namespace) -> int:
    """Print the description of an operator, or search for operators by name; return 0."""
    if not installed(FRAMEWORKS["torch"]):
        raise ToolchainError(f"operators are looked up in PyTorch; install it with `{FRAMEWORKS['torch'].install}`")
    if (options.name is None) == (options.search is None):
        raise InputError("expected a name or --search", hint="opbridge aten leaky_relu, or opbridge aten --search pool")
    from opbridge.build.cache import Cache

    with Cache().step("importing PyTorch"):
        from opbridge.models.scan import catalog  # noqa: F401 - reads PyTorch's operators as it is imported
    if options.search is None:
        _show(options.name, options.json)
    else:
        _search(options.search, options.json)
    return 0


def _search(words: list[str], as_json: bool) -> None:
    from opbridge.models.scan.catalog import lookup, search

    hits = search(words)
    if not hits:
        raise InputError(f"no PyTorch operator has {' and '.join(words)} in its name")
    if as_json:
        print_json([{"name": (entry := lookup(name)).name, "schemas": entry.schemas} for name in hits])
        return
    for name in hits[:_MOST_HITS]:
        entry = lookup(name)
        print(f"{bold(entry.name.removeprefix('aten::'))}{entry.schemas[0].partition(entry.name)[2]}")
    if len(hits) > _MOST_HITS:
        print(f"and {len(hits) - _MOST_HITS} more; another word narrows it")


def _show(name: str, as_json: bool) -> None:
    from opbridge.models.scan.catalog import lookup

    entry = lookup(name)
    if as_json:
        print_json(_document(entry))
        return
    for schema in entry.schemas:
        print(bold(schema))
    print()
    for text in filter(None, (entry.documentation, "; ".join(entry.properties) + ".")):
        print(textwrap.fill(text[0].upper() + text[1:], _WIDTH) + "\n")
    for line in _mindspore(entry):
        print(line)
    print(_snippet(entry))


def _document(entry: OperatorDescription) -> dict[str, object]:
    said = {"documentation": entry.documentation, "properties": entry.properties}
    return {"name": entry.name, "schemas": entry.schemas, **said, "mindspore": _in_mindspore(entry)}


def _in_mindspore(entry: OperatorDescription) -> tuple[str, ...] | None:
    """Return the MindSpore functions of the same name; None if MindSpore is not installed."""
    if not installed(FRAMEWORKS["mindspore"]):
        return None
    os.environ.setdefault("GLOG_v", "3")  # its warnings are of no use here
    from opbridge.models.scan.mindspore_values import places

    return tuple(places(entry.name))


def _mindspore(entry: OperatorDescription) -> Iterator[str]:
    found = _in_mindspore(entry)
    if found is None:
        yield f"MindSpore is not installed: {FRAMEWORKS['mindspore'].install}\n"
        return
    yield f"In MindSpore by name: {', '.join(found) or 'nowhere'}."
    yield "Whether that runs on this device and computes the same, `opbridge scan` finds out on a model.\n"


def _snippet(entry: OperatorDescription) -> str:
    schema = Schema.parse(entry.schemas[0])
    arguments = [argument for argument in schema.arguments if not argument.has_default]
    tensors = ["x" if argument.type.is_list else _named(argument.name) for argument in arguments if argument.is_tensor]
    call = f"op({', '.join(map(_sample, arguments))})"
    short = entry.name.removeprefix("aten::")
    lines = ["import opbridge as ob", "", f'op = ob.aten("{short}")', ""]
    for heading, package, make in (
        ("MindSpore, in a Cell and with ms.grad too", "import mindspore as ms", "ms.Tensor([[-1.0, 2.0]])"),
        ("NumPy", "import numpy as np", 'np.array([[-1.0, 2.0]], "float32")'),
    ):
        lines += [f"# {heading}", package, *(f"{name} = {make}" for name in dict.fromkeys(tensors)), f"{call}", ""]
    return "\n".join(lines).rstrip()


def _sample(argument: Argument) -> str:
    if argument.type.is_optional:
        value = "None"
    elif argument.is_tensor:
        value = "[x, x]" if argument.type.is_list else _named(argument.name)
    else:
        value = _SAMPLES.get(argument.type.base, "...")
        value = f"[{value}]" if argument.type.is_list else value
    return f"{argument.name}={value}" if argument.kwarg_only else value


def _named(argument: str) -> str:
    return "x" if argument == "self" else argument
