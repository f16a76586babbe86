"""Kernels whose barriers are at places that all threads of a block reach together.

    __shared__ float s[256];                    the block's
    float x = in[threadIdx.x];                  for each thread { float x = in[...]; s[...] = x;  keep x }
    s[threadIdx.x] = x;
    __syncthreads();
    for (int i = 1; i < 256; i *= 2) {          once: it is the same for all threads
      x += s[threadIdx.x ^ i];                  for each thread { float x = as kept; x += s[...];  keep x }
      __syncthreads();
    }

Between two barriers the threads may run one after another, as a loop that a compiler can vectorize. No thread then
waits, and none needs a stack. A kernel runs this way without checks; with checks, each thread runs through the same
text by itself. If something may differ from thread to thread, or may wait in a way that this module does not see, the
kernel stays unchanged.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from opbridge.build.cxx.tokens import Kind, Token
from opbridge.twins.cuda.rewriting.block_variables import BlockVariables, Surroundings
from opbridge.twins.cuda.rewriting.independent_threads import is_harmless
from opbridge.twins.cuda.rewriting.own_variables import Declaration
from opbridge.twins.cuda.rewriting.statements import (
    BARRIER,
    NoPhasesError,
    Statement,
    is_barrier,
    leaves_loop,
    may_spin,
    statements,
)

_OF_BLOCK = frozenset({"using", "typedef", ";"})


@dataclass
class Phase:
    """The statements between two barriers, which each thread runs to their end."""

    first: int
    last: int
    """The last of its words."""
    visible: Mapping[str, Declaration]
    """The declarations before the phase, by variable name."""
    declared: list[Declaration] = field(default_factory=list)
    returns: bool = False


def find_phases(code: Sequence[Token], around: Surroundings) -> tuple[BlockVariables, list[Phase]] | None:
    """Return the variables and phases of a body, or None if it has none.

    The tokens are without blanks, from the opening brace of the body to the closing one.
    """
    words = [token.text for token in code]
    if BARRIER not in words or any(token.kind is Kind.DIRECTIVE for token in code):
        return None
    harmless = is_harmless([word for word in words if word != BARRIER], around.functions | around.types)
    if not harmless or around.refused & set(words):
        return None
    try:
        if may_spin(words):
            return None
        body = statements(words, 1, len(words) - 1)
        variables = BlockVariables(code, body, around)
        return variables, list(_phases(words, variables, body))
    except NoPhasesError:
        return None


def _phases(words: Sequence[str], variables: BlockVariables, body: Sequence[Statement]) -> list[Phase]:
    found: list[Phase] = []

    def walk(body: Sequence[Statement], visible: dict[str, Declaration]) -> None:
        phase: Phase | None = None
        for statement in body:
            if statement.holds_barriers or _is_of_block(words, variables, statement):
                phase = None
                walk(statement.inner, dict(visible))
                continue
            if phase is None:
                phase = Phase(statement.first, statement.last, dict(visible))
                found.append(phase)
            _take(words, variables, phase, statement, visible)

    walk(body, {})
    last = found[-1].last + 2 == len(words) if found else False
    if any(phase.returns for phase in found[: len(found) - last]):
        raise NoPhasesError
    return found


def _is_of_block(words: Sequence[str], variables: BlockVariables, statement: Statement) -> bool:
    here = words[statement.first : statement.last]
    return (
        is_barrier(words, statement)
        or "__shared__" in here
        or words[statement.first] in _OF_BLOCK
        or variables.is_of_block(statement)
    )


def _take(
    words: Sequence[str], variables: BlockVariables, phase: Phase, statement: Statement, visible: dict[str, Declaration]
) -> None:
    phase.last = statement.last
    phase.returns = phase.returns or "return" in words[statement.first : statement.last]
    if leaves_loop(words, statement):
        raise NoPhasesError
    if declared := variables.declared.get(statement.first):
        phase.declared.append(declared)
        for variable in declared.variables:
            visible.pop(variable.name, None)
            visible[variable.name] = declared
