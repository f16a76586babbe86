"""Read from the PyTorch dispatcher what it has registered for an operator."""

from __future__ import annotations

import re
from dataclasses import dataclass

import torch

_LINE = re.compile(r"^(?P<key>\w+)(?:\[alias\])?: (?P<by>.*?) :: ", re.MULTILINE)


@dataclass(frozen=True)
class Registration:
    """One kernel in the dispatcher."""

    key: str
    by: str
    """The file and line that registered it, or a description instead."""


def registrations(name: str) -> list[Registration]:
    """Return the kernels of an operator, by its full name `ns::name` or `ns::name.overload`."""
    dump: str = torch._C._dispatch_dump(name)
    return [Registration(match["key"], match["by"]) for match in _LINE.finditer(dump)]


_ROW = re.compile(r"^(?P<key>\w+): (?P<falls>fallthrough )?(?P<by>.*?) \[(?P<kind>[^\]]+)\]$", re.MULTILINE)


@dataclass(frozen=True)
class DispatchEntry:
    """What a call runs at one key; a registration may cover several keys."""

    key: str
    by: str
    kind: str
    """`kernel`, `autograd kernel`, `math kernel`, `default backend kernel` or `backend fallback`."""
    falls_through: bool


def table(name: str) -> dict[str, DispatchEntry]:
    """Return what the dispatcher would run for an operator, by key."""
    rows = _ROW.finditer(torch._C._dispatch_dump_table(name))
    return {
        row["key"]: DispatchEntry(row["key"], row["by"].removeprefix("registered at "), row["kind"], bool(row["falls"]))
        for row in rows
    }


def overloads(name: str) -> list[str]:
    """Return the full names of the overloads of an operator, sorted; for an overload, its own name."""
    known = torch._C._dispatch_get_all_op_names()
    return sorted(each for each in known if each == name or each.partition(".")[0] == name)


def operator_names() -> list[str]:
    """Return every operator that PyTorch and the loaded libraries have registered."""
    return list(torch._C._dispatch_get_all_op_names())


def schema_of(name: str) -> str:
    """Return the schema of an operator as text."""
    base, _, overload = name.partition(".")
    return str(torch._C._get_schema(base, overload))


def python_names(name: str) -> list[str]:
    """Return the Python expressions that reach an operator."""
    namespace, _, rest = name.partition("::")
    base = rest.partition(".")[0]
    ways = [f"torch.ops.{namespace}.{rest}"]
    if namespace == "aten":
        ways += [f"torch.Tensor.{base}"] if hasattr(torch.Tensor, base) else []
        ways += [f"torch.{base}"] if hasattr(torch, base) else []
    return ways
