"""Launches such as `kernel<<<blocks, threads>>>(...)`, and calls of kernels as if they were functions."""

from __future__ import annotations

from opbridge.build.cxx.reader import CLOSERS, PAIRS
from opbridge.build.cxx.tokens import Kind
from opbridge.twins.cuda.rewriting.source import Source

_KEYWORDS = frozenset({"case", "co_return", "do", "else", "for", "if", "return", "switch", "throw", "while"})
_BEFORE_A_VALUE = frozenset({"(", ")", "?", "=", "&&", "||", "!", "return", "else", "do"})
_UNEVALUATED = frozenset({"decltype", "sizeof", "noexcept", "typeid", "alignof", "requires"})


def is_launch(source: Source, index: int) -> bool:
    """Return whether a launch configuration begins here.

    It begins by <<<, or by << < as some editors format it, which nvcc accepts too.
    """
    return _end_of_mark(source, index) is not None and not source.follows(index, "operator")


def _end_of_mark(source: Source, index: int) -> int | None:
    text, following = source.tokens[index].text, source.next(index + 1)
    if text == "<<" and following is not None and source.tokens[following].text == "<":
        return following
    return index if text == "<<<" else None


def rewrite_launch(source: Source, index: int) -> int:
    """Move the configuration before the kernel and return its last token."""
    first = _end_of_mark(source, index)
    assert first is not None
    marks, close = _end_of_configuration(source, first)
    arguments = source.next(close + 1)
    if arguments is None or source.tokens[arguments].text != "(":
        raise source.refusal(index, "expected the kernel's arguments after >>>")
    end = source.match(arguments)
    start = _start_of_kernel(source, index)
    configuration = "".join(source.texts[first + 1 : marks])
    source.erase(index, close)
    source.before[start] = f"(::opbridge_twin::configure({configuration}), {source.before.get(start, '')}"
    source.texts[end] += ", ::opbridge_twin::launched())"
    return close


def _end_of_configuration(source: Source, index: int) -> tuple[int, int]:
    """Return the first and the last of the three marks that end a configuration."""
    depth = 0
    for i in range(index + 1, len(source.tokens)):
        text = source.tokens[i].text
        if text in PAIRS:
            depth += 1
        elif text in CLOSERS:
            depth -= 1
        if depth < 0 or text == ";":
            break
        following = source.next(i + 1)
        if depth == 0 and text == ">" and following is not None and source.tokens[following].text == "(":
            second = source.previous(i - 1)
            first = source.previous(second - 1) if second is not None else None
            if first is not None and [source.tokens[mark].text for mark in (first, second or 0)] == [">", ">"]:
                return first, i
    raise source.refusal(index, "expected >>> and the kernel's arguments after <<<, in the same file and macro")


def _start_of_kernel(source: Source, index: int) -> int:
    """Return the first token of the expression before <<<: a qualified name with arguments, or a call."""
    at = source.previous(index - 1)
    start = index
    while at is not None:
        closed = source.tokens[at].text
        if closed in (")", "]", ">"):
            start = source.match_back(at)
            at = source.previous(start - 1)
            if closed != ")" or (at is not None and (_is_word(source, at) or source.tokens[at].text in ("]", ">"))):
                continue
        elif _is_word(source, at):
            start = at
            at = source.previous(start - 1)
        else:
            break
        if at is not None and source.tokens[at].text == "template":
            at = source.previous(at - 1)
        if at is None or source.tokens[at].text not in ("::", "->", "."):
            break
        start = at
        at = source.previous(at - 1)
    if start == index:
        raise source.refusal(index, "expected a kernel's name before <<<")
    return start


def _is_word(source: Source, index: int) -> bool:
    token = source.tokens[index]
    return token.kind is Kind.NAME and token.text not in _KEYWORDS


def refuse_calls(source: Source) -> None:
    """Reject calls of a kernel as if it were a function, unless something else may be meant."""
    kernels = source.unit.kernels - source.unit.functions
    if source.in_macro or not kernels:
        return
    depth, before = 0, ""
    questions = False
    for place, index in enumerate(source.head):
        text = source.tokens[index].text
        questions |= text == "?"
        in_expression = before in _BEFORE_A_VALUE or (before == "," and depth) or (before == ":" and questions)
        if text in kernels and index not in source.before and (place == 0 or in_expression):
            _refuse_call(source, index, is_statement=place == 0)
        if text in _UNEVALUATED:
            return
        depth += (text in PAIRS) - (text in CLOSERS)
        before = text


def _refuse_call(source: Source, first: int, is_statement: bool) -> None:
    name = source.tokens[first].text
    if any(token.text == name and _is_variable(source, i) for i, token in enumerate(source.tokens[:first])):
        return
    opened = source.next(first + 1)
    if opened is not None and source.tokens[opened].text == "<":
        angle = source.match_angle(opened)
        opened = source.next(angle + 1) if angle is not None else None
    if opened is None or source.tokens[opened].text != "(":
        return
    close = source.match(opened)
    if is_statement and [i for i in source.head if i > close]:
        return
    source.before[first] = (
        f'_Pragma("GCC error \\"{name} is a __global__ function, which is launched and not called: '
        f'{name}<<<blocks, threads>>>(...)\\"") '
    )


def _is_variable(source: Source, index: int) -> bool:
    before, behind = source.previous(index - 1), source.next(index + 1)
    if before is None or behind is None or source.tokens[behind].text not in ("=", ";", "{", "[", ",", ")"):
        return False
    return source.tokens[before].kind is Kind.NAME or source.tokens[before].text in ("&", "&&", "*", ">")
