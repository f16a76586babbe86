"""The valid names in the C++ and Python that opbridge generates, checked wherever user text becomes a name."""

from __future__ import annotations

import re

from opbridge.base.errors import InputError, Location

_CPP_KEYWORDS = """
alignas alignof and and_eq asm auto bitand bitor bool break case catch char char8_t char16_t char32_t class compl
concept const consteval constexpr constinit const_cast continue co_await co_return co_yield decltype default delete do
double dynamic_cast else enum explicit export extern false float for friend goto if inline int long mutable namespace
new noexcept not not_eq nullptr operator or or_eq private protected public register reinterpret_cast requires return
short signed sizeof static static_assert static_cast struct switch template this thread_local throw true try typedef
typeid typename union unsigned using virtual void volatile wchar_t while xor xor_eq
"""
_RESERVED = frozenset(_CPP_KEYWORDS.split())
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def is_identifier(text: str) -> bool:
    """Return whether the text is an ASCII identifier."""
    return _IDENTIFIER.fullmatch(text) is not None


def is_special(text: str) -> bool:
    """Return whether Python reserves the name, such as `__class__`."""
    return text.startswith("__") and text.endswith("__")


def is_cpp_name(text: str) -> bool:
    """Return whether C++ accepts the text as a name, with or without namespaces: `f`, `mylib::native::f`."""
    return all(is_identifier(part) and part not in _RESERVED for part in text.split("::"))


def check_cpp_name(text: str, what: str, where: Location | None = None) -> None:
    """Check that C++ accepts a name; `what` describes it in the error.

    Raises:
        InputError: It does not.
    """
    if not is_cpp_name(text):
        raise InputError(
            f"'{text}' cannot be {what} in C++", where, "letters, digits and '_', and no word of C++'s own"
        )
