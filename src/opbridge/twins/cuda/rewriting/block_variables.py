"""The variables that a kernel declares between its barriers: which belong to the block, and how to keep the others.

A variable that has the same value in all threads, and changes only by such values, is a single variable of the block.
Of the others, those computed from names and numbers alone are computed again in each phase, which lets a compiler see
how neighbouring threads relate. The rest get a place in memory for each thread.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from opbridge.build.cxx.tokens import Token
from opbridge.twins.cuda.rewriting.changed_variables import assigned_value, changes, is_name, is_value
from opbridge.twins.cuda.rewriting.guards import is_plain
from opbridge.twins.cuda.rewriting.independent_threads import TYPES
from opbridge.twins.cuda.rewriting.own_variables import Declaration, Variable, declaration
from opbridge.twins.cuda.rewriting.statements import NoPhasesError, Statement


@dataclass(frozen=True)
class Surroundings:
    """The names that a kernel's body may use."""

    parameters: AbstractSet[str]
    functions: AbstractSet[str]
    """Functions that may be called."""
    opaque: AbstractSet[str]
    """Macros that expand to more than names and numbers."""
    refused: AbstractSet[str]
    """Macros and functions whose effects are unknown."""
    varying: AbstractSet[str]
    """Names whose value differs from thread to thread."""
    unsteady: AbstractSet[str]
    """Variables of the device or of the block, which may change at any time."""
    types: AbstractSet[str]
    """The type parameters of the template."""
    takes_references: AbstractSet[str]


class BlockVariables:
    """The variables declared in one kernel body, classified as uniform, recomputed or kept."""

    def __init__(self, tokens: Sequence[Token], body: Sequence[Statement], around: Surroundings) -> None:
        self.tokens, self.around = tokens, around
        self.words = [token.text for token in tokens]
        self.declared = {s.first: declared for s in _plain(body) if (declared := declaration(self.words, s)).variables}
        """Declarations by the index of the first word of their statement."""
        self.loops = list(_loops(body))
        self.counters = {s.first: self._counters(s) for s in self.loops}
        self.changed = changes(self.words, around.takes_references)
        for variable in self._all():
            self.changed.get(variable.name, set()).difference_update(self._own_places(variable))
        if any(self.changed.get(name) for name in around.parameters):
            raise NoPhasesError  # all threads would share one parameter
        self.uniform = {v.name for v in self._all() if not v.extents}
        self._settle(body)
        if any(self._is_pointed_to(v) for v in self._all() if v.name not in self.uniform):
            raise NoPhasesError  # its address differs from phase to phase
        self.unsteady = around.unsteady | {name for name in self.uniform if self.changed.get(name)} - self._steady()
        """Names whose value may have changed when a declaration is repeated."""

    def is_uniform(self, first: int, last: int) -> bool:
        """Return whether a plain expression has the same value in all threads of a block."""
        known = {v.name for v in self._all()}
        return is_plain(self.tokens[first:last], self.around.opaque) and not any(
            name in self.around.varying | self.around.unsteady or (name in known and name not in self.uniform)
            for name in self.names(first, last)
        )

    def is_of_block(self, statement: Statement) -> bool:
        """Return whether a statement declares or assigns variables of the block."""
        if declared := self.declared.get(statement.first):
            return all(v.name in self.uniform for v in declared.variables)
        assigned = assigned_value(self.words, statement.first, statement.last)
        return assigned is not None and assigned[0] in self.uniform

    def names(self, first: int, last: int) -> set[str]:
        """Return the names in a range of words, without members."""
        words = self.words
        return {words[i] for i in range(first, last) if is_name(words[i]) and words[i - 1] not in (".", "->")}

    def is_worked_out(self, declared: Declaration) -> bool:
        """Return whether a declaration may be repeated wherever its variables are used."""
        return all(
            v.value is not None
            and not v.extents
            and not self.changed.get(v.name)
            and is_plain(self.tokens[slice(*v.value)], self.around.opaque)
            and not any(name in self.unsteady or self._is_changed_of_thread(name) for name in self.names(*v.value))
            for v in declared.variables
        )

    def _steady(self) -> set[str]:
        """Return the loop counters that exist only within their loops and change only between two iterations."""
        steps = {i for loop in self.loops if loop.header for i in range(self._step(loop), loop.header[1])}
        elsewhere = {v.name for declared in self.declared.values() for v in declared.variables}
        return {name for name, places in self.changed.items() if places <= steps} - elsewhere

    def may_be_kept(self, variable: Variable) -> bool:
        """Return whether the type of a variable can be kept in memory for each thread."""
        words = [word for word in variable.kind.split() if word not in ("const", "*")]
        return all(TYPES.fullmatch(word) or word in self.around.types for word in words)

    def _is_pointed_to(self, variable: Variable) -> bool:
        """Return whether the address of a variable may outlive its expression.

        Passing the address to a function is allowed: the function must not keep it.
        """
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
        """Remove from `uniform` what is not, until nothing changes any more."""
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
        """Return the places where all threads assign a uniform value."""
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
    """Return whether a name is used as an address other than as a function argument."""
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
