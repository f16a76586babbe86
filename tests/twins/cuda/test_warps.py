"""Warp intrinsics and atomics, against what they are to compute; with checks on and off."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

LANES = np.arange(32)
TYPES = {
    **{name: np.dtype(name) for name in ("int32", "uint32", "int64", "uint64", "float32", "float64", "float16")},
    "bfloat16": np.dtype(ml_dtypes.bfloat16),
    "pair": np.dtype([("x", np.float16), ("y", np.float16)]),
}


@pytest.fixture(scope="module", params=[False, True], ids=["fast", "checked"])
def warps(request: pytest.FixtureRequest, twin: Any) -> Any:
    return twin("warps.cu", checks=request.param)


@pytest.fixture
def device(warps: Any, on_device: Any) -> Any:
    return on_device(warps)


def test_lanes_and_barriers_wait_for_those_alone_that_have_not_ended(warps: Any, device: Any) -> None:
    out = device(np.zeros((3, 32), np.int32))
    warps.run("run_those_left", out)
    warp, lane = np.arange(3)[:, None], np.arange(11)
    expected = 33 * 1000000 + 0x7FF * 100 + 11 + (32 * warp + 10) + (32 * ((warp + 1) % 3) + lane)
    np.testing.assert_array_equal(out[:, :11], expected)
    assert not out[:, 11:].any()


@pytest.mark.parametrize("width", [32, 8])
@pytest.mark.parametrize("name", TYPES)
def test_shuffles(warps: Any, device: Any, name: str, width: int) -> None:
    dtype = TYPES[name]
    bits = np.random.default_rng(width).integers(0, 256, 32 * dtype.itemsize).astype(np.uint8)
    values = device(bits.view(f"u{dtype.itemsize}"))
    out = device(np.zeros((5, 32), values.dtype))
    warps.run(f"shuffles_{name}", values, out, width)
    part, rank = LANES // width * width, LANES % width
    sources = (
        part + 5 % width,
        np.where(rank >= 3, LANES - 3, LANES),
        np.where(rank + 3 < width, LANES + 3, LANES),
        LANES ^ 6,
        part + (LANES + 1) % width,
    )
    np.testing.assert_array_equal(out, [values[source] for source in sources])


def test_parts_of_a_warp(warps: Any, device: Any) -> None:
    out = device(np.zeros((3, 2, 32), np.uint32))
    warps.run("run_parts", out)
    down = np.where(LANES == 31, LANES, LANES + 1)
    # What a lane gets of one that does not take part, nobody promises: on an H100 it is that one's value.
    np.testing.assert_array_equal(out[0][:, LANES != 11], [down[LANES != 11]] * 2)
    np.testing.assert_array_equal(out[1], [np.where(LANES < 12, 0xAAA, 0xAAAAA000)] * 2)
    np.testing.assert_array_equal(out[2].view(np.int32), [np.where(LANES % 2 == 1, 31, -1)] * 2)


def test_votes_matches_and_reductions(warps: Any, device: Any) -> None:
    out = device(np.zeros((8, 32), np.uint32))
    warps.run("run_votes", out)

    def mask(lanes: Any) -> int:
        return sum(1 << int(lane) for lane in LANES[lanes])

    assert set(out[0]) == {1 + 100}
    assert set(out[1]) == {mask(LANES % 3 == 0)}
    np.testing.assert_array_equal(out[2], [mask(i == LANES // 5) for i in LANES // 5])
    assert set(out[3]) == {0xFFFFFFFF}
    assert set(out[4]) == {0}
    assert set(out[5]) == {496 + 10000 * 15}
    assert set(out[6].view(np.int32)) == {-16}
    assert set(out[7]) == {64 + 31 * 1000 + 7 * 100000}


def test_lanes_that_come_to_one_place_know_each_other(warps: Any, device: Any) -> None:
    out = device(np.zeros(97, np.uint32))
    warps.run("run_active", out)
    assert set(out[:32]) == {0xFFFFFFFF}
    fours, late = LANES % 4 == 0, (LANES % 4 != 0) & (LANES > 20)
    for group in (fours, late):
        assert set(out[32:64][group]) == {sum(1 << int(lane) for lane in LANES[group])}
    assert out[64] == 16
    assert sorted(out[65:][LANES & 2 > 0]) == list(range(16))


@pytest.mark.parametrize("blocks", [1, 5])
def test_a_sum_by_warps_and_blocks(warps: Any, device: Any, blocks: int) -> None:
    x = device(np.arange(10_000, dtype=np.float32) % 17)
    total = device(np.zeros(1, np.float32))
    warps.run("run_sum", x, total, len(x), blocks)
    assert total[0] == x.sum(dtype=np.float64)


@pytest.mark.parametrize("name", ["int32", "uint32", "uint64", "float32", "float64", "float16"])
def test_no_addition_is_lost(warps: Any, device: Any, name: str) -> None:
    # Of halves no more than they can count to.
    blocks = 20 if name == "float16" else 200
    total, by_block = device(np.zeros(2, name)), device(np.zeros(2, name))
    olds = device(np.zeros(1))
    warps.run(f"add_up_{name}", total, by_block, olds, blocks)
    each = 32 * blocks
    np.testing.assert_array_equal(total, [each] * 2)
    np.testing.assert_array_equal(by_block, [each] * 2)
    assert olds[0] == 2 * sum(range(each))


def test_pairs_are_added_each_by_itself(warps: Any, device: Any) -> None:
    halves = device(np.zeros(2, np.float16))
    bfloats, single = device(np.zeros(2, TYPES["bfloat16"])), device(np.zeros(2, TYPES["bfloat16"]))
    warps.run("run_add_pairs", halves, bfloats, single)
    assert [*halves, *bfloats.astype(float), float(single[0])] == [64, 128, 64, 32, 128]


@pytest.mark.parametrize("name", ["int32", "uint32"])
def test_the_other_atomics(warps: Any, device: Any, name: str) -> None:
    before = np.array([100, 5, 5, 0b1100, 0b1100, 0b1100, 1, 7, 7], name)
    x, olds = device(before), device(np.zeros(9, name))
    warps.run(f"run_others_{name}", x, olds, 6)
    np.testing.assert_array_equal(olds, before)
    np.testing.assert_array_equal(x, [94, 5, 6, 0b0100, 0b1110, 0b1010, 6, 6, 7])


def test_counters_that_wrap_around(warps: Any, device: Any) -> None:
    x, olds = device(np.array([1, 1, 9, 3], np.uint32)), device(np.zeros(10, np.uint32))
    warps.run("run_wrap_around", x, olds)
    np.testing.assert_array_equal(olds, [1, 2, 0, 1, 1, 0, 2, 1, 9, 3])
    np.testing.assert_array_equal(x, [2, 0, 5, 8])
