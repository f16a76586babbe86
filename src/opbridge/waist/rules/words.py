"""Values as words of 64 bits, the form in which C++ reads rules, plans and formulas."""

from __future__ import annotations

import struct
from array import array
from collections.abc import Sequence


def word_of(value: float) -> int:
    """Return the bits of a double as a signed integer."""
    (word,) = struct.unpack("=q", struct.pack("=d", value))
    return int(word)


class WordWriter:
    """Words that are written in order, as C++ reads them."""

    def __init__(self) -> None:
        self.words = array("q")

    def put(self, *words: int) -> None:
        """Append words."""
        self.words.extend(words)

    def put_list(self, words: Sequence[int]) -> None:
        """Append the number of words, then the words."""
        self.put(len(words), *words)

    def put_place(self) -> int:
        """Append a word for a place that is not known yet, and return where that word is."""
        self.put(0)
        return len(self.words) - 1

    def fill_place(self, at: int) -> None:
        """Set the word at `at` to the place of the next word."""
        self.words[at] = len(self.words)


def words_of(text: bytes) -> tuple[int, ...]:
    """Return the length in bytes, then words of eight bytes each, padded with zeros."""
    padded = text.ljust(-(-len(text) // 8) * 8, b"\0")
    return (len(text), *struct.unpack(f"={len(padded) // 8}q", padded))
