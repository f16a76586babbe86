"""The kind of scope that a brace opens."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from opbridge.build.cxx.reader import CLOSERS, PAIRS
from opbridge.twins.cuda.rewriting.declarations import function_name
from opbridge.twins.cuda.rewriting.grid_strides import find_grid_stride
from opbridge.twins.cuda.rewriting.guards import Guard, find_guard
from opbridge.twins.cuda.rewriting.source import Scope, Source, outside_of_brackets

_BEHIND_CAPTURE = frozenset({"(", "{", "<", "mutable", "->"})
_BARRIER = re.compile(r"__syncthreads\w*|__barrier_sync\w*|sync")
_CLASS_WORDS = frozenset({"class", "struct", "union", "enum"})


def scope_opened(source: Source, index: int, last_spaces: tuple[bool, bool]) -> Scope:
    """Return the scope that the brace at `index` opens."""
    outer, head = source.scopes[-1], (*source.head, index)
    words = [source.tokens[i].text for i in source.head]
    device = source.unit.is_image or outer.device or any(word in source.unit.device_words for word in words)
    host = outer.host or any(word in source.unit.host_words for word in words)
    outside = outside_of_brackets(words)
    is_class = bool(_CLASS_WORDS & set(outside)) and outside[-1] != ")"
    if outer.kind in ("function", "initializer"):
        return Scope("class" if is_class else outer.kind, device, host, head=head)
    if "namespace" in outside or (words[:1] == ["extern"] and words[-1].startswith('"')):
        return Scope("namespace", c_linkage=words == ["extern", '"C"'], name=_name_of_namespace(outside))
    if not words or words[0] == ",":
        # The body of a constructor, after the braces of its initializers.
        return Scope("function", *last_spaces)
    in_brackets = sum((word in PAIRS) - (word in CLOSERS) for word in words) > 0  # such as a default argument
    if in_brackets or ("=" in outside and "operator" not in outside):
        return Scope("initializer", device, host, head=head)
    if is_class:
        return Scope("class", head=head)
    if ")" not in outside:
        return Scope("initializer", device, host, head=head)
    kernel = bool(source.unit.kernel_words & set(outside))
    has_guard = kernel and not source.in_macro and not has_own_scopes(source, index)
    guard = _guard(source, index) if has_guard else None
    known = kernel and "template" not in outside
    function = function_name([source.tokens[i] for i in source.head]) if known else None
    leaves = kernel or (device and not host and _has_barrier(source, index))
    return Scope("function", device, host, kernel, leaves, guard, function=function or "")


def _has_barrier(source: Source, opened: int) -> bool:
    return any(_BARRIER.fullmatch(token.text) for token in source.body(opened))


def _name_of_namespace(words: list[str]) -> str:
    name = words[words.index("namespace") + 1 :] if "namespace" in words and "inline" not in words else []
    return "".join(name)


def _guard(source: Source, index: int) -> Guard | None:
    opaque = source.unit.opaque | {name for _, name in source.unit.shared}
    guard = find_guard(source.tokens, index, opaque)
    return guard or find_grid_stride(source.tokens, index, opaque, source.unit.waits)


def has_own_scopes(source: Source, opened: int) -> bool:
    """Return whether a kernel's body holds classes or captureless lambdas, which cannot see its parameters."""
    words = [token.text for token in source.body(opened) if not token.blank]
    lambdas = any(first + second == "[]" and third in _BEHIND_CAPTURE for first, second, third in _threes(words))
    return lambdas or bool({"class", "struct", "union"} & set(words))


def _threes(words: Sequence[str]) -> Iterable[tuple[str, str, str]]:
    return zip(words, words[1:], words[2:], strict=False)
