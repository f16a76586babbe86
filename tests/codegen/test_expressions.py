"""Which words of a C++ expression are names, and which are the language's."""

from __future__ import annotations

import pytest

from opbridge.codegen.expressions import functions_called, items, names_used, qualified_names, unknown_names

_WORDS = """
    auto bool char const const_cast decltype double dynamic_cast false float if int long not nullptr reinterpret_cast
    return sizeof static_cast true int8_t int64_t uint32_t size_t
"""
KEYWORDS = _WORDS.split()


@pytest.mark.parametrize("keyword", KEYWORDS)
def test_keywords_are_no_names(keyword: str) -> None:
    assert names_used(f"{keyword} + x") == ["x"]
    assert functions_called(f"{keyword}(x)") == set()
    assert [each.name for each in qualified_names(f"f({keyword}, x)")] == ["f", "x"]
    assert unknown_names(f"x + {keyword}", {"x"}) == []


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("x.size(0) + n", ["x", "n"]),
        ("at::sum(x, dim)", ["x", "dim"]),
        ("out->sizes()", ["out"]),
        ("static_cast<double>(x) * sizeof_x", ["x", "sizeof_x"]),
        ('f("x, y") /* z */ + w', ["w"]),
        ("x_t + notes", ["x_t", "notes"]),
    ],
)
def test_names_are_what_is_no_function_member_or_namespace(text: str, names: list[str]) -> None:
    assert names_used(text) == names


def test_commas_within_brackets_and_texts_part_nothing() -> None:
    assert items('f(a, b), {1, 2}, "x, y", std::array<int, 2>{}') == (
        "f(a, b)",
        "{1, 2}",
        '"x, y"',
        "std::array<int, 2>{}",
    )
