"""Flags between blocks, global memory that is filled, the scalar unit, and names of 2023."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest


@pytest.fixture(scope="module")
def cores(twin: Callable[..., Any]) -> Any:
    return twin("cores.cpp")


@pytest.mark.parametrize("blocks", [1, 2, 9])
def test_flags_of_all_blocks_order_what_they_share(cores: Any, blocks: int) -> None:
    x, y = np.zeros(blocks, np.float32), np.zeros(blocks, np.float32)
    cores.run("passed_on", x, y, blocks=blocks)
    expected = np.zeros(blocks)
    for turn in (1, 2, 3):
        expected = np.roll(np.arange(blocks) + turn + expected, -1)
    np.testing.assert_array_equal(y, expected)


def test_a_flag_that_one_block_never_sets(cores: Any) -> None:
    with pytest.raises(AssertionError, match=r"waits for a flag that no block sets \[sync-all\]\n.*cores\.cpp:28"):
        cores.run("not_all_set", None, blocks=3)


def test_a_flag_that_nobody_waits_for(cores: Any) -> None:
    with pytest.raises(AssertionError, match=r"set, but never waited for.*\n.*CrossCoreSetFlag of id 2"):
        cores.run("nobody_waits", None, blocks=2)


def test_flags_between_two_blocks_order_what_they_share(cores: Any) -> None:
    sums, flags = np.zeros(5, np.float32), np.zeros(5 * 3 * 8, np.int32)
    cores.run("added_up", sums, flags, 1, 3, blocks=5)
    np.testing.assert_array_equal(sums, 2 + np.cumsum(np.arange(5)))


def test_blocks_that_do_not_wait_for_each_other(cores: Any) -> None:
    with pytest.raises(AssertionError, match=r"reads what block . writes, and nothing orders the two"):
        cores.run("added_up", np.zeros(2, np.float32), np.zeros(2 * 8, np.int32), 0, 1, blocks=2)


def test_flags_between_two_blocks_are_paired_and_begin_with_zero(cores: Any) -> None:
    flags = np.zeros(2 * 8, np.int32)
    with pytest.raises(AssertionError, match=r"set, but never waited for[^\n]*\n.*IBSet"):
        cores.run("unpaired", flags, 1, blocks=2)
    with pytest.raises(AssertionError, match=r"waits for [^\n]*\n.*IBWait"):
        cores.run("unpaired", flags, 0, blocks=2)
    with pytest.raises(AssertionError, match=r"the flag in gmWorkspace is 7"):
        cores.run("unpaired", flags + 7, 1, blocks=2)


def test_global_memory_is_filled(cores: Any) -> None:
    x = np.zeros(100, np.int32)
    cores.run("filled", x, 90)
    np.testing.assert_array_equal(x, np.where(np.arange(100) < 90, 7, 0))


def test_bits_of_numbers(cores: Any) -> None:
    x = np.array([0, -1, 1, 6, -6, 2**62, -(2**63), 0x00FF00FF], np.int64)
    z = np.empty((len(x), 6), np.int64)
    cores.run("scalars", x, z, len(x))
    for number, results in zip(x.tolist(), z.tolist(), strict=True):
        bits = f"{number % 2**64:064b}"
        same = len(bits) - len(bits.lstrip(bits[0])) - 1
        ones, zeros = bits[::-1].find("1"), bits[::-1].find("0")
        leading = len(bits) - len(bits.lstrip("0"))
        assert results == [bits.count("1"), bits.count("0"), leading, -1 if same == 63 else same, ones, zeros]


def test_single_numbers_are_cast(cores: Any) -> None:
    z = np.zeros(2, np.float32)
    cores.run("odd_half", z)
    assert list(z) == [2050, 1]  # between 2048, which is even as a half, and 2050


def test_a_shift_that_rounds(cores: Any) -> None:
    x, z = np.arange(-32, 32, dtype=np.int32), np.empty((2, 64), np.int32)
    cores.run("shifted", x, z)
    np.testing.assert_array_equal(z[0], (x >> 1) + (x & 1))
    np.testing.assert_array_equal(z[1], x >> 1)


def test_the_names_of_the_first_headers(cores: Any) -> None:
    x, z = np.arange(64, dtype=np.float32), np.full(64, 10, np.float32)
    cores.run("first_names", x, z, 64)
    np.testing.assert_array_equal(z, np.arange(64) + 11)


def test_tensors_are_printed(cores: Any, capfd: pytest.CaptureFixture[str]) -> None:
    cores.run("dumped", np.array([1, -2, 3, 4], np.int32))
    ctypes.CDLL(None).fflush(None)
    assert capfd.readouterr().out == (
        "DumpTensor: desc=7, data_type=float16, position=UB, dump_size=9, block=0\n"
        f"[{'1.500000, ' * 8}unset]\n"
        "DumpTensor: desc=8, data_type=int32, position=GM, dump_size=4, block=0\n"
        "[1, -2,\n 3, 4]\n"
    )
