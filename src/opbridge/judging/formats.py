"""How tasks are written: which names a reference has and which an answer."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from pathlib import Path

from opbridge.errors import InputError, did_you_mean
from opbridge.openings import read_file


@dataclass(frozen=True)
class TaskFormat:
    name: str
    model: str
    inputs: str
    initial: str
    answer: str
    """The class of the answer."""

    @property
    def of_reference(self) -> tuple[str, ...]:
        return self.model, self.inputs, self.initial


FORMATS = (TaskFormat("kernelbench", "Model", "get_inputs", "get_init_inputs", "ModelNew"),)
"""The first whose names a reference has is meant."""


def format_of(reference: Path) -> TaskFormat:
    names = _names(reference)
    for row in FORMATS:
        if names.issuperset(row.of_reference):
            return row
    row = FORMATS[0]
    missing = next(name for name in row.of_reference if name not in names)
    raise InputError(
        f"{reference} is no task: expected {', '.join(row.of_reference)} at its top, and {missing} is not there",
        hint=did_you_mean(missing, names),
    )


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
