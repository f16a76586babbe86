"""A reader for manifests in the usual plain form, about ten times as fast as a YAML reader.

The form has a key, a colon and a value on each line; mappings and lists by indentation or in brackets; and quotes
without escapes. Other texts, and invalid ones, are left to `document`. Tests check that both return the same nodes for
a text that both can read.
"""

from __future__ import annotations

import re
from typing import NoReturn

from yaml.error import Mark
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

_DEEPEST = 20

_UNUSUAL = re.compile("[^\n\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]")
_NEXT_LINE = re.compile(r"(?: *(?:#[^\n]*)?\n)* *")
_REST = re.compile(r" *(?: #[^\n]*)?(?:\n|\Z)")
_DASH = re.compile(r"- +(?=[^ \n#])")
_KEY = re.compile(r"([A-Za-z_](?:[\w, .]{0,100}\w)?):(?= |\n|\Z)", re.ASCII)
_VALUE = re.compile(r"(?:[^\s\-?:,\[\]{}#&*!|>'\"%@`]|-(?=[^\s]))[^\n]*")
_QUOTED = re.compile(r"'((?:[^'\n]|'')*)'|\"([^\"\\\n]*)\"")

_FLOW_KEY = re.compile(r"(?:(\w[\w-]{0,100})|\"([\w, ]{1,100})\"): +", re.ASCII)
_BETWEEN = re.compile(r"(?: *(?:(?<=\s)#[^\n]*)?\n)* *")
_FLOW_VALUE = re.compile(r"(?:[^\s\-?:,\[\]{}()#&*!|>'\"%@`]|-(?=[^\s,\[\]{}()]))[^,\[\]{}()#:'\"\n]*")
_FORMULA_TOKEN = re.compile(r"'[^'\n]*'|\"[^\"\n]*\"|[\[\](){},]|:(?=[\s,\[\]{}])|(?<=\s)#|\n|\Z")
_CLOSER = {"(": ")", "[": "]", "{": "}"}


class _Unusual(Exception):
    """The text is not in the plain form, or not a manifest."""


def read_plain(text: str) -> Node | None:
    """Return the nodes of a text in the plain form, or None for any other text."""
    if _UNUSUAL.search(text):
        return None
    try:
        return _Reader(text).document()
    except _Unusual:
        return None


