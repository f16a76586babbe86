"""A reader that turns YAML text into a tree of nodes with their places in the text.

Manifests are YAML with one addition: inside `{...}` and `[...]` a formula may contain brackets and commas, so
`out: {shape: [x.shape[0], n], dtype: promote(x, y)}` needs no quotes. Features that only an attacker would use in a
declaration are rejected on purpose: tags, anchors, aliases, several documents, deep nesting.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from yaml.composer import Composer
from yaml.error import Mark, MarkedYAMLError
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode
from yaml.parser import Parser
from yaml.reader import Reader, ReaderError
from yaml.resolver import BaseResolver
from yaml.scanner import Scanner
from yaml.tokens import ScalarToken

from opbridge.base.errors import Location, ManifestError, did_you_mean
from opbridge.base.safe_open import read_file
from opbridge.waist.manifest.plain_reader import read_plain

MAX_BYTES = 64 << 20
_MAX_DEPTH = 40
_MAX_FORMULA = 10_000
_LONGEST_EXCERPT = 500

_BREAK = re.compile(r"\r\n|[\r\n\x85\u2028\u2029]")
_FOLD = re.compile(r"[ \t]*(?:(?<=[ \t])#[^\n]*)?\r?\n\s*")
_FORMULA_GOES_ON = re.compile(r"[ \t]*[^\s,\]}:#\0\x85\u2028\u2029]")
_FORMULA_TOKEN = re.compile(r"""'[^'\n]*'|"[^"\n]*"|[\[\](){},\0]|:(?=[\s,\[\]{}\0])|(?<=\s)\#[^\n\0]*""")
_CLOSER = {"(": ")", "[": "]", "{": "}"}

_HINTS = {
    r"found character '\t'": "indent with spaces, never with tabs",
    "cannot start any token": "put the value in quotes",
    "expected <block end>": "the keys of one mapping, and the dashes of one list, start in the same column",
    "mapping values are not allowed here": "a value that holds ': ' needs quotes around it",
    "could not find expected ':'": "each line is `key: value`",
    "but found another document": "remove the `---` between them: a manifest is one document",
    "but got '<stream end>'": "a bracket or brace is not closed",
    "unexpected end of stream": "a quote is not closed",
}


class Document:
    """A composed YAML text."""

    def __init__(self, text: str, file: str) -> None:
        self.file = file
        self.text = text.removeprefix("\ufeff")
        self.root = self._compose()

    def _compose(self) -> ScalarNode | SequenceNode | MappingNode:
        try:
            root = read_plain(self.text) or _Loader(self.text, self).get_single_node()
        except MarkedYAMLError as error:
            raise self._syntax_error(error) from None
        except ReaderError as error:
            where = self._at_index(error.position)
            raise ManifestError(f"character U+{error.character:04X} does not belong in a text file", where) from None
        if root is None:
            where = Location(self.file, 1, 1)
            raise ManifestError("the file is empty; expected `namespace:` and `ops:`", where)
        assert isinstance(root, (ScalarNode, SequenceNode, MappingNode))
        return root

    def _syntax_error(self, error: MarkedYAMLError) -> ManifestError:
        problem = error.problem or "not YAML"
        text = f"{error.context}, {problem}" if error.context else problem
        hint = next((hint for part, hint in _HINTS.items() if part in text), "")
        mark = error.problem_mark or error.context_mark
        return ManifestError(text.replace("\\t", "tab"), self.at(mark) if mark else Location(self.file, 1, 1), hint)

    def _at_index(self, index: int) -> Location:
        breaks = [match.end() for match in _BREAK.finditer(self.text, 0, index)]
        return self._location(index, len(breaks) + 1, index - (breaks[-1] if breaks else 0) + 1)

    def _location(self, index: int, line: int, column: int) -> Location:
        start = index - column + 1
        end = _BREAK.search(self.text, index, start + _LONGEST_EXCERPT)
        if end is None and len(self.text) > start + _LONGEST_EXCERPT:
            return Location(self.file, line, column)
        return Location(self.file, line, column, self.text[start : end.start() if end else len(self.text)])

    def at(self, mark: Mark) -> Location:
        """Return the location of a mark, with its line unless the line is very long."""
        return self._location(mark.index, mark.line + 1, mark.column + 1)

    def node(self, node: Node, path: tuple[str | int, ...]) -> Node:
        """Return the value at `path` below `node`, or its nearest parent."""
        for step in path:
            child = _child(node, step)
            if child is None:
                break
            node = child
        return node

    def location(self, node: Node, path: tuple[str | int, ...] = ()) -> Location:
        """Return where the value at `path` below `node` starts, or its nearest parent."""
        node = self.node(node, path)
        where = self.at(node.start_mark)
        if not isinstance(node, ScalarNode):
            return where
        if node.start_mark.line != node.end_mark.line:
            # A caret counts characters of the value, so show the value as one line, indented to its first column.
            return Location(where.file, where.line, where.column, " " * (where.column - 1) + node.value)
        return where.shifted(1) if node.style in ("'", '"') else where


def _child(node: Node, step: str | int) -> Node | None:
    if isinstance(node, SequenceNode) and isinstance(step, int) and step < len(node.value):
        found: Node = node.value[step]
        return found
    if isinstance(node, MappingNode):
        return next((value for key, value in node.value if key.value == step), None)
    return None


