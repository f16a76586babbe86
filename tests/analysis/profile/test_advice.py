"""Each pattern has its own sentence, and what is as it should be has none."""

from __future__ import annotations

from dataclasses import replace

from opbridge.analysis.profile.advice import advice
from opbridge.analysis.profile.profile_contents import LineCost

GOOD = LineCost("load", "global", 1, 32, 128, 4, 4, 0, 4, 4, 0, 1, 4, 32, 4, "sum.cu:3", "x")


def test_neighbours_that_read_neighbours_need_no_advice() -> None:
    assert advice(GOOD) == ""


def test_lanes_that_are_a_row_apart() -> None:
    line = replace(GOOD, parts=32, worst=32, worst_stride=4096)
    assert advice(line) == (
        "32 lanes read 32 sectors, 4096 bytes apart: make the fast index threadIdx.x, or go through shared memory"
    )


def test_fields_of_a_structure() -> None:
    line = replace(GOOD, parts=12, worst=12, worst_stride=12)
    assert "keep what one thread uses in separate arrays" in advice(line)


def test_scattered_lanes() -> None:
    line = replace(GOOD, kind="store", parts=30, worst=30, worst_stride=0)
    assert advice(line).startswith("32 lanes write 30 sectors, scattered")


def test_rows_that_begin_between_sectors() -> None:
    line = replace(GOOD, parts=5, worst=5)
    assert advice(line) == "32 lanes read 5 sectors where 4 would do: begin rows at a multiple of 32 bytes"


def test_what_is_read_again_and_again() -> None:
    line = replace(GOOD, requests=64, lanes=2048, bytes=8192, parts=256, least=256, fresh=8)
    assert advice(line) == "each sector is read 32 times by a block: keep it in shared memory or in registers"


def test_a_column_of_shared_memory() -> None:
    line = replace(GOOD, space="shared", parts=32, least=1, worst=32, worst_stride=128)
    assert advice(line) == "32 lanes need 32 passes, all in one bank: add a column to the array, as in [32][33]"


def test_lanes_that_read_a_table_of_constant_memory() -> None:
    line = replace(GOOD, space="constant", parts=32, least=1, worst=32)
    assert advice(line).startswith("32 lanes read 32 words of constant memory in turn: let all lanes read one word")


def test_one_constant_for_all_lanes_needs_no_advice() -> None:
    assert advice(replace(GOOD, space="constant", parts=1, least=1, worst=1, worst_stride=0)) == ""


def test_one_counter_for_all() -> None:
    line = replace(GOOD, kind="atomic", parts=1, least=1, queued=31)
    assert advice(line) == (
        "all lanes of a warp update one address in turn: add up in shared memory or by __shfl_down_sync first"
    )


def test_lanes_that_part() -> None:
    line = replace(GOOD, kind="branch", space="", requests=8, lanes=256)
    assert "both branches run" in advice(line)
