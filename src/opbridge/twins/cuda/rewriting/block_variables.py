"""The variables that a kernel declares where its barriers stand: which are the block's, and how the others are kept.

One that is alike in all threads by its value, and changes by what is alike in all of them, is a single variable of the
block.  Of those that differ, what names and numbers tell can be worked out anew, which leaves a compiler what it knows
of neighbouring threads; and the rest has a place in memory for each thread.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from opbridge.cxx.tokens import Token
from opbridge.twins.cuda.rewriting.changes import assigned_value, changes, is_name, is_value
from opbridge.twins.cuda.rewriting.guards import is_plain
from opbridge.twins.cuda.rewriting.harmless import TYPES
from opbridge.twins.cuda.rewriting.own_variables import Declaration, Variable, declaration
from opbridge.twins.cuda.rewriting.statements import NoPhasesError, Statement


@dataclass(frozen=True)
class Surroundings:
    """What a kernel's body may name."""

    parameters: AbstractSet[str]
    functions: AbstractSet[str]
    """Those that may be called."""
    opaque: AbstractSet[str]
    """Macros that are more than names and numbers."""
    refused: AbstractSet[str]
    """Those and functions that may do anything."""
    varying: AbstractSet[str]
    """What differs from thread to thread."""
    unsteady: AbstractSet[str]
    """Variables of the device and of the block."""
    types: AbstractSet[str]
    """The template's."""
    takes_references: AbstractSet[str]