class _Loader(Reader, Scanner, Parser, Composer, BaseResolver):
    """PyYAML's reader with formulas in flow collections, without the features that a manifest must not use.

    `BaseResolver` guesses no types, so `no`, `on` and `1.10` remain the text that was written.
    """

    def __init__(self, text: str, document: Document) -> None:
        self.document = document
        Reader.__init__(self, text)
        Scanner.__init__(self)
        Parser.__init__(self)
        Composer.__init__(self)
        BaseResolver.__init__(self)

    def fetch_more_tokens(self) -> None:
        if self.flow_level + len(self.indents) > _MAX_DEPTH:
            self._refuse(f"nested more than {_MAX_DEPTH} levels deep")
        super().fetch_more_tokens()

    def fetch_tag(self) -> None:
        self._refuse("YAML tags (!...) are not allowed in a manifest", "quote the value if it starts with '!'")

    def fetch_anchor(self) -> None:
        self._refuse("YAML anchors (&...) are not allowed in a manifest", "write the value out where it is needed")

    def fetch_alias(self) -> None:
        self._refuse("YAML aliases (*...) are not allowed in a manifest", "quote a value that starts with '*'")

    def fetch_flow_sequence_start(self) -> None:
        if self._formula_starts_with_list():
            self.fetch_plain()
        else:
            super().fetch_flow_sequence_start()

    def _formula_starts_with_list(self) -> bool:
        """Return whether the `[` here opens a formula such as `[n] + x.shape`, not a YAML list."""
        limit = min(len(self.buffer), self.pointer + _MAX_FORMULA)
        depth = 0
        for match in _FORMULA_TOKEN.finditer(self.buffer, self.pointer, limit):
            if match[0] in _CLOSER:
                depth += 1
            elif match[0] in _CLOSER.values():
                depth -= 1
            if depth == 0:
                return _FORMULA_GOES_ON.match(self.buffer, match.end(), limit) is not None
        return False

    def scan_flow_scalar(self, style: str) -> ScalarToken:
        token: ScalarToken = super().scan_flow_scalar(style)
        try:
            # JSON encodes a character beyond U+FFFF as two escapes.
            token.value = token.value.encode("utf-16", "surrogatepass").decode("utf-16")
        except UnicodeDecodeError:
            message = "half of a character: \\uD800 to \\uDFFF come in pairs"
            raise ManifestError(message, self.document.at(token.start_mark)) from None
        return token

    def scan_plain(self) -> ScalarToken:
        if not self.flow_level:
            token: ScalarToken = super().scan_plain()
            return token
        start = self.get_mark()
        text = self.buffer[self.pointer : self._formula_end()].rstrip()
        self.forward(len(text))
        self.allow_simple_key = False
        return ScalarToken(_FOLD.sub(" ", text), True, start, self.get_mark())

    def _formula_end(self) -> int:
        """Return the end of the flow scalar here: a `,`, `]`, `}` or `: ` outside its own brackets."""
        open_brackets: list[tuple[str, int]] = []
        position = self.pointer
        while match := _FORMULA_TOKEN.search(self.buffer, position):
            token, position = match[0], match.start()
            if not open_brackets and token[0] in ",]}:#\0":
                return position
            if token[0] in "'\"#" and open_brackets:
                position = match.end()
                continue
            if token in _CLOSER:
                open_brackets.append((token, position))
            elif token in _CLOSER.values():
                if not open_brackets or token != _CLOSER[open_brackets[-1][0]]:
                    self._refuse_bracket(token, position, open_brackets)
                open_brackets.pop()
            elif token == "\0":
                break
            position += 1
        bracket, opened = open_brackets[-1]
        raise ManifestError(f"'{bracket}' is never closed", self.document._at_index(opened))

    def _refuse_bracket(self, token: str, position: int, open_brackets: list[tuple[str, int]]) -> None:
        expected = f"expected '{_CLOSER[open_brackets[-1][0]]}'" if open_brackets else "nothing is open"
        raise ManifestError(f"{expected}, got '{token}'", self.document._at_index(position))

    def _refuse(self, message: str, hint: str = "") -> None:
        raise ManifestError(message, self.document.at(self.get_mark()), hint)


def read_bytes(path: Path) -> bytes:
    """Read a manifest file.

    Raises:
        ManifestError: The file is missing or cannot be read.
    """
    try:
        return read_file(path, limit=MAX_BYTES + 1)
    except FileNotFoundError:
        raise missing_file(path) from None
    except OSError as error:
        if path.is_dir():
            raise ManifestError(f"{path} is a folder", hint=f"name the file in it: {path / 'ops.yaml'}") from None
        raise ManifestError(f"cannot read {path}: {error.strerror}") from None


def decode(data: bytes, path: Path) -> str:
    """Decode the text of a manifest file.

    Raises:
        ManifestError: The file is too large or not UTF-8.
    """
    if len(data) > MAX_BYTES:
        raise ManifestError(f"{path} is over {MAX_BYTES >> 20} MB; split it into several manifests")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        column = error.start - (data.rfind(b"\n", 0, error.start) + 1) + 1
        message = f"byte 0x{data[error.start]:02x} is not UTF-8; expected a UTF-8 text"
        raise ManifestError(message, Location(str(path), line, column), "save the file as UTF-8") from None


def missing_file(path: Path, where: Location | None = None) -> ManifestError:
    """Return the error about a missing file, with similar names in its folder."""
    if os.path.isdir(path):
        return ManifestError(f"{path} is a folder; expected a file", where)
    if os.path.lexists(path):
        return ManifestError(f"{path} is not a file, nor a link that leads to one", where)
    try:
        names = sorted(entry.name for entry in path.parent.iterdir())
    except OSError:
        names = []
    return ManifestError(f"no such file: {path}", where, did_you_mean(path.name, names))
