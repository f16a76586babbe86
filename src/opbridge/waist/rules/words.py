"""Values as words of 64 bits, the form in which C++ reads rules, plans and formulas."""

from __future__ import annotations

import struct


def word_of(value: float) -> int:
    """Return the bits of a double as a signed integer."""
    (word,) = struct.unpack("=q", struct.pack("=d", value))
    return int(word)


def words_of(text: bytes) -> tuple[int, ...]:
    """Return the length in bytes, then words of eight bytes each, padded with zeros."""
    padded = text.ljust(-(-len(text) // 8) * 8, b"\0")
    return (len(text), *struct.unpack(f"={len(padded) // 8}q", padded))
