"""Columns of a compiler's messages on rewritten lines."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opbridge.twins.common.message_columns import Columns, with_users_columns

PIECES = st.lists(
    st.tuples(
        st.text("ab", max_size=3), st.none() | st.text("ab", max_size=5), st.sampled_from(["x", "xyz", "\n", "x\n y"])
    ),
    min_size=1,
)


@given(PIECES)
def test_every_part_that_stays_is_found_where_the_user_has_it(drawn: list[tuple[str, str | None, str]]) -> None:
    pieces = [(before, part if now is None or "\n" in part else now, part) for before, now, part in drawn]
    columns = Columns(pieces)
    made = written = ""
    for before, now, part in pieces:
        made += before
        if now == part:
            line, column = made.count("\n") + 1, len(made.rpartition("\n")[2]) + 1
            assert columns.as_written(line, column) == len(written.rpartition("\n")[2]) + 1
        made, written = made + now, written + part


@pytest.mark.parametrize(("column", "expected"), [(1, 1), (2, 2), (4, 2), (5, 2), (6, 3), (7, 3), (8, 4), (9, 5)])
def test_what_was_replaced_or_put_in_is_its_place(column: int, expected: int) -> None:
    columns = Columns([("", "a", "a"), ("new", "b", "b"), ("", "cc", "c"), ("", "d", "d"), ("", "e", "e")])
    assert columns.as_written(1, column) == expected


@pytest.mark.parametrize(
    ("before", "column", "expected"), [("\t", 4, 9), ("a\tb\t", 7, 17), ("/* 日本 */", 15, 11), ("\udcff", 4, 2)]
)
def test_bytes_become_columns_of_the_user_s_line(before: str, column: int, expected: int) -> None:
    columns = Columns([("", before, before), ("__", "x", "x")])
    assert columns.as_written(1, column) == expected
    assert columns.as_written(1, column - 2) == expected


def test_a_definition_of_several_lines_has_columns_in_each() -> None:
    columns = Columns([("", "#define K \\\n\t", "#define K \\\n\t"), ("(", "k", "k<<<1>>>"), ("", "(y)", "(y)")])
    assert columns.as_written(2, 4) == 17


def test_what_has_moved_to_another_line_leaves_those_behind_it_in_place() -> None:
    columns = Columns([("f(1,\n2), ", "k", "k"), ("", "", "<<<1,\n2>>>"), ("", "(y)", "(y)")])
    assert columns.as_written(2, 7) == 6


SAID = """\
/a/k.cu:3:7: error: 'y' was not declared in this scope
    3 | a y
      |       ^
In file included from /a/k.cu:1:
/usr/include/x.h:9:3: note: here
    9 |   int x;
      |   ^~~
"""


def test_messages_and_their_marks_are_moved_and_those_of_other_files_are_not() -> None:
    columns = Columns([("", "\n\n", "\n\n"), ("", "a", "a"), ("", " ", " "), ("long", "y", "y")])
    expected = SAID.replace("3:7", "3:3").replace("      |       ^\n", "      |   ^\n")
    assert with_users_columns(SAID, {"/a/k.cu": columns}) == expected
    assert with_users_columns(SAID, {}) == SAID


def test_a_message_of_ours_is_where_what_it_refuses_begins() -> None:
    columns = Columns([("", "f(", "f("), ('_Pragma("GCC error \\"k is not called\\"") ', "k", "k"), ("", "())", "())")])
    said = "/a/k.cu:1:{}: error: {}\n"
    files = {"/a/k.cu": columns}
    assert with_users_columns(said.format(11, "k is not called"), files) == said.format(3, "k is not called")
    assert with_users_columns(said.format(2, "something else"), files) == said.format(2, "something else")


def test_no_mark_lies_beyond_its_line_and_what_stands_below_one_moves_with_it() -> None:
    columns = Columns([("made" * 9, "x", "x")])
    said = "/a/k.cu:1:37: error: no x\n    1 | x\n      | {0}^\n      | {0}y\n".format(" " * 36)
    expected = "/a/k.cu:1:1: error: no x\n    1 | x\n      | ^\n      | y\n"
    assert with_users_columns(said, {"/a/k.cu": columns}) == expected
    other_line = Columns([("", " " * 60, " " * 60), ("m", "x", "x")])
    said = "/a/k.cu:1:61: error: no x\n    1 | short\n      | {}^\n".format(" " * 60)
    assert with_users_columns(said, {"/a/k.cu": other_line}).endswith("\n      |      ^\n")
