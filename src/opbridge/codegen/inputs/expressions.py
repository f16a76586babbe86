"""C++ expressions that declarations hold: which names they use, and lists of them."""

from __future__ import annotations

import re

_NAME = re.compile(r"(?<![\w.:>])(?P<name>[A-Za-z_]\w*)\b(?!\s*(?:\(|::|<))")
_NO_NAMES = re.compile(r'"(?:[^"\\]|\\.)*"|/\*.*?\*/', re.DOTALL)
"""Texts and comments."""
_CONSTANT = re.compile(r"k?[A-Z]")
"""Begins a type or a constant."""
_KEYWORDS = frozenset(
    {"auto", "bool", "char", "const", "double", "false", "float", "int", "long", "not", "nullptr", "true"}
)
_OPENING, _CLOSING = "([{<", ")]}>"


def names_used(text: str) -> list[str]:
    """The names that are not functions, members, namespaces, types or constants; none where a lambda has its own."""
    if ";" in text:
        return []
    found = (match["name"] for match in _NAME.finditer(_NO_NAMES.sub('""', text)))
    return [name for name in found if not (_CONSTANT.match(name) or name in _KEYWORDS or name.endswith("_t"))]


def items(text: str) -> tuple[str, ...]:
    """The parts between commas, those within brackets and texts left alone."""
    parts, start, depth, in_text = [], 0, 0, False
    for index, letter in enumerate(text):
        if letter == '"':
            in_text = not in_text
        elif in_text:
            continue
        elif letter in _OPENING:
            depth += 1
        elif letter in _CLOSING:
            depth -= 1
        elif letter == "," and depth <= 0:
            parts.append(text[start:index])
            start = index + 1
    return tuple(part.strip() for part in (*parts, text[start:]) if part.strip())
