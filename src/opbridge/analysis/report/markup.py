"""Build HTML and SVG from values; text that is not markup yet is escaped."""

from __future__ import annotations

import html
from collections.abc import Iterable
from typing import TypeAlias

_WITHOUT_END = frozenset({"meta", "input", "br"})


class Markup(str):
    """Text that is markup already; `element` creates it."""

    __slots__ = ()


Child: TypeAlias = str | Markup | Iterable["Child"] | None


def element(tag: str, *children: Child, **attributes: object) -> Markup:
    """Return an HTML or SVG element.

    `class_` becomes the attribute class, `aria_label` becomes aria-label. An attribute that is None or False is
    left out; one that is True has no value.
    """
    given = "".join(
        f" {_name(name)}" if value is True else f' {_name(name)}="{html.escape(_printable(str(value)))}"'
        for name, value in attributes.items()
        if value is not None and value is not False
    )
    end = "" if tag in _WITHOUT_END else f"{joined(children)}</{tag}>"
    return Markup(f"<{tag}{given}>{end}")


def joined(children: Child) -> Markup:
    """Return the children as markup, with text escaped."""
    if children is None:
        return Markup("")
    if isinstance(children, Markup):
        return children
    if isinstance(children, str):
        return Markup(html.escape(_printable(children), quote=False))
    return Markup("".join(map(joined, children)))


def _name(attribute: str) -> str:
    return attribute.rstrip("_").replace("_", "-")


def _printable(text: str) -> str:
    """Return the text without characters that HTML cannot contain, such as terminal color codes."""
    if text.isprintable():
        return text
    return "".join(letter for letter in text if letter.isprintable() or letter in "\n\t")
