"""Define the task formats: the names that a reference has, and the name of the answer."""

from __future__ import annotations

import ast
import json
from dataclasses import dataclass
from pathlib import Path

from opbridge.base.errors import InputError, did_you_mean
from opbridge.base.safe_open import read_file


@dataclass(frozen=True)
class TaskFormat:
    """A way to write a task."""

    name: str
    of_reference: tuple[str, ...]
    answer: str
    """The name of the class or function of the answer."""
    hands_functions: bool = False
    """Whether only the task has a model, and it calls the function of the answer."""


_FUNCTIONS = ("Model", "get_inputs", "forward_fn")

FORMATS = (
    TaskFormat("robust-kbench, backward", (*_FUNCTIONS, "AutogradFunction"), "backward", hands_functions=True),
    TaskFormat("robust-kbench", _FUNCTIONS, "forward", hands_functions=True),
    TaskFormat("kernelbench", ("Model", "get_inputs", "get_init_inputs"), "ModelNew"),
)
"""All formats; the first whose names a reference has applies."""


def format_of(reference: Path) -> TaskFormat:
    """Return the format of a task; raise InputError if it has none."""
    names = _names(reference)
    for row in FORMATS:
        if names.issuperset(row.of_reference):
            return row
    row = FORMATS[-1]
    missing = next(name for name in row.of_reference if name not in names)
    raise InputError(
        f"{reference} is not a task: expected {', '.join(row.of_reference)} at its top, and {missing} is not there",
        hint=did_you_mean(missing, names),
    )


def config_of(reference: Path) -> Path:
    """Return the file with the sizes of a task that passes functions."""
    return reference.with_name(reference.stem.replace("func", "config") + ".json")


def settings_of(reference: Path) -> dict[str, object]:
    """Return the arguments of the functions of a task, from the file of its sizes; empty if there is no file.

    Raises:
        InputError: The file is not a table of sizes.
    """
    config = config_of(reference)
    if not config.is_file():
        return {}
    try:
        groups = json.loads(read_file(config))
        return {
            name: value
            for group in ("shared", "init", "input")
            for name, value in groups.get(f"single_{group}_configs", [{}])[0].items()
        }
    except (ValueError, AttributeError, IndexError, TypeError) as error:
        raise InputError(f"{config} is not a table of sizes: {error}") from None


def _names(path: Path) -> set[str]:
    try:
        tree = ast.parse(read_file(path), str(path))
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from None
    except (SyntaxError, ValueError) as error:
        raise InputError(f"{path} is not Python: {error}") from None
    names: set[str] = set()
    for node in tree.body:
        if isinstance(node, (ast.ClassDef, ast.FunctionDef)):
            names.add(node.name)
        elif isinstance(node, ast.ImportFrom):
            names.update(alias.asname or alias.name for alias in node.names)
        elif isinstance(node, ast.Assign):
            names.update(target.id for target in node.targets if isinstance(target, ast.Name))
    return names
