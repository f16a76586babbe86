"""The element types of `abi.h` in the order of their codes, and their type promotion."""

from __future__ import annotations

DTYPES = (
    "bool",
    "uint8",
    "int8",
    "uint16",
    "int16",
    "uint32",
    "int32",
    "uint64",
    "int64",
    "float16",
    "bfloat16",
    "float32",
    "float64",
    "complex64",
    "complex128",
)
DTYPE_CODES = {name: code for code, name in enumerate(DTYPES)}

_LATE_UNSIGNED = frozenset({"uint16", "uint32", "uint64"})
_REAL_FLOATS = frozenset({"float16", "bfloat16", "float32", "float64"})
_NEITHER_HOLDS_THE_OTHER = {
    ("uint8", "int8"): "int16",
    ("float16", "bfloat16"): "float32",
    ("float64", "complex64"): "complex128",
}


def promote(a: str, b: str) -> str | None:
    """Return the type that `torch.promote_types` returns, or None where PyTorch refuses.

    The function `promoted` in rule_values.h must do the same.
    """
    low, high = sorted((a, b), key=DTYPE_CODES.__getitem__)
    if low == high:
        return low
    if _LATE_UNSIGNED & {low, high}:
        return high if high in _REAL_FLOATS else None
    # A type with a higher code can hold every type with a lower one, except for three pairs.
    return _NEITHER_HOLDS_THE_OTHER.get((low, high), high)
