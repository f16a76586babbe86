"""Manifests in the plain form that most are written in, read some ten times as fast as YAML can be.

A key, a colon and a value on each line; mappings and lists by indentation, or in brackets; quotes without escapes.
What is written otherwise, and what is wrong, is left to `document`, which gives the same nodes where both read a text:
that is tested.
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
    """The nodes of a text in the plain form, and None of any other."""
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
        """Of the line."""
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
        """To the next line that says something; `column` is where it starts, and -1 behind the last one."""
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
        """Of one line, to which no further one belongs: the next is no deeper than the collection it stands in."""
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
        """What stands in brackets, with formulas that hold brackets of their own."""
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
        """To what comes next between brackets, be it some lines below."""
        match = _BETWEEN.match(self.text, position)
        assert match is not None
        if lines := self.text.count("\n", position, match.end()):
            self.line += lines
            self.start = self.text.rindex("\n", 0, match.end()) + 1
            if match.end() == self.start:
                self.refuse()  # where a line may be a mark between documents
        return match.end()
