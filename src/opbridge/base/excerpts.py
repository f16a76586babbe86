"""Source lines below a message, and the caret under them; columns count as in compilers."""

from __future__ import annotations

TAB = 8
"""The tab width of compilers, in columns and in excerpts."""


def behind(column: int, text: str) -> int:
    """Return the column after a text that starts after `column` columns."""
    if text.isascii() and "\t" not in text:
        return column + len(text)
    for character in text:
        column = (column // TAB + 1) * TAB if character == "\t" else column + _width(character)
    return column


def shown(text: str) -> str:
    """Return the text with tabs expanded, because terminals may use other tab widths."""
    return text.expandtabs(TAB) if text.isascii() else "".join(_pieces(text))


def caret(text: str, column: int) -> str:
    """Return the line that marks a column, counted from 1; columns beyond the text mark its end."""
    return " " * (min(column, behind(0, text.rstrip()) + 1) - 1) + "^"


def _pieces(text: str) -> list[str]:
    pieces, column = [], 0
    for character in text:
        after = behind(column, character)
        pieces.append(" " * (after - column) if character == "\t" else character)
        column = after
    return pieces


def _width(character: str) -> int:
    import unicodedata  # imported here because few lines need it and `import opbridge` imports this module

    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1
