"""What may stand as a name in the C++ and Python that opbridge writes: asked wherever a user's text becomes one."""

from __future__ import annotations

import re

from opbridge.errors import InputError, Location

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
    return _IDENTIFIER.fullmatch(text) is not None


def is_special(text: str) -> bool:
    """Whether it is one of those that Python keeps for itself, such as `__class__`."""
    return text.startswith("__") and text.endswith("__")


def is_cpp_name(text: str) -> bool:
    """Whether C++ takes it for the name of something, in namespaces or not: `f`, `mylib::native::f`."""
    return all(is_identifier(part) and part not in _RESERVED for part in text.split("::"))


def check_cpp_name(text: str, what: str, where: Location | None = None) -> None:
    if not is_cpp_name(text):
        raise InputError(
            f"'{text}' cannot be {what} in C++", where, "letters, digits and '_', and no word of C++'s own"
        )
