"""The pass through a source that tracks scopes and rewrites each CUDA construct."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from opbridge.build.cxx.tokens import Kind
from opbridge.twins.common.host_calls import aot_function
from opbridge.twins.common.message_columns import Columns, Piece
from opbridge.twins.cuda.rewriting import directives
from opbridge.twins.cuda.rewriting.declarations import function_name
from opbridge.twins.cuda.rewriting.device_functions import (
    mark_called_by_host,
    note_calls_of_host,
    note_device_function,
)
from opbridge.twins.cuda.rewriting.grid_strides import waits
from opbridge.twins.cuda.rewriting.guards import Guard
from opbridge.twins.cuda.rewriting.host_functions import mark_host_function
from opbridge.twins.cuda.rewriting.launches import is_launch, refuse_calls, rewrite_launch
from opbridge.twins.cuda.rewriting.local_arrays import watch_local_array, watch_valued_array
from opbridge.twins.cuda.rewriting.phase_writing import divide_into_phases
from opbridge.twins.cuda.rewriting.refusals import refuse_what_nvcc_refuses
from opbridge.twins.cuda.rewriting.replaced_words import rewrite_word
from opbridge.twins.cuda.rewriting.scopes import has_own_scopes, scope_opened
from opbridge.twins.cuda.rewriting.source import Scope, Source, outside_of_brackets
from opbridge.twins.cuda.rewriting.translation_unit import Unit
from opbridge.twins.cuda.rewriting.variables import (
    VARIABLE_WORDS,
    announce_static,
    announce_variable,
    declare_shared,
    shared_used,
)
from opbridge.twins.cuda.unique_symbols import OPERATOR

_DIRECTIVE = re.compile(r"#\s*(\w*)")
_CONDITIONS = frozenset({"if", "elif", "ifdef", "ifndef"})


class Rewriter(Source):
    """A pass through one source or macro, which rewrites it."""

    def __init__(self, source: str, file: str, unit: Unit, *, line: int = 1, in_macro: bool = False) -> None:
        super().__init__(source, file, unit, line=line, in_macro=in_macro)
        self.branches: list[tuple[list[Scope], bool]] = []
        """For each enclosing condition, the scopes at its start, and whether it reads as in device code."""
        self.last_spaces = (False, False)
        """Whether the last function belonged to the device, and whether to the host."""
        self.macros: dict[int, list[Piece]] = {}
        """The pieces of macro definitions that are rewritten as sources."""
        self.done = -1
        """The last token that has moved elsewhere."""

    def run(self) -> str:
        """Rewrite the source and return its text."""
        self.unit.waits |= waits(token.text for token in self.tokens)
        for index, token in enumerate(self.tokens):
            if index <= self.done:
                continue
            if token.kind is Kind.DIRECTIVE:
                self._directive(index)
            elif not token.blank:
                self._code(index)
        mark_called_by_host(self)
        pieces = list(self.pieces())
        if not (self.in_macro or self.unit.is_library):
            self.unit.columns[self.file] = Columns(pieces)
        return "".join(before + text for before, text, _ in pieces)

    def pieces(self) -> Iterator[Piece]:
        """Yield each token with the text before it and its replacement."""
        for index, token in enumerate(self.tokens):
            text = self.texts[index] + self.behind.get(index, "")
            yield from self.macros.get(index) or ((self.before.get(index, ""), text, token.text),)

    def _code(self, index: int) -> None:
        token = self.tokens[index]
        text = token.text
        if token.kind is Kind.NAME:
            rewrite_word(self, index)
        elif is_launch(self, index):
            self.done = rewrite_launch(self, index)
        if text == "{":
            self._open(index)
        elif text == "}":
            self._close(index)
        elif text == ";":
            self._end_of_statement(index)
            self.head = []
        else:
            self.head.append(index)

    def _open(self, index: int) -> None:
        scope = scope_opened(self, index, self.last_spaces)
        entered = scope.kind == "function" and self.scopes[-1].kind != "function"
        if self.in_function():
            refuse_calls(self)
        if entered:
            self._note_function(scope.kernel, scope.device, index)
            refuse_what_nvcc_refuses(self, index, scope)
            self._note_constancy()
            if scope.device and not (scope.host or scope.kernel):
                self._note_own_function()
                note_device_function(self, index)
            elif not scope.device:
                note_calls_of_host(self, index)
        if entered and not scope.device and self.unit.is_program and self.scopes[-1].kind == "namespace":
            mark_host_function(self, index)
        if entered and self._has_c_linkage() and (name := aot_function(self.tokens[i] for i in self.head)):
            self.unit.aot_functions.append(name)
        inside = "".join(shared_used(self, index)) if scope.device and entered else ""
        if inside:
            scope = replace(scope, shields=True)
            inside += "{"
        self.scopes.append(scope)
        launch = ""
        if scope.kernel:
            starts, head = "launch", "OPBRIDGE_TWIN_KERNEL"
            if scope.guard:
                if scope.guard.takes_turns:
                    starts, head = "launch_in_turns", "OPBRIDGE_TWIN_KERNEL_IN_TURNS"
                else:
                    head = "OPBRIDGE_TWIN_GUARDED_KERNEL"
                self._mark(scope.guard)
            elif has_own_scopes(self, index):
                head = "OPBRIDGE_TWIN_KERNEL_OF_VARIABLES"
            elif divide_into_phases(self, index):
                starts, head = "launch_in_phases", "OPBRIDGE_TWIN_KERNEL_IN_PHASES"
                inside = f"OB_TWIN_NO_THREAD {inside}"
            launch = f"{{ ::opbridge_twin::{starts}(__PRETTY_FUNCTION__, [=]{head} "
        self.texts[index] = f"{launch}{{{inside}"
        if scope.kind == "function" and scope.device and not entered:
            watch_valued_array(self, index)
        self.head = []

    def _mark(self, guard: Guard) -> None:
        if guard.takes_turns:
            self.texts[guard.first] = "; (opbridge_twin_passed ? opbridge_twin_first : bool("
            self.texts[guard.last] = ")); opbridge_twin_first = false,"
            return
        known = "!opbridge_twin_passed &&" if guard.returns else "opbridge_twin_passed ||"
        self.texts[guard.first] = f"({known} ("
        self.texts[guard.last] = "))"

    def _has_c_linkage(self) -> bool:
        words = [self.tokens[i].text for i in self.head[:2]]
        return words == ["extern", '"C"'] or any(scope.c_linkage for scope in self.scopes)

    def _close(self, index: int) -> None:
        scope = self.scopes.pop() if len(self.scopes) > 1 else self.scopes[0]
        self.last_spaces = (scope.device, scope.host)
        if scope.shields:
            self.texts[index] += "}"
        if scope.kernel:
            question = f", [=]OPBRIDGE_TWIN_GUARD {{ {scope.guard.question} }}" if scope.guard else ""
            self.texts[index] += f"{question}); }}{self._enrolled(scope)}"
        # A variable may follow a class, and further ones may follow an initializer.
        self.head = [*scope.head, index] if scope.kind in ("class", "initializer") else []

    def _enrolled(self, kernel: Scope) -> str:
        """Return the code by which the driver API finds a kernel of an image by its function's name."""
        if not (self.unit.is_image and kernel.function) or self.in_macro or self.scopes[-1].kind != "namespace":
            return ""
        return f" OPBRIDGE_TWIN_OF_IMAGE({self.unit.number()}, {kernel.function})"

    def _note_function(self, kernel: bool, device: bool = False, opened: int | None = None) -> None:
        name = function_name([self.tokens[i] for i in self.head])
        if name is not None:
            (self.unit.kernels if kernel else self.unit.functions).add(name)
            if device:
                self.unit.device_functions.add(name)
            if self.scopes[-1].kind == "class" and any(self.tokens[i].text == "template" for i in self.head):
                self.unit.member_templates.add(name)
            if opened is not None and not kernel:
                body = [token.text for token in self.body(opened) if not token.blank]
                self.unit.harmless.note_function(name, [self.tokens[i].text for i in self.head], body)

    def _note_constancy(self) -> None:
        words = outside_of_brackets([self.tokens[i].text for i in self.head])
        hides = any(word.isupper() and len(word) > 1 for word in words)
        self.in_constant_function = hides or bool({"constexpr", "consteval"} & set(words))

    def _note_own_function(self) -> None:
        head = [self.tokens[i] for i in self.head]
        name = OPERATOR if any(token.text == OPERATOR for token in head) else function_name(head)
        if name is not None:
            self.unit.own_functions.add(name)

    def _end_of_statement(self, index: int) -> None:
        words, scope = {self.tokens[i].text for i in self.head}, self.scopes[-1]
        if self.head and self.in_function():
            refuse_calls(self)
        else:
            self._note_function(bool(words & self.unit.kernel_words), bool(words & self.unit.device_words))
        if words & self.unit.shared_words:
            declare_shared(self, index)
        elif scope.kind == "namespace" and words & VARIABLE_WORDS and not words & {"extern", "operator"}:
            announce_variable(self, index)
        elif scope.kind == "function" and scope.device:
            if "static" in words:
                announce_static(self, index)
            else:
                watch_local_array(self, index)

    def _directive(self, index: int) -> None:
        text = self.texts[index]
        found = _DIRECTIVE.match(text)
        word = found[1] if found else ""
        chosen_by_device = self._branch(word, index)
        for_devices = self.unit.is_image or self.is_of_devices or self.scopes[-1].device or chosen_by_device
        if word in _CONDITIONS and for_devices:
            self.texts[index] = directives.device_condition(text)
        elif word == "include":
            self.texts[index] = directives.include(text, self.unit)
        elif word == "define":
            self._macro(index)

    def _branch(self, word: str, index: int) -> bool:
        """Track a condition and return whether it reads as in device code.

        All branches of a condition start in the same scope.
        """
        if word in ("if", "ifdef", "ifndef"):
            asks = "__CUDA_ARCH__" in self.texts[index] and not self.in_function()
            self.branches.append((list(self.scopes), asks and directives.chooses_device_code(self, index)))
        if not self.branches:
            return False
        scopes, chosen_by_device = self.branches.pop() if word == "endif" else self.branches[-1]
        if word in ("else", "elif"):
            self.scopes = list(scopes)
        return chosen_by_device

    def _macro(self, index: int) -> None:
        self.texts[index], start = directives.macro(self.texts[index], self.unit)
        if start is None:
            return
        text = self.texts[index]
        blank = re.sub(r"[^\n\t]", " ", text[:start])
        inner = Rewriter(blank + text[start:], self.file, self.unit, line=self.line(index), in_macro=True)
        if self.in_function():
            inner.scopes.append(self.scopes[-1])
        self.texts[index] = text[:start] + inner.run()[start:]
        (_, first, _), *rest = inner.pieces()
        first = text[:start] + first[start:]
        self.macros[index] = [("", first, first), *rest]
