"""What each instruction computes, held against NumPy or exact arithmetic.  One library: 15 s at first, then 2."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

TYPES: dict[str, Any] = {"half": np.float16, "float": np.float32, "int32_t": np.int32}
NONE, RINT, FLOOR, CEIL, ROUND, TRUNC, ODD = range(7)


@pytest.fixture(scope="session")
def unit(twin: Callable[..., Any]) -> Any:
    return twin("instructions.cpp")


def values(dtype: Any, n: int = 256, seed: int = 0) -> Any:
    return np.random.default_rng(seed).integers(1, 100, n).astype(dtype)


@pytest.mark.parametrize("lanes", [0, 1, 20, 64])
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize(
    ("name", "reference"),
    [("Add", np.add), ("Sub", np.subtract), ("Mul", np.multiply), ("Max", np.maximum), ("Min", np.minimum)],
)
def test_binary(unit: Any, name: str, reference: Any, dtype: str, lanes: int) -> None:
    x, y = values(TYPES[dtype]), values(TYPES[dtype], seed=1)
    z = np.zeros_like(x)
    unit.call(f"{name}_{dtype}", x, y, z, len(x), ctypes.c_uint64(lanes))
    takes_part = np.arange(len(x)) % (256 // x.itemsize) < (lanes or len(x))
    np.testing.assert_array_equal(z, np.where(takes_part, reference(x, y), 0))


@pytest.mark.parametrize("dtype", ["half", "float"])
def test_division(unit: Any, dtype: str) -> None:
    x, y = values(TYPES[dtype]), values(TYPES[dtype], seed=1)
    z = np.empty_like(x)
    unit.call(f"Div_{dtype}", x, y, z, len(x), ctypes.c_uint64(0))
    np.testing.assert_array_equal(z, x / y)


@pytest.mark.parametrize("dtype", [np.int16, np.int8])
@pytest.mark.parametrize(("name", "reference"), [("And", np.bitwise_and), ("Or", np.bitwise_or)])
def test_bits_of_two(unit: Any, name: str, reference: Any, dtype: Any) -> None:
    x, y = values(dtype), values(dtype, seed=1)
    z = np.empty_like(x)
    unit.call(f"{name}_{x.dtype}_t", x, y, z, len(x), ctypes.c_uint64(0))
    np.testing.assert_array_equal(z, reference(x, y))


@pytest.mark.parametrize(
    ("name", "reference"),
    [
        ("Abs_half", np.abs),
        ("Abs_float", np.abs),
        ("Sqrt_float", lambda x: np.sqrt(x)),
        ("Rsqrt_float", lambda x: 1 / np.sqrt(x)),
        ("Reciprocal_float", lambda x: 1 / x),
        ("Relu_float", lambda x: np.maximum(x, 0)),
        ("Exp_float", np.exp),
        ("Ln_float", np.log),
        ("Not_int16_t", np.invert),
    ],
)
def test_unary(unit: Any, name: str, reference: Any) -> None:
    x = values({"half": np.float16, "float": np.float32, "int16_t": np.int16}[name.partition("_")[2]], 40)
    if name in ("Abs_half", "Abs_float", "Relu_float"):
        x[::3] *= -1
    if name == "Exp_float":
        x = x / 10 - 5
    z = np.empty_like(x)
    unit.call(name, x, z, len(x))
    np.testing.assert_allclose(z, reference(x), rtol=3e-7)


@pytest.mark.parametrize(
    ("name", "reference"),
    [
        ("Adds", lambda x: x + 3),
        ("Muls", lambda x: x * 3),
        ("Maxs", lambda x: np.maximum(x, 3)),
        ("Mins", lambda x: np.minimum(x, 3)),
        ("ShiftLeft", lambda x: x << 3),
        ("ShiftRight", lambda x: x >> 3),
    ],
)
def test_scalars(unit: Any, name: str, reference: Any) -> None:
    x = np.arange(-8, 8, dtype=np.int32)
    z = np.empty_like(x)
    unit.call(f"{name}_int32_t", x, z, len(x), 3)
    np.testing.assert_array_equal(z, reference(x))


def exactly_rounded(number: Fraction, mode: int) -> int:
    down = math.floor(number)
    if number == down or mode == FLOOR:
        return down
    odd = down if down % 2 else down + 1
    even = down + 1 if down % 2 else down
    part = number - down
    nearest = down if part < Fraction(1, 2) else down + 1
    return {
        CEIL: down + 1,
        TRUNC: down if number > 0 else down + 1,
        ODD: odd,
        ROUND: nearest if part != Fraction(1, 2) else (down + 1 if number > 0 else down),
    }.get(mode, nearest if part != Fraction(1, 2) else even)


def exactly_on_grid(number: float, mode: int, digits: int, smallest: int, most: float) -> float:
    """Of a format whose significands have `digits` bits, and whose normal numbers begin at 2 ** smallest."""
    exact = Fraction(number)
    exponent = max(math.frexp(number)[1] - 1, smallest)
    ulp = Fraction(2) ** (exponent - digits + 1)
    return max(-most, min(most, float(exactly_rounded(exact / ulp, mode) * ulp)))


FLOATS = st.floats(width=32, allow_nan=False, allow_infinity=False) | st.floats(-70000, 70000, width=32)
NUMBERS = st.lists(FLOATS, min_size=1, max_size=32)


def cast(unit: Any, pair: str, x: Any, to: Any, mode: int) -> Any:
    z = np.empty(len(x), to)
    unit.call(f"Cast_{pair}", x, z, len(x), mode)
    return z


@settings(deadline=None, max_examples=60)
@given(numbers=NUMBERS, mode=st.integers(NONE, ODD))
def test_cast_to_half(unit: Any, numbers: list[float], mode: int) -> None:
    z = cast(unit, "float_half", np.array(numbers, np.float32), np.float16, mode)
    np.testing.assert_array_equal(z, [exactly_on_grid(x, mode, 11, -14, 65504.0) for x in numbers])


@settings(deadline=None, max_examples=60)
@given(numbers=NUMBERS, mode=st.integers(NONE, ODD))
def test_cast_to_bfloat16(unit: Any, numbers: list[float], mode: int) -> None:
    z = cast(unit, "float_bfloat16_t", np.array(numbers, np.float32), np.uint16, mode)
    most = float(np.array(0x7F7F0000, np.uint32).view(np.float32))
    expected = [exactly_on_grid(x, mode, 8, -126, most) for x in numbers]
    np.testing.assert_array_equal((z.astype(np.uint32) << 16).view(np.float32), np.array(expected, np.float32))


@settings(deadline=None, max_examples=60)
@given(numbers=NUMBERS, mode=st.integers(NONE, ODD))
def test_cast_to_integers(unit: Any, numbers: list[float], mode: int) -> None:
    x = np.array(numbers, np.float32)
    whole = [exactly_rounded(Fraction(number), mode) for number in numbers]
    np.testing.assert_array_equal(cast(unit, "float_float", x, np.float32, mode), np.array(whole, np.float64))
    for name, dtype in (("int32_t", np.int32), ("int16_t", np.int16)):
        limits = np.iinfo(dtype)
        expected = [max(int(limits.min), min(int(limits.max), number)) for number in whole]
        np.testing.assert_array_equal(cast(unit, f"float_{name}", x, dtype, mode), expected)


def test_casts_that_lose_nothing_or_saturate(unit: Any) -> None:
    halves = np.arange(-2000, 2000, 7).astype(np.float16) / np.float16(8)
    np.testing.assert_array_equal(cast(unit, "half_float", halves, np.float32, NONE), halves.astype(np.float32))
    np.testing.assert_array_equal(
        cast(unit, "half_int8_t", halves, np.int8, FLOOR), np.clip(np.floor(halves), -128, 127)
    )
    integers = np.array([0, -1, 2**31 - 1, -(2**31), 2**24 + 1, 40000], np.int32)
    np.testing.assert_array_equal(cast(unit, "int32_t_float", integers, np.float32, RINT), integers.astype(np.float32))
    np.testing.assert_array_equal(
        cast(unit, "int32_t_int16_t", integers, np.int16, NONE), np.clip(integers, -32768, 32767)
    )
    large = np.array([2**63 - 1, -(2**63), 2**40 + 2**16 + 1], np.int64)
    np.testing.assert_array_equal(cast(unit, "int64_t_float", large, np.float32, RINT), large.astype(np.float32))


def test_what_is_no_number_stays_so_or_becomes_zero(unit: Any) -> None:
    x = np.array([np.nan, np.inf, -np.inf], np.float32)
    for mode in range(NONE, ODD + 1):
        np.testing.assert_array_equal(cast(unit, "float_half", x, np.float16, mode), x)
        limits = np.iinfo(np.int32)
        np.testing.assert_array_equal(cast(unit, "float_int32_t", x, np.int32, mode), [0, limits.max, limits.min])


COMPARISONS = [np.less, np.greater, np.equal, np.less_equal, np.greater_equal, np.not_equal]


@pytest.mark.parametrize("mode", range(6))
def test_compare(unit: Any, mode: int) -> None:
    x, y = values(np.float32, 128) % 3, values(np.float32, 128, seed=1) % 3
    bits = np.zeros(16, np.uint8)
    unit.call("compare", x, y, bits, 128, mode)
    np.testing.assert_array_equal(np.unpackbits(bits, bitorder="little"), COMPARISONS[mode](x, y))
    unit.call("compare_scalar", x, ctypes.c_float(1), bits, 128, mode)
    np.testing.assert_array_equal(np.unpackbits(bits, bitorder="little"), COMPARISONS[mode](x, 1))


@pytest.mark.parametrize("mode", range(3))
def test_select(unit: Any, mode: int) -> None:
    x, y = values(np.float32, 128), values(np.float32, 128, seed=1)
    bits = values(np.uint8, 16, seed=2)
    z = np.empty_like(x)
    unit.call("select_one", bits, x, y, z, 128, mode)
    chosen = np.unpackbits(bits, bitorder="little")
    if mode == 0:  # the bits of the first repeat serve for all
        chosen = np.tile(chosen[:64], 2)
    np.testing.assert_array_equal(z, np.where(chosen, x, 7 if mode == 1 else y))


@pytest.mark.parametrize("n", [1, 8, 63, 64, 200])
def test_reductions_of_a_tensor(unit: Any, n: int) -> None:
    x = values(np.float32, n)
    z = np.empty(5, np.float32)
    unit.call("reduce", x, z, n)
    assert z[0] == x.sum()
    assert (z[1], z[3]) == (x.max(), x.min())
    assert list(z[[2, 4]].view(np.uint32)) == [x.argmax(), x.argmin()]


def test_sums_of_halves_are_a_tree_that_saturates(unit: Any) -> None:
    def total(*numbers: float) -> float:
        x, z = np.array(numbers, np.float16), np.empty(1, np.float16)
        unit.call("sum_of_halves", x, z, len(x))
        return float(z[0])

    assert total(60000, 60000, -30000, 100) == 35584  # 65504 - 29904 = 35600, which lies between two halves
    assert total(2048, 1, 1, 1) == 2050  # one after the other it would be 2048


@pytest.mark.parametrize("lanes", [1, 30, 64])
def test_reductions_of_repeats_blocks_and_pairs(unit: Any, lanes: int) -> None:
    x = values(np.float32, 5 * 64)
    sums, maxima = np.empty(5, np.float32), np.empty((5, 2), np.float32)
    blocks, pairs = np.empty(40, np.float32), np.empty(160, np.float32)
    unit.call("reduce_parts", x, 5, lanes, sums, maxima, blocks, pairs)
    used = x.reshape(5, 64)[:, :lanes]
    np.testing.assert_array_equal(sums, used.sum(1))
    np.testing.assert_array_equal(maxima[:, 0], used.max(1))
    np.testing.assert_array_equal(maxima[:, 1].copy().view(np.uint32), used.argmax(1))
    np.testing.assert_array_equal(blocks, x.reshape(40, 8).sum(1))
    np.testing.assert_array_equal(pairs, x.reshape(160, 2).sum(1))


def test_gather_and_scatter_take_offsets_in_bytes(unit: Any) -> None:
    x = values(np.float32, 64)
    order = np.random.default_rng(3).permutation(64)
    z = np.empty_like(x)
    unit.call("gather", x, (4 * order).astype(np.uint32), z, 64)
    np.testing.assert_array_equal(z, x[order])
    back = np.empty_like(x)
    unit.call("scatter", z, (4 * order).astype(np.uint32), back, 64)
    np.testing.assert_array_equal(back, x)


@pytest.mark.parametrize("pattern", range(1, 8))
def test_gather_mask(unit: Any, pattern: int) -> None:
    x = np.arange(48, dtype=np.float32)
    z, kept = np.empty_like(x), ctypes.c_uint64()
    unit.call("gather_mask", x, z, 48, pattern, ctypes.byref(kept))
    expected = {1: x[::2], 2: x[1::2], 7: x}.get(pattern, x[pattern - 3 :: 4])
    np.testing.assert_array_equal(z[: kept.value], expected)


def test_each_element_fills_a_block(unit: Any) -> None:
    x, z = values(np.float32, 16), np.empty(128, np.float32)
    unit.call("brcb", x, z)
    np.testing.assert_array_equal(z, np.repeat(x, 8))


def test_atomic_stores_of_many_blocks_add_up(unit: Any) -> None:
    x, z = values(np.float32, 100), np.zeros(100, np.float32)
    unit.call("add_atomically", x, z, 100, 16)
    np.testing.assert_array_equal(z, 16 * x)


@pytest.mark.parametrize("offset", [0, 16, 3])
@pytest.mark.parametrize("piece", [1024, 1088, 1096, 64, 4096, 4160, 4104])
def test_pieces_go_where_they_belong_in_a_large_tensor(unit: Any, piece: int, offset: int) -> None:
    count, rest = 2**20 // 4 // piece + 1, 16 + 1
    x = np.random.default_rng(0).integers(0, 2**31, piece, np.int32)
    memory = np.zeros(count * piece + 64, np.int32)
    z = memory[-memory.ctypes.data % 64 // 4 + offset :][: count * piece + rest]
    unit.call("tiled", x, z, count * piece, piece)
    np.testing.assert_array_equal(z[:-rest], np.tile(x, count))
    assert not z[-rest:].any()


def test_rows_are_padded(unit: Any) -> None:
    x, z = values(np.float32, 15), np.empty((3, 8), np.float32)
    unit.call("pad_rows", x, z, 3)
    np.testing.assert_array_equal(z, np.pad(x.reshape(3, 5), ((0, 0), (1, 2)), constant_values=-1))


@pytest.mark.parametrize("is_pad", [False, True])
def test_rows_without_padding_are_filled_with_their_first_element(unit: Any, is_pad: bool) -> None:
    x, z = values(np.float32, 15), np.empty((3, 8), np.float32)
    unit.call("fill_rows", x, z, 3, is_pad)
    rows = x.reshape(3, 5)
    np.testing.assert_array_equal(z, np.hstack([rows, rows[:, :1].repeat(3, axis=1)]))


@pytest.mark.parametrize("count", [128, 160])
def test_copy_takes_a_mask_of_zero_lanes(unit: Any, count: int) -> None:
    x, z = values(np.float16, count), np.empty(count, np.float16)
    unit.call("copied_in_two", x, z, count)
    np.testing.assert_array_equal(z, x)


@pytest.mark.parametrize(("key", "expected"), [(1, 6), (2, 5), (3, 3)])
def test_tiling_and_its_key(unit: Any, key: int, expected: int) -> None:
    x, z = np.full(10, 3, np.float32), np.empty(10, np.float32)
    tiling = np.array([10, int(np.float32(2).view(np.uint32))], np.uint32)
    unit.call("scaled_by_key", x, z, tiling, ctypes.c_uint64(key))
    np.testing.assert_array_equal(z, np.full(10, expected, np.float32))


def test_a_hosts_tiling_struct(unit: Any) -> None:
    x, z = values(np.float32, 10), np.empty(10, np.float32)
    unit.call("scaled_by_host", x, z, 10, ctypes.c_float(3))
    np.testing.assert_array_equal(z, 3 * x)


def test_masks_that_are_set_outside(unit: Any) -> None:
    x = values(np.float32, 320)
    counted, masked = np.empty(320, np.float32), np.empty(128, np.float32)
    unit.call("masks_from_outside", x, counted, masked)
    np.testing.assert_array_equal(counted, x + (np.arange(320) < 300))
    np.testing.assert_array_equal(masked, x[:128] + (np.arange(128) % 2 == 0))


def test_strides_between_blocks(unit: Any) -> None:
    x, z = values(np.float16), np.empty(128, np.float16)
    unit.call("packed_blocks", x, z)
    np.testing.assert_array_equal(z, x.reshape(8, 2, 16)[:, 0].ravel())


def test_what_adds_to_its_destination(unit: Any) -> None:
    x, y, z = values(np.float32, 40), values(np.float32, 40, seed=1), -values(np.float32, 40, seed=2) * 50
    expected = x * y + z + 2 * x
    unit.call("fused", x, y, z, 40)
    np.testing.assert_array_equal(z, np.where(expected < 0, expected / 2, expected))


def test_an_atomic_maximum(unit: Any) -> None:
    x, z = values(np.int32), values(np.int32, seed=1)
    expected = np.maximum(x, z)
    unit.call("largest_atomically", x, z, len(x))
    np.testing.assert_array_equal(z, expected)
