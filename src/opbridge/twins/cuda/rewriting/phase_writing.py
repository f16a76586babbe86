"""The macros written around the phases of a kernel, which mean nothing when its threads are checked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from opbridge.build.cxx.tokens import Kind, Token
from opbridge.twins.cuda.rewriting.block_variables import BlockVariables, Surroundings
from opbridge.twins.cuda.rewriting.changed_variables import is_name
from opbridge.twins.cuda.rewriting.declarations import declared_names
from opbridge.twins.cuda.rewriting.guards import text_of
from opbridge.twins.cuda.rewriting.independent_threads import calls, types_of_template
from opbridge.twins.cuda.rewriting.own_variables import Declaration, Variable
from opbridge.twins.cuda.rewriting.phases import Phase, find_phases
from opbridge.twins.cuda.rewriting.source import Source
from opbridge.twins.cuda.rewriting.statements import BARRIER, NoPhasesError

_Kept = tuple[Variable, Declaration]


@dataclass
class Written:
    """The text to add to a kernel, by the index of a word."""

    before: dict[int, str] = field(default_factory=dict)
    """Text after the word that precedes this one."""
    after: dict[int, str] = field(default_factory=dict)
    """Text after this word."""
    instead: dict[int, str] = field(default_factory=dict)
    """Text that replaces this word."""


def divide_into_phases(source: Source, opened: int) -> bool:
    """Mark the phases of the kernel whose body opens here; return whether it has any."""
    if source.in_macro or source.unit.is_library:
        return False
    close = opened + sum(1 for _ in source.body(opened))
    places = [
        i
        for i in range(opened, min(close + 1, len(source.tokens)))
        if not (source.tokens[i].blank or _is_pragma(source.tokens[i]))
    ]
    code = [source.tokens[i] for i in places]
    if code[-1].text != "}" or {token.text for token in code} & (source.unit.shared_words - {"__shared__"}):
        return False
    found = find_phases(code, _surroundings(source, code))
    result = written(*found, source.unit.number()) if found else None
    if result is None:
        return False
    for i, text in result.instead.items():
        source.texts[places[i]] = text
    for i, text in result.after.items():
        source.behind[places[i]] = text
    for i, text in result.before.items():
        source.behind[places[i - 1]] = source.behind.get(places[i - 1], "") + text
    return True


def _is_pragma(token: Token) -> bool:
    return token.kind is Kind.DIRECTIVE and token.text.lstrip("# \t").startswith("pragma")


def _surroundings(source: Source, code: Sequence[Token]) -> Surroundings:
    unit, head = source.unit, [source.tokens[i].text for i in source.head]
    shared = {name for _, name in unit.shared}
    for i, token in enumerate(code):
        if token.text == "__shared__":
            end = next(k for k in range(i, len(code)) if code[k].text == ";")
            names = declared_names(list(code[i + 1 : end]), skipped={"__align__", "alignas"})
            # Without an index, an array means its address, which is the same for all threads.
            shared |= {name for name in names if not _is_array(code[i:end], name)}
    return Surroundings(
        parameters=_parameters(head),
        functions=unit.harmless.allowed,
        opaque=unit.opaque,
        refused=unit.harmless.others,
        varying={"threadIdx"} | unit.harmless.of_threads,
        unsteady=unit.harmless.variables | shared,
        types=types_of_template(head),
        takes_references=unit.harmless.takes_references,
    )


def _is_array(declared: Sequence[Token], name: str) -> bool:
    return any(one.text == name and other.text == "[" for one, other in pairwise(declared))


def _parameters(head: Sequence[str]) -> set[str]:
    """Return the parameters in a function's head: the names before commas, extents and the end."""
    return {word for word, following in pairwise(head) if is_name(word) and following in (",", ")", "[", "=")}


def written(variables: BlockVariables, phases: Sequence[Phase], number: int) -> Written | None:
    """Return the text for the phases of a kernel, or None if a variable cannot be kept.

    `number` must be unique among the kernels of the unit.
    """
    words, result = variables.words, Written()
    result.instead = {i: "OB_TWIN_BARRIER" for i, word in enumerate(words) if word == BARRIER}
    needs = [list(_needed(variables, phase)) for phase in phases]
    kept = {(v.name, declared.first) for uses in needs for v, declared in uses if not variables.is_worked_out(declared)}
    try:
        for phase, uses in zip(phases, needs, strict=True):
            own = [(v, d) for d in phase.declared for v in d.variables if (v.name, d.first) in kept]
            result.before[phase.first] = _begin(variables, phase, uses, own)
            label = f"opbridge_twin_left_{number}" if phase.returns else ""
            result.after[phase.last] = _end(variables, uses, own, label)
            if label:
                places = range(phase.first, phase.last)
                result.instead |= {i: f"OB_TWIN_LEAVE({label})" for i in places if words[i] == "return"}
    except NoPhasesError:
        return None
    return result


def _needed(variables: BlockVariables, phase: Phase) -> Iterator[_Kept]:
    """Yield the earlier variables that a phase uses, and those from which they are computed."""
    names, wanted = variables.names(phase.first, phase.last + 1), set[str]()
    while names:
        name = names.pop()
        declared = phase.visible.get(name)
        if declared is None or name in wanted:
            continue
        wanted.add(name)
        if variables.is_worked_out(declared):
            names |= variables.names(declared.first, declared.last)
    return ((v, d) for name, d in phase.visible.items() for v in d.variables if v.name == name and name in wanted)


def _begin(variables: BlockVariables, phase: Phase, uses: Sequence[_Kept], own: Sequence[_Kept]) -> str:
    said: dict[int, str] = {}
    for variable, declared in uses:
        if variables.is_worked_out(declared):
            said[declared.first] = text_of(variables.tokens[declared.first : declared.last + 1])
        else:
            name, reference = variable.name, "&" if variable.extents else ""
            said[-len(said) - 1] = f"{_type(name)}{reference} {name} = {_place(name)};"
    if calls(variables.words[phase.first : phase.last + 1]) & (variables.around.functions | {"assert"}):
        said[-len(said) - 1] = "::opbridge_twin::show(threadIdx);"
    kept = "".join(_storage(variables, variable) for variable, _ in own)
    return f" {kept}OB_TWIN_EACH_THREAD({' '.join(said.values())})"


def _end(variables: BlockVariables, uses: Sequence[_Kept], own: Sequence[_Kept], label: str) -> str:
    if label:
        return f" OB_TWIN_THREADS_LEFT({label})"
    changed = [v for v, declared in uses if not (v.constant or v.extents or variables.is_worked_out(declared))]
    stores = (f"::opbridge_twin::keep({_place(v.name)}, {v.name});" for v in (*(v for v, _ in own), *changed))
    return f" OB_TWIN_THREADS_DONE({' '.join(stores)})"


def _storage(variables: BlockVariables, variable: Variable) -> str:
    if not variables.may_be_kept(variable):
        raise NoPhasesError
    kind = f"typedef {variable.kind} {_type(variable.name)}{variable.extents};"
    return f"OB_TWIN_KEPT({kind} ::opbridge_twin::Kept<{_type(variable.name)}> {_kept(variable.name)}(blockDim);) "


def _type(name: str) -> str:
    return f"opbridge_twin_type_{name}"


def _kept(name: str) -> str:
    return f"opbridge_twin_kept_{name}"


def _place(name: str) -> str:
    return f"{_kept(name)}[opbridge_twin_thread]"
