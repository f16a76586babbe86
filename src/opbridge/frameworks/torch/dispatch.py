"""What PyTorch's dispatcher holds for an operator, read from the dispatcher itself."""

from __future__ import annotations

import re
from dataclasses import dataclass

import torch

_LINE = re.compile(r"^(?P<key>\w+)(?:\[alias\])?: (?P<by>.*?) :: ", re.MULTILINE)


@dataclass(frozen=True)
class Registration:
    """One kernel of the dispatcher's."""

    key: str
    by: str
    """The file and line that registered it, or what stands in their place."""


def registrations(name: str) -> list[Registration]:
    """Of an operator by its full name, `ns::name` or `ns::name.overload`."""
    dump: str = torch._C._dispatch_dump(name)
    return [Registration(match["key"], match["by"]) for match in _LINE.finditer(dump)]


_ROW = re.compile(r"^(?P<key>\w+): (?P<falls>fallthrough )?(?P<by>.*?) \[(?P<kind>[^\]]+)\]$", re.MULTILINE)


@dataclass(frozen=True)
class DispatchEntry:
    """What a call meets at one key, whoever registered it and for how many keys."""

    key: str
    by: str
    kind: str
    """`kernel`, `autograd kernel`, `math kernel`, `default backend kernel` or `backend fallback`."""
    falls_through: bool


def table(name: str) -> dict[str, DispatchEntry]:
    """What the dispatcher would run for an operator, by key."""
    rows = _ROW.finditer(torch._C._dispatch_dump_table(name))
    return {
        row["key"]: DispatchEntry(row["key"], row["by"].removeprefix("registered at "), row["kind"], bool(row["falls"]))
        for row in rows
    }


def overloads(name: str) -> list[str]:
    """The full names of an operator's overloads, in the order of their registration; of one overload, itself."""
    known = torch._C._dispatch_get_all_op_names()
    return sorted(each for each in known if each == name or each.partition(".")[0] == name)


def operator_names() -> list[str]:
    """Every operator that PyTorch and the libraries that are loaded have registered."""
    return list(torch._C._dispatch_get_all_op_names())


def schema_of(name: str) -> str:
    base, _, overload = name.partition(".")
    return str(torch._C._get_schema(base, overload))


def python_names(name: str) -> list[str]:
    """The ways that Python reaches an operator, as they are written."""
    namespace, _, rest = name.partition("::")
    base = rest.partition(".")[0]
    ways = [f"torch.ops.{namespace}.{rest}"]
    if namespace == "aten":
        ways += [f"torch.Tensor.{base}"] if hasattr(torch.Tensor, base) else []
        ways += [f"torch.{base}"] if hasattr(torch, base) else []
    return ways