class BlockVariables:
    def __init__(self, tokens: Sequence[Token], body: Sequence[Statement], around: Surroundings) -> None:
        self.tokens, self.around = tokens, around
        self.words = [token.text for token in tokens]
        self.declared = {s.first: declared for s in _plain(body) if (declared := declaration(self.words, s)).variables}
        """By the first words of statements."""
        self.loops = list(_loops(body))
        self.counters = {s.first: self._counters(s) for s in self.loops}
        self.changed = changes(self.words, around.takes_references)
        for variable in self._all():
            self.changed.get(variable.name, set()).difference_update(self._own_places(variable))
        if any(self.changed.get(name) for name in around.parameters):
            raise NoPhasesError  # there would be one for all threads
        self.uniform = {v.name for v in self._all() if not v.extents}
        self._settle(body)
        if any(self._is_pointed_to(v) for v in self._all() if v.name not in self.uniform):
            raise NoPhasesError  # it is somewhere else in each phase
        self.unsteady = around.unsteady | {name for name in self.uniform if self.changed.get(name)} - self._steady()
        """What may be something else when a declaration is said again."""

    def is_uniform(self, first: int, last: int) -> bool:
        """Whether the words say the same for all threads of a block, and are no more than names and numbers."""
        known = {v.name for v in self._all()}
        return is_plain(self.tokens[first:last], self.around.opaque) and not any(
            name in self.around.varying | self.around.unsteady or (name in known and name not in self.uniform)
            for name in self.names(first, last)
        )

    def is_of_block(self, statement: Statement) -> bool:
        """Whether it declares or assigns what the block has one of."""
        if declared := self.declared.get(statement.first):
            return all(v.name in self.uniform for v in declared.variables)
        assigned = assigned_value(self.words, statement.first, statement.last)
        return assigned is not None and assigned[0] in self.uniform

    def names(self, first: int, last: int) -> set[str]:
        words = self.words
        return {words[i] for i in range(first, last) if is_name(words[i]) and words[i - 1] not in (".", "->")}

    def is_worked_out(self, declared: Declaration) -> bool:
        """Whether it may be said again wherever its variables are used."""
        return all(
            v.value is not None
            and not v.extents
            and not self.changed.get(v.name)
            and is_plain(self.tokens[slice(*v.value)], self.around.opaque)
            and not any(name in self.unsteady or self._is_changed_of_thread(name) for name in self.names(*v.value))
            for v in declared.variables
        )

    def _steady(self) -> set[str]:
        """The counters of loops, which are there within these alone and change between two turns."""
        steps = {i for loop in self.loops if loop.header for i in range(self._step(loop), loop.header[1])}
        elsewhere = {v.name for declared in self.declared.values() for v in declared.variables}
        return {name for name, places in self.changed.items() if places <= steps} - elsewhere

    def may_be_kept(self, variable: Variable) -> bool:
        words = [word for word in variable.kind.split() if word not in ("const", "*")]
        return all(TYPES.fullmatch(word) or word in self.around.types for word in words)

    def _is_pointed_to(self, variable: Variable) -> bool:
        """Whether its address may be used after the expression where it is taken; who is called is not to keep it."""
        words = self.words
        return any(
            word == variable.name and words[i - 1] not in (".", "->") and _is_pointer(words, i, bool(variable.extents))
            for i, word in enumerate(words)
        )

    def _is_changed_of_thread(self, name: str) -> bool:
        return bool(self.changed.get(name)) and name not in self.uniform

    def _all(self) -> Iterator[Variable]:
        for declared in (*self.declared.values(), *self.counters.values()):
            yield from declared.variables

    def _own_places(self, variable: Variable) -> set[int]:
        end = variable.value[0] if variable.value else 0
        return {i for i in range(max(end - 2, 0), end) if self.words[i] == variable.name}

    def _counters(self, loop: Statement) -> Declaration:
        assert loop.header is not None
        first = loop.header[0]
        end = self.words.index(";", first) if self.words[loop.first] == "for" else first
        return declaration(self.words, Statement(first, end))

    def _settle(self, body: Sequence[Statement]) -> None:
        """Takes out of `uniform` what is not, until nothing more follows from that."""
        while True:
            ours = self._changes_of_block(body)
            kept = {name for name in self.uniform if self.changed.get(name, set()) <= ours}
            for declared in (*self.declared.values(), *self.counters.values()):
                of_it = declared.variables
                if not all(v.name in kept and v.value is not None and self.is_uniform(*v.value) for v in of_it):
                    kept -= {v.name for v in of_it}
            if kept == self.uniform:
                break
            self.uniform = kept
        if not all(self._is_of_all_threads(loop) for loop in self.loops):
            raise NoPhasesError

    def _changes_of_block(self, body: Sequence[Statement]) -> set[int]:
        """The places where something alike in all threads is assigned, by all of them."""
        places: set[int] = set()
        assignments = [(s.first, s.last) for s in _plain(body)]
        assignments += [(self._step(loop), loop.header[1]) for loop in self.loops if loop.header]
        for first, last in assignments:
            assigned = assigned_value(self.words, first, last)
            if assigned is not None and self.is_uniform(*assigned[1:]):
                places |= {i for i in range(first, last) if self.words[i] == assigned[0]}
        return places

    def _step(self, loop: Statement) -> int:
        assert loop.header is not None
        first, last = loop.header
        ends = [i for i in range(first, last) if self.words[i] == ";"]
        return ends[1] + 1 if len(ends) == 2 else last

    def _is_of_all_threads(self, loop: Statement) -> bool:
        assert loop.header is not None
        first, last = loop.header
        ends = [i for i in range(first, last) if self.words[i] == ";"]
        if not ends:
            return self.is_uniform(first, last)
        step = assigned_value(self.words, ends[1] + 1, last) if len(ends) == 2 else None
        counts = step is not None and step[0] in self.uniform
        own = self.counters[loop.first].variables
        starts = ends[0] == first or (bool(own) and all(v.name in self.uniform for v in own))
        return counts and starts and self.is_uniform(ends[0] + 1, ends[1])


def _is_pointer(words: Sequence[str], i: int, of_array: bool) -> bool:
    """Whether this name stands for the address of a variable, in something else than a function's arguments."""
    if words[i - 1] == "&" and not is_value(words[i - 2]):
        return words[i - 2] not in ("(", ",")
    is_argument = words[i - 1] in ("(", ",") and words[i + 1] in (")", ",")
    is_declared = is_name(words[i - 1]) or words[i - 1] in ("*", ",")
    return of_array and words[i + 1] != "[" and not (is_argument or is_declared)


def _plain(body: Sequence[Statement]) -> Iterator[Statement]:
    for statement in body:
        if statement.holds_barriers:
            yield from _plain(statement.inner)
        else:
            yield statement


def _loops(body: Sequence[Statement]) -> Iterator[Statement]:
    for statement in body:
        if statement.header is not None:
            yield statement
        yield from _loops(statement.inner)
