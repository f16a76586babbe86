"""The element types in groups, by the names that all frameworks share."""

from __future__ import annotations

from typing import Any

INTEGERS = ("bool", "uint8", "int8", "int16", "int32", "int64")
UNSIGNED = ("uint16", "uint32", "uint64")
"""Those that not every framework computes with."""
FLOATS = ("float16", "bfloat16", "float32", "float64")
COMPLEX = ("complex64", "complex128")


def of(framework: Any, *groups: tuple[str, ...]) -> list[Any]:
    """A framework's own objects for them: of(torch, FLOATS)."""
    return [getattr(framework, name) for group in groups for name in group]
