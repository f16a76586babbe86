"""C++ names in readable form, by the C++ runtime that this process has loaded."""

from __future__ import annotations

import ctypes
import functools
import re

_STRING = re.compile(r"std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> ?>|std::string")
NEW_STRING = "std::__cxx11::"


@functools.cache
def demangled(symbol: str) -> str:
    """Return the demangled name, or the symbol itself if it is not C++ or there is no C++ runtime."""
    runtime = _runtime()
    if not symbol.startswith("_Z") or runtime is None:
        return symbol
    status = ctypes.c_int()
    text = runtime.__cxa_demangle(symbol.encode(), None, None, ctypes.byref(status))
    if not text:
        return symbol
    try:
        return ctypes.string_at(text).decode(errors="replace")
    finally:
        runtime.free(ctypes.c_void_p(text))


def without_string_kind(name: str) -> str:
    """Return a demangled name in which the two kinds of std::string look alike."""
    return _STRING.sub("std::string", name)


def readable(symbol: str) -> str:
    """Return a demangled name with plain `std::string`."""
    return without_string_kind(demangled(symbol))


def function_prefix(symbol: str) -> str:
    """Return the part of a mangled name that all overloads share; empty if the name is too complex."""
    found = re.match(r"_ZN?[KVRO]?", symbol)
    if found is None:
        return ""
    at = found.end()
    while (number := re.match(r"[1-9]\d*", symbol[at:])) is not None:
        at += number.end() + int(number.group())
    return symbol[:at] if at > found.end() else ""


@functools.cache
def _runtime() -> ctypes.CDLL | None:
    try:
        runtime = ctypes.CDLL("libstdc++.so.6")
    except OSError:
        return None
    runtime.__cxa_demangle.restype = ctypes.c_void_p
    return runtime
