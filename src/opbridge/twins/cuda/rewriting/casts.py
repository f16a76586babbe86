"""Casts of kernels to void*, which lose the type that identifies a kernel."""

from __future__ import annotations

from opbridge.build.cxx.tokens import Kind
from opbridge.twins.cuda.rewriting.source import Source


def strip_casts(source: Source, index: int) -> None:
    """Remove void* casts from the arguments of a call: a kernel passed as void* loses its type."""
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
    """Remove the cast from `params.func = (void*)kernel`, by which a kernel becomes part of a graph."""
    before, behind = source.previous(index - 1), source.next(index + 1)
    if before is None or behind is None:
        return
    is_assigned = source.tokens[before].text in (".", "->") and source.tokens[behind].text == "="
    if is_assigned and any(token.text == "cudaKernelNodeParams" for token in source.tokens):
        _strip_behind(source, behind)


def keep_kernel(source: Source, index: int) -> None:
    """Rewrite `(void*)kernel`, so that a launch by the bare address can find how to call the kernel."""
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
    """Return the first token of a cast to void* that ends here; a call's bracket may follow the cast."""
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
