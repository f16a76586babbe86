"""A model of PyTorch function schemas; parsing and printing are inverse."""

from __future__ import annotations

from opbridge.waist.schema.function_schema import Schema
from opbridge.waist.schema.parts import (
    RESERVED_WORDS,
    Alias,
    Argument,
    BaseType,
    Default,
    EnumName,
    ListType,
    OptionalType,
    Return,
    Type,
    shares_storage,
)

__all__ = [
    "RESERVED_WORDS",
    "Alias",
    "Argument",
    "BaseType",
    "Default",
    "EnumName",
    "ListType",
    "OptionalType",
    "Return",
    "Schema",
    "Type",
    "shares_storage",
]
