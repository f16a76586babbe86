"""Casts of kernels to void*, which lose the type that tells what a kernel is."""

from __future__ import annotations

from opbridge.cxx.tokens import Kind
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


def keep_kernel(source: Source, index: int) -> None:
    """`(void*)kernel` keeps nothing but an address; whoever launches by that has to find who calls it."""
    first = index
    while (before := source.previous(first - 1)) is not None and source.tokens[before].text in ("::", "&"):
        name = source.previous(before - 1) if source.tokens[before].text == "::" else None
        first = name if name is not None and source.tokens[name].kind is Kind.NAME else before
    if before is not None and source.tokens[before].text == "(":
        before = source.previous(before - 1)
    cast = _cast_to_void(source, before)
    if cast is None or before is None or not source.texts[cast]:
        return
    source.erase(cast, before)
    source.texts[cast] = "::opbridge_twin::losing_type->*"


def _cast_to_void(source: Source, closed: int | None) -> int | None:
    """The first token of the cast to void* that ends here, which may be one that a call's bracket follows."""
    at = closed
    while at is not None and source.tokens[at].text in (")", ">", "*", "void", "const", "<"):
        at = source.previous(at - 1)
    if at is None or closed is None:
        return None
    words = "".join(token.text for token in source.tokens[at : closed + 1] if not token.blank).replace("const", "")
    return at if words in ("(void*)", "reinterpret_cast<void*>") else None


def _is_to_void(source: Source, opened: int, closed: int) -> bool:
    inside = [token.text for token in source.tokens[opened + 1 : closed] if not token.blank]
    return sorted(inside) in (["*", "void"], ["*", "const", "void"])


def _strip_behind(source: Source, index: int) -> None:
    cast = source.next(index + 1)
    if cast is None:
        return
    if source.tokens[cast].text == "(":
        end = source.match(cast)
        if _is_to_void(source, cast, end):
            source.erase(cast, end)
    elif source.tokens[cast].text == "reinterpret_cast":
        angle = source.next(cast + 1)
        if angle is not None and (closed := source.match_angle(angle)) is not None:
            source.erase(cast, closed)
