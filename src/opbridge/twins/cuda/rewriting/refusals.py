"""Refuse what nvcc refuses in kernels and device functions, but a host compiler accepts."""

from __future__ import annotations

from opbridge.build.cxx.reader import CLOSERS, PAIRS
from opbridge.build.cxx.tokens import Kind
from opbridge.twins.cuda.rewriting.declarations import function_name
from opbridge.twins.cuda.rewriting.source import Scope, Source, outside_of_brackets

_VALUES = frozenset({"bool", "char", "double", "float", "int", "long", "short", "size_t", "unsigned"})
_OF_THE_HOST = frozenset(
    {
        *("cerr", "cout", "ostream", "string", "stringstream", "function", "mutex", "thread", "shared_ptr"),
        *("deque", "list", "map", "set", "unordered_map", "unordered_set", "vector"),
    }
)
"""Names of namespace std whose functions all belong to the host."""
_NOT_CALLED = frozenset({".", "->", "::", "&", "~"})
_BEFORE_A_CALL = frozenset({"return", "else", "do", "case"})
_PLAIN = frozenset({"__attribute__", "__forceinline__", "__inline__", "__noinline__", "__restrict__"})
_EVERYWHERE = frozenset({"constexpr", "consteval", "template", "operator", "main"})
"""Words of functions that device code may call too, or that nobody calls."""


def refuse_what_nvcc_refuses(source: Source, opened: int, scope: Scope) -> None:
    """Make the compiler stop at what nvcc refuses in the function whose body begins at `opened`."""
    if source.in_macro or source.unit.is_library:
        return
    if scope.kernel:
        _refuse_result(source)
        _refuse_references(source)
    if scope.device and not scope.host:
        _refuse_host_code(source, opened)
    elif not scope.device and source.scopes[-1].kind == "namespace":
        _note_host_function(source)


def _refuse(source: Source, index: int, message: str) -> None:
    source.before[index] = f'_Pragma("GCC error \\"{message}\\"") {source.before.get(index, "")}'


def _refuse_result(source: Source) -> None:
    words = outside_of_brackets([source.tokens[i].text for i in source.head])
    result = sorted(_VALUES & set(words))
    if result and "__global__" in words and not {"void", "auto"} & set(words):
        message = f"a __global__ function must return void, not {result[0]}: write the result through a pointer"
        _refuse(source, source.head[0], message)


def _refuse_references(source: Source) -> None:
    """Refuse parameters that are references: the kernel would get the address of a variable of the host."""
    for index in _parameters(source):
        if source.tokens[index].text in ("&", "&&"):
            message = "a __global__ function cannot take a parameter by reference: pass a value, or a pointer"
            return _refuse(source, source.head[0], message)
    return None


def _parameters(source: Source) -> list[int]:
    """Return the tokens of a function's parameters, without their default values."""
    name = function_name([source.tokens[i] for i in source.head])
    texts = [source.tokens[i].text for i in source.head]
    starts = (at for at in range(len(texts) - 1) if texts[at] == name and texts[at + 1] == "(")
    if (start := next(starts, None)) is None:
        return []
    kept, depth, in_value = [], 0, False
    for index in source.head[start + 1 :]:
        text = source.tokens[index].text
        depth += (text in PAIRS) - (text in CLOSERS)
        if depth == 0:
            break
        in_value = text == "=" or (in_value and not (text == "," and depth == 1))
        if not in_value:
            kept.append(index)
    return kept


def _refuse_host_code(source: Source, opened: int) -> None:
    of_host = source.unit.host_functions - source.unit.device_functions - source.unit.kernels
    for index in _inside(source, opened):
        text = source.tokens[index].text
        if source.tokens[index].kind is not Kind.NAME:
            continue
        if text in _OF_THE_HOST and _is_of_std(source, index):
            return _refuse(source, index, f"device code cannot use std::{text}: its functions are for the host only")
        if text in of_host and _is_call(source, opened, index):
            message = f"device code cannot call the host function {text}: declare it __host__ __device__"
            return _refuse(source, index, message)
    return None


def _inside(source: Source, opened: int) -> range:
    # A function that has a head for each of two conditions has two braces that open it.
    return range(opened, opened + sum(1 for _ in source.body(opened)))


def _is_of_std(source: Source, index: int) -> bool:
    colons = source.previous(index - 1)
    return colons is not None and source.tokens[colons].text == "::" and source.follows(colons, "std")


def _is_call(source: Source, opened: int, index: int) -> bool:
    behind, before = source.next(index + 1), source.previous(index - 1)
    if behind is None or before is None or source.tokens[behind].text != "(":
        return False
    last = source.tokens[before]
    if last.text in _NOT_CALLED or (last.kind is Kind.NAME and last.text not in _BEFORE_A_CALL):
        return False
    return not _is_declared(source, opened, source.tokens[index].text)


def _is_declared(source: Source, opened: int, name: str) -> bool:
    """Return whether the function has a parameter or a variable of this name, such as a lambda."""
    inside = (*source.head, *_inside(source, opened))
    for index in inside:
        if source.tokens[index].text != name:
            continue
        behind = source.next(index + 1)
        if behind is not None and source.tokens[behind].text in ("=", ";", ",", ")", "{", "["):
            return True
    return False


def _note_host_function(source: Source) -> None:
    words = [source.tokens[i].text for i in source.head]
    name = function_name([source.tokens[i] for i in source.head])
    outside = outside_of_brackets(words)
    if name is None or _EVERYWHERE & set(words) or any(_may_be_macro(word) for word in outside):
        return
    if "::" not in outside:
        source.unit.host_functions.add(name)


def _may_be_macro(word: str) -> bool:
    """Return whether a word may stand for others, such as __device__."""
    return word.isupper() or (word.startswith("__") and word not in _PLAIN)
