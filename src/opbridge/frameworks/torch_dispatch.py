"""What PyTorch's dispatcher holds for an operator, read from the dispatcher itself."""

from __future__ import annotations

import re
from dataclasses import dataclass

import torch

_LINE = re.compile(r"^(?P<key>\w+)(?P<alias>\[alias\])?: (?P<by>.*?) :: ", re.MULTILINE)


@dataclass(frozen=True)
class Registration:
    """One kernel of the dispatcher's."""

    key: str
    by: str
    """The file and line that registered it, or what stands in their place."""
    is_alias: bool
    """Whether the key stands for several."""


def registrations(name: str) -> list[Registration]:
    """Of an operator by its full name, `ns::name` or `ns::name.overload`."""
    dump: str = torch._C._dispatch_dump(name)
    return [Registration(match["key"], match["by"], bool(match["alias"])) for match in _LINE.finditer(dump)]
