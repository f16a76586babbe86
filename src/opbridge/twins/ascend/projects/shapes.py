"""The rule of an operator's InferShape function, found by calling it with sizes that cannot be confused."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import Any

from opbridge.twins.ascend.projects import infer_shape_process
from opbridge.twins.ascend.projects.definition import Definition, Parameter
from opbridge.twins.ascend.projects.infer_shape_process import Answer, Question
from opbridge.twins.ascend.projects.project_folder import Project
from opbridge.twins.ascend.projects.signature import spelled

_RANKS = (5, 4, 3, 2, 1)
_PRIMES = [number for number in range(11, 700) if all(number % k for k in range(2, number))]
_LARGEST = 1 << 40
_PACKAGES = Path(__file__).parents[4]
_DRIVER = (
    "import sys; sys.path.append(sys.argv[1]); "
    "from opbridge.twins.ascend.projects.infer_shape_process import main; main()"
)

Case = tuple[Question, tuple[int, ...]]
"""A question and the sizes of one output."""


def rules_of(project: Project, definition: Definition) -> dict[str, str]:
    """Return the `out` rule, as manifests write it, of each output that follows from the arguments."""
    asked = _cases(project, definition)
    found = {}
    for index, output in enumerate(definition.outputs):
        cases = [(question, answer[index]) for question, answer in asked]
        type = _type(definition, output)
        if output in definition.in_place or type is None:
            continue
        like = next(
            (one for one in definition.inputs if not one.is_optional and _is_like(definition, one, cases)), None
        )
        if like is not None and like.types == output.types:
            found[output.name] = spelled(like.name)
        elif (shape := formula(definition, cases)) is not None:
            found[output.name] = f"{{shape: {shape}, dtype: {type}}}"
    return found


def _cases(project: Project, definition: Definition) -> list[tuple[Question, Answer]]:
    """Return the answers for unlike sizes, or else for tensors of equal shapes."""
    for alike, varied in ((False, True), (False, False), (True, True), (True, False)):
        questions = [_question(definition, rank, turn, alike, varied) for rank in _RANKS for turn in (0, 1)]
        answers = zip(questions, _ask(project, definition, questions), strict=True)
        good = [(question, answer) for question, answer in answers if answer and _is_possible(answer)]
        if good:
            return good
    return []


def _is_possible(answer: Answer) -> bool:
    return all(0 <= size < _LARGEST for sizes in answer for size in sizes)


def _question(definition: Definition, rank: int, turn: int, alike: bool, varied: bool) -> Question:
    primes = iter(_PRIMES if turn == 0 else reversed(_PRIMES))
    first = tuple(next(primes) for _ in range(rank))
    shapes = tuple(first if alike else tuple(next(primes) for _ in range(rank)) for _ in definition.inputs)
    attributes: dict[str, Any] = {
        one.name: next(primes) for one in definition.attributes if one.type == "int" and (varied or one.default is None)
    }
    others = {"float": 1.0, "bool": True, "str": "", "int[]": [1], "float[]": [1.0], "bool[]": [True]}
    for one in definition.attributes:
        if one.default is None and one.type != "int":
            attributes[one.name] = others[one.type]
    return Question(shapes, attributes)


def _ask(project: Project, definition: Definition, questions: Sequence[Question]) -> Iterator[Answer | None]:
    """Yield the answers from a separate process, because a function may divide by zero on unexpected sizes."""
    position = 0
    while position < len(questions):
        given = infer_shape_process.packed(Path(str(project.library._name)), definition, questions[position:])
        child = subprocess.run([sys.executable, "-I", "-c", _DRIVER, str(_PACKAGES)], input=given, capture_output=True)
        answers = infer_shape_process.unpacked(child.stdout)
        yield from answers
        position += len(answers)
        if position < len(questions):
            yield None
            position += 1


def _type(definition: Definition, output: Parameter) -> str | None:
    """Return the dtype rule of an output, from the combinations that the operator is defined for."""
    for one in definition.inputs:
        if not one.is_optional and one.types == output.types:
            return f"{spelled(one.name)}.dtype"
    return output.types[0].in_frameworks if len(set(output.types)) == 1 else None


def _is_like(definition: Definition, one: Parameter, cases: Sequence[Case]) -> bool:
    index = definition.inputs.index(one)
    return bool(cases) and all(question.shapes[index] == sizes for question, sizes in cases)


def formula(definition: Definition, cases: Sequence[Case]) -> str | None:
    """Return a shape rule that fits all cases: sizes one by one, or part of a shape with sizes around it."""
    return next(_formulas(definition, cases), None) if cases else None


def _formulas(definition: Definition, cases: Sequence[Case]) -> Iterator[str]:
    if len({len(sizes) for _, sizes in cases}) == 1:
        terms = [_term(definition, cases, place) for place in range(len(cases[0][1]))]
        if None not in terms:
            yield f"[{', '.join(str(term) for term in terms)}]"
    for (index, one), (begin, end) in product(enumerate(definition.inputs), _PARTS):
        if one.is_optional:
            continue
        for before, behind in ((0, 0), (0, 1), (1, 0), (0, 2), (2, 0), (1, 1)):
            if all(_has_part(case, index, begin, end, before, behind) for case in cases):
                head = [_term(definition, cases, place) for place in range(before)]
                tail = [_term(definition, cases, place - behind) for place in range(behind)]
                if None not in (*head, *tail):
                    part = f"{spelled(one.name)}.shape[{'' if begin is None else begin}:{'' if end is None else end}]"
                    pieces = ([f"[{', '.join(map(str, head))}]"] if head else []) + [part]
                    yield " + ".join(pieces + ([f"[{', '.join(map(str, tail))}]"] if tail else []))


_PARTS = ((None, -1), (None, -2), (1, None), (2, None), (None, 1), (None, 2), (1, -1))


def _has_part(case: Case, index: int, begin: int | None, end: int | None, before: int, behind: int) -> bool:
    question, sizes = case
    return sizes[before : len(sizes) - behind] == question.shapes[index][begin:end] and len(sizes) >= before + behind


def _term(definition: Definition, cases: Sequence[Case], place: int) -> str | None:
    wanted = [sizes[place] for _, sizes in cases]
    simple = dict(_simple_terms(definition, cases))
    for text, values in simple.items():
        if values == wanted:
            return text
    if len(set(wanted)) == 1 and len(cases) > 1:
        return str(wanted[0])
    for text, values in simple.items():
        if len(cases) > 1 and len(difference := {value - one for one, value in zip(values, wanted, strict=True)}) == 1:
            number = difference.pop()
            return f"{text} {'+' if number > 0 else '-'} {abs(number)}"
        ratios = {value / one for one, value in zip(values, wanted, strict=True)}
        if len(cases) > 1 and len(ratios) == 1 and (ratio := ratios.pop()).is_integer():
            return f"{int(ratio)} * {text}"
    for (a, first), (b, second) in product(simple.items(), repeat=2):
        pairs = list(zip(first, second, wanted, strict=True))
        if all(one * other == value for one, other, value in pairs):
            return f"{a} * {b}"
        if all(one + other == value for one, other, value in pairs):
            return f"{a} + {b}"
        if all(one // other == value for one, other, value in pairs):
            return f"{a} // {b}"
    return None


def _simple_terms(definition: Definition, cases: Sequence[Case]) -> Iterator[tuple[str, list[int]]]:
    least = min((len(question.shapes[0]) for question, _ in cases if question.shapes), default=0)
    for index, one in enumerate(definition.inputs):
        if not one.is_optional:
            for place in (*range(least), *range(-1, -least - 1, -1)):
                yield f"{spelled(one.name)}.shape[{place}]", [question.shapes[index][place] for question, _ in cases]
    for attribute in definition.attributes:
        if attribute.type == "int" and all(attribute.name in question.attributes for question, _ in cases):
            yield spelled(attribute.name), [question.attributes[attribute.name] for question, _ in cases]
