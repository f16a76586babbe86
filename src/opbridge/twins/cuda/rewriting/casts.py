"""Casts of kernels to void*, which lose the type that tells what a kernel is."""

from __future__ import annotations

from opbridge.twins.cuda.rewriting.source import Source


def strip_casts(source: Source, index: int) -> None:
    """A kernel that is passed as void* has lost its type, which tells what it is."""
    opened = source.next(index + 1)
    if opened is None or source.tokens[opened].text != "(":
        return
    close = source.match(opened)
    i: int | None = opened
    while i is not None and i < close:
        if source.tokens[i].text in ("(", ","):
            _strip_behind(source, i)
        i = source.next(i + 1)


def strip_cast_to_member(source: Source, index: int) -> None:
    """The same of a kernel that becomes part of a graph, in `params.func = (void*)kernel`."""
    before, behind = source.previous(index - 1), source.next(index + 1)
    if before is None or behind is None:
        return
    is_assigned = source.tokens[before].text in (".", "->") and source.tokens[behind].text == "="
    if is_assigned and any(token.text == "cudaKernelNodeParams" for token in source.tokens):
        _strip_behind(source, behind)


def _strip_behind(source: Source, index: int) -> None:
    cast = source.next(index + 1)
    if cast is None:
        return
    if source.tokens[cast].text == "(":
        end = source.match(cast)
        inside = [token.text for token in source.tokens[cast + 1 : end] if not token.blank]
        if sorted(inside) in (["*", "void"], ["*", "const", "void"]):
            source.erase(cast, end)
    elif source.tokens[cast].text == "reinterpret_cast":
        angle = source.next(cast + 1)
        if angle is not None and (closed := source.match_angle(angle)) is not None:
            source.erase(cast, closed)