class _Reader:
    def __init__(self, text: str) -> None:
        self.text = text
        self.line = 0
        self.start = 0
        """The start of the current line."""
        self.depth = 0
        self._go_to_content(0)

    def document(self) -> Node:
        found = self.block()
        return found if self.column < 0 else self.refuse()

    def refuse(self) -> NoReturn:
        raise _Unusual

    def mark(self, position: int) -> Mark:
        return Mark("", position, self.line, position - self.start, None, 0)

    def _go_to_content(self, position: int) -> None:
        """Go to the next line with content; `column` becomes its indentation, or -1 at the end."""
        match = _NEXT_LINE.match(self.text, position)
        assert match is not None
        self.line += self.text.count("\n", position, match.end())
        self.start = self.text.rfind("\n", 0, match.end()) + 1
        self.at = match.end()
        rest = self.text[self.at : self.at + 1]
        self.column = self.at - self.start if rest and rest != "#" else -1

    def end_line(self, position: int) -> None:
        rest = _REST.match(self.text, position)
        if rest is None:
            self.refuse()
        self.line += rest[0].endswith("\n")
        self._go_to_content(rest.end())

    def block(self) -> Node:
        self.depth += 1
        if self.depth > _DEEPEST:
            self.refuse()
        found = self.sequence() if _DASH.match(self.text, self.at) else self.mapping()
        self.depth -= 1
        return found

    def sequence(self) -> Node:
        column, start, items = self.column, self.mark(self.at), []
        while self.column == column and (dash := _DASH.match(self.text, self.at)):
            self.at = dash.end()
            self.column = self.at - self.start
            items.append(self.mapping() if _KEY.match(self.text, self.at) else self.value(column))
        return SequenceNode("", items, start, self.mark(self.at))

    def mapping(self) -> Node:
        column, start, pairs = self.column, self.mark(self.at), []
        while self.column == column and not self.text.startswith("- ", self.at):
            key = _KEY.match(self.text, self.at) or self.refuse()
            where = self.mark(self.at)
            self.at = key.end()
            pairs.append((ScalarNode("", key[1], where, where), self.value_of_key(column)))
        if self.column > column or not pairs:
            self.refuse()
        return MappingNode("", pairs, start, self.mark(self.at))

    def value_of_key(self, column: int) -> Node:
        if _REST.match(self.text, self.at) is None:
            while self.text.startswith(" ", self.at):
                self.at += 1
            return self.value(column)
        nothing = self.mark(self.at)
        self.end_line(self.at)
        if self.column > column or (self.column == column and self.text.startswith("- ", self.at)):
            return self.block()
        return ScalarNode("", "", nothing, nothing)

    def value(self, column: int) -> Node:
        """Read a value on one line; the next line must not be deeper than the enclosing collection."""
        first = self.text[self.at : self.at + 1]
        if first in ("{", "["):
            found, end = self.flow(self.at)
        elif first in ("'", '"'):
            found, end = self.quoted(self.at)
        else:
            found, end = self.plain()
        self.end_line(end)
        return found if self.column <= column else self.refuse()

    def plain(self) -> tuple[Node, int]:
        match = _VALUE.match(self.text, self.at) or self.refuse()
        value = match[0].partition(" #")[0].rstrip(" ")
        if ": " in value or value.endswith(":"):
            self.refuse()
        where = self.mark(self.at)
        return ScalarNode("", value, where, where), self.at + len(value)

    def quoted(self, position: int) -> tuple[Node, int]:
        match = _QUOTED.match(self.text, position) or self.refuse()
        where = self.mark(position)
        value = match[2] if match[1] is None else match[1].replace("''", "'")
        return ScalarNode("", value, where, where, style=match[0][0]), match.end()

    def flow(self, position: int) -> tuple[Node, int]:
        """Read a collection in brackets, whose formulas may contain brackets."""
        self.depth += 1
        if self.depth > _DEEPEST:
            self.refuse()
        where, is_mapping = self.mark(position), self.text[position] == "{"
        items: list[Node] = []
        pairs: list[tuple[Node, Node]] = []
        end = "}" if is_mapping else "]"
        position = self.skip(position + 1)
        while self.text[position : position + 1] != end:
            if is_mapping:
                key = _FLOW_KEY.match(self.text, position) or self.refuse()
                place, style = self.mark(key.start()), '"' if key[2] else None
                value, position = self.flow_value(key.end())
                pairs.append((ScalarNode("", key[1] or key[2], place, place, style), value))
            else:
                value, position = self.flow_value(position)
                items.append(value)
            position = self.skip(position)
            if self.text[position : position + 1] == ",":
                position = self.skip(position + 1)
                if self.text[position : position + 1] == end:
                    self.refuse()
            elif self.text[position : position + 1] != end:
                self.refuse()
        self.depth -= 1
        behind = self.mark(position + 1)
        found = MappingNode("", pairs, where, behind) if is_mapping else SequenceNode("", items, where, behind)
        return found, position + 1

    def flow_value(self, position: int) -> tuple[Node, int]:
        first = self.text[position : position + 1]
        if first in ("{", "["):
            return self.flow(position)
        if first in ("'", '"'):
            return self.quoted(position)
        match = _FLOW_VALUE.match(self.text, position) or self.refuse()
        end = match.end()
        if self.text[end : end + 1] not in ",]}":
            end = self.end_of_formula(position)
        value = self.text[position:end].rstrip()
        where = self.mark(position)
        return ScalarNode("", value, where, where), position + len(value)

    def end_of_formula(self, position: int) -> int:
        brackets: list[str] = []
        while match := _FORMULA_TOKEN.search(self.text, position):
            token, position = match[0], match.start()
            if not brackets and token in (",", "]", "}", ":", "#"):
                return position
            if token in ("", "\n", "#") or (not brackets and token[0] in "'\")"):
                break
            if token in _CLOSER:
                brackets.append(_CLOSER[token])
            elif token in "])}" and brackets.pop() != token:
                break
            position = match.end()
        return self.refuse()

    def skip(self, position: int) -> int:
        """Return the position of the next item between brackets, possibly some lines below."""
        match = _BETWEEN.match(self.text, position)
        assert match is not None
        if lines := self.text.count("\n", position, match.end()):
            self.line += lines
            self.start = self.text.rindex("\n", 0, match.end()) + 1
            if match.end() == self.start:
                self.refuse()  # an unindented line may be a document separator
        return match.end()
