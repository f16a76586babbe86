"""The picture of which thread touches what: rows of memory, sectors, banks, and words that wait for one another."""

from __future__ import annotations

import re

import pytest

from opbridge.analysis.profile.profile_contents import KernelCost, Touch
from opbridge.analysis.report.thread_accesses import page


def drawn(*touches: Touch) -> str:
    kernel = KernelCost("k", (1, 1, 1), (64, 1, 1), 1, 1, 1, 0, 1.0, 0, 0, 0, {}, (), touches=touches)
    return page([kernel])


def touch(begins: list[int], *, array: str = "x", size: int = 4, warp: int = 0) -> Touch:
    return Touch("k.cu:3", 1, "load", array, warp, size, tuple(enumerate(begins)))


def rows(text: str) -> list[int]:
    return [int(at) for at in re.findall(r">\+(\d+)<", text)]


def test_neighbours_at_neighbouring_words_share_a_row() -> None:
    text = drawn(touch([4 * lane for lane in range(32)]), touch([128 + 4 * lane for lane in range(32)], warp=1))
    assert rows(text) == [0, 128]
    assert "byte 124: thread 31<" in text
    assert "byte 252: thread 63<" in text
    assert text.count('class="warp-0"') == text.count('class="warp-1"') == 32


def test_rows_that_nobody_touches_are_left_out_and_many_are_counted() -> None:
    text = drawn(touch([8192 * lane for lane in range(32)]), touch([8192 * (32 + lane) for lane in range(32)], warp=1))
    assert rows(text) == [8192 * row for row in range(40)]
    assert text.count("⋮") == 39
    assert "and 24 more rows" in text


@pytest.mark.parametrize(
    ("begins", "size", "waiting"),
    [
        ([128 * lane for lane in range(32)], 4, 32),  # a column of [32][32]
        ([132 * lane for lane in range(32)], 4, 0),  # of [32][33]
        ([0] * 32, 4, 0),  # one word for all
        ([8 * lane for lane in range(32)], 8, 0),  # half a warp at a time
        ([16 * lane for lane in range(32)], 8, 64),
    ],
)
def test_words_of_one_bank_wait_for_one_another(begins: list[int], size: int, waiting: int) -> None:
    assert len(re.findall(r'class="warp-\d waits"', drawn(touch(begins, array="", size=size)))) == waiting


def test_in_global_memory_no_word_waits_and_sectors_are_parted() -> None:
    text = drawn(touch([128 * lane for lane in range(32)]))
    assert ' waits"' not in text
    assert text.count('class="sector"') == 32 * 3


def test_several_threads_at_one_word_are_counted() -> None:
    assert ">×32<" in drawn(touch([64] * 32))


def test_bytes_are_drawn_as_narrow_as_they_are() -> None:
    text = drawn(touch(list(range(32)), size=1))
    assert text.count('width="6.0"') == 32
