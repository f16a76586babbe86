"""Instructions by mask, repeats and strides, held against one loop over lanes.  One library: 6 s at first."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

N = 2048
TYPES: dict[str, Any] = {"half": np.float16, "float": np.float32}
COMPARISONS = [np.less, np.greater, np.equal, np.less_equal, np.greater_equal, np.not_equal]


class Arguments(ctypes.Structure):
    _fields_ = [
        *((name, ctypes.c_uint32) for name in ("op", "n", "repeats", "lanes")),
        *((f"{operand}_block", ctypes.c_uint32) for operand in ("dst", "src0", "src1")),
        *((f"{operand}_repeat", ctypes.c_uint32) for operand in ("dst", "src0", "src1")),
        ("mode", ctypes.c_uint32),
        ("words", ctypes.c_uint64 * 2),
    ]


@dataclass(frozen=True)
class Call:
    """How an instruction goes over its operands."""

    repeats: int
    mask: int
    """A number of lanes, or bits of them as a negative number."""
    blocks: tuple[int, int, int]
    steps: tuple[int, int, int]

    def arguments(self, op: int, mode: int = 0) -> Arguments:
        bits = -self.mask if self.mask < 0 else 0
        words = (ctypes.c_uint64 * 2)(bits % 2**64, bits >> 64)
        return Arguments(op, N, self.repeats, max(self.mask, 0), *self.blocks, *self.steps, mode, words)

    def lanes(self, size: int) -> Iterator[tuple[int, int]]:
        """Repeat and lane of each element that takes part, where a repeat holds 256 / size of them."""
        for r in range(self.repeats):
            for i in range(256 // size):
                if i < self.mask or (self.mask < 0 and -self.mask >> i & 1):
                    yield r, i

    def at(self, operand: int, r: int, i: int, size: int) -> int:
        per_block = 32 // size
        return (r * self.steps[operand] + i // per_block * self.blocks[operand]) * per_block + i % per_block


def calls(size: int) -> st.SearchStrategy[Call]:
    """Of a widest element of so many bytes."""
    per_repeat = 256 // size
    masks = st.integers(1, per_repeat) | st.integers(1, 2**per_repeat - 1).map(lambda bits: -bits)
    strides = st.tuples(st.integers(1, 2), st.integers(0, 2), st.integers(0, 2))
    steps = st.tuples(st.integers(8, 16), st.integers(0, 16), st.integers(0, 16))
    return st.builds(Call, st.integers(0, 4), masks, strides, steps)


ANY = st.sampled_from(list(TYPES)).flatmap(lambda name: st.tuples(st.just(name), calls(TYPES[name]().itemsize)))


@pytest.fixture(scope="session")
def unit(twin: Callable[..., Any]) -> Any:
    return twin("masks.cpp")


def values(dtype: Any, seed: int = 0) -> Any:
    return np.random.default_rng(seed).integers(1, 20, N).astype(dtype)


def run(unit: Any, name: str, call: Call, op: int, y: Any = None, mode: int = 0) -> tuple[Any, Any, Any, Any]:
    """The operands, what was in the destination, and what is in it now."""
    x, old = values(TYPES[name]), values(TYPES[name], seed=2)
    y = values(TYPES[name], seed=1) if y is None else y
    z = old.copy()
    unit.call(f"masked_{name}", ctypes.byref(call.arguments(op, mode)), x, y, z)
    return x, y, old, z


ELEMENTS: dict[int, Callable[[Any, Any, Any], Any]] = {
    0: lambda a, b, old: a + b,
    1: lambda a, b, old: old + 2 * a,
    2: lambda a, b, old: a * b + old,
    3: lambda a, b, old: a * old + b,
    18: lambda a, b, old: max(a, a / 2),
    19: lambda a, b, old: 7,
}


@settings(deadline=None, max_examples=80)
@given(case=ANY, op=st.sampled_from(list(ELEMENTS)))
def test_elements(unit: Any, case: tuple[str, Call], op: int) -> None:
    name, call = case
    x, y, expected, z = run(unit, name, call, op)
    size = x.itemsize
    for r, i in call.lanes(size):
        to = call.at(0, r, i, size)
        expected[to] = ELEMENTS[op](x[call.at(1, r, i, size)], y[call.at(2, r, i, size)], expected[to])
    np.testing.assert_array_equal(z, expected)


@settings(deadline=None, max_examples=60)
@given(case=ANY, op=st.sampled_from([4, 5]), mode=st.sampled_from([0, 2]))
def test_select(unit: Any, case: tuple[str, Call], op: int, mode: int) -> None:
    name, call = case
    bits = np.random.default_rng(5).integers(0, 256, N * TYPES[name]().itemsize).astype(np.uint8)
    x, _, expected, z = run(unit, name, call, op, bits, mode)
    size = x.itemsize
    chosen = np.unpackbits(bits, bitorder="little")
    for r, i in call.lanes(size):
        bit = i if op == 4 and mode == 0 else r * (256 // size) + i
        other = 7 if op == 5 else x[call.at(2, r, i, size)]
        expected[call.at(0, r, i, size)] = x[call.at(1, r, i, size)] if chosen[bit] else other
    np.testing.assert_array_equal(z, expected)


@settings(deadline=None, max_examples=60)
@given(case=ANY, op=st.sampled_from([6, 7]), mode=st.integers(0, 5))
def test_compare_does_whole_repeats(unit: Any, case: tuple[str, Call], op: int, mode: int) -> None:
    name, call = case
    x, y, old, z = run(unit, name, call, op, mode=mode)
    size = x.itemsize
    expected = np.unpackbits(old.view(np.uint8), bitorder="little")
    for r, i in replace(call, mask=256 // size).lanes(size):
        other = 7 if op == 7 else y[call.at(2, r, i, size)]
        expected[r * (256 // size) + i] = COMPARISONS[mode](x[call.at(1, r, i, size)], other)
    np.testing.assert_array_equal(np.unpackbits(z.view(np.uint8), bitorder="little"), expected)


def whole(call: Call) -> Call:
    """With the strides that reductions of a tensor have, and something to reduce."""
    return Call(max(call.repeats, 1), call.mask, (1, 1, 1), call.steps)


@settings(deadline=None, max_examples=60)
@given(case=ANY, op=st.sampled_from([8, 9, 10]))
def test_reductions_of_a_tensor(unit: Any, case: tuple[str, Call], op: int) -> None:
    name, call = case[0], whole(case[1])
    x, _, _, z = run(unit, name, call, op)
    size = x.itemsize
    taken = {r * (256 // size) + i: x[call.at(1, r, i, size)] for r, i in call.lanes(size)}
    if op == 8:
        assert z[0] == min(sum(map(float, taken.values())), 65504)
        return
    best = max(taken, key=lambda at: taken[at]) if op == 9 else min(taken, key=lambda at: taken[at])
    assert z[0] == taken[best]
    assert z[1:2].view(np.uint16 if size == 2 else np.uint32)[0] == best


@settings(deadline=None, max_examples=80)
@given(case=ANY, op=st.sampled_from([11, 12, 13, 14]), order=st.integers(0, 3), step=st.integers(1, 3))
def test_reductions_of_repeats(unit: Any, case: tuple[str, Call], op: int, order: int, step: int) -> None:
    name, call = case[0], Call(case[1].repeats, case[1].mask, case[1].blocks, (step, *case[1].steps[1:]))
    x, _, expected, z = run(unit, name, call, op, mode=order)
    size = x.itemsize
    per_block = 32 // size
    for r in range(call.repeats):
        lanes = {i: x[call.at(1, r, i, size)] for repeat, i in call.lanes(size) if repeat == r}
        largest = max(lanes, key=lambda i: lanes[i])
        index = np.array([largest], np.uint16 if size == 2 else np.uint32).view(x.dtype)[0]
        if op == 11:
            expected[r * step] = sum(map(float, lanes.values()))
        elif op == 12:
            found = {0: (lanes[largest], index), 1: (index, lanes[largest]), 2: (lanes[largest],), 3: (index,)}[order]
            to = r * step * len(found)
            expected[to : to + len(found)] = found
        elif op == 13:
            for block in {i // per_block for i in lanes}:
                expected[r * step * 8 + block] = min(value for i, value in lanes.items() if i // per_block == block)
        else:
            for pair in {i // 2 for i in lanes}:
                total = lanes.get(2 * pair, 0) + lanes.get(2 * pair + 1, 0)
                expected[r * step * (128 // size) + pair] = total
    np.testing.assert_array_equal(z, expected)


@settings(deadline=None, max_examples=40)
@given(case=ANY)
def test_indices(unit: Any, case: tuple[str, Call]) -> None:
    name, call = case
    _, _, expected, z = run(unit, name, call, 15)
    size = z.itemsize
    for r, i in call.lanes(size):
        expected[call.at(0, r, i, size)] = 3 + r * (256 // size) + i
    np.testing.assert_array_equal(z, expected)


@settings(deadline=None, max_examples=40)
@given(case=ANY, scatters=st.booleans())
def test_gather_and_scatter(unit: Any, case: tuple[str, Call], scatters: bool) -> None:
    name = case[0]
    call = Call(case[1].repeats, case[1].mask, (1, 1, 1), case[1].steps)
    size = TYPES[name]().itemsize
    order = np.random.default_rng(7).permutation(N)
    x, _, expected, z = run(unit, name, call, 17 if scatters else 16, (order * size).astype(np.uint32))
    for r, i in call.lanes(size):
        there = order[r * (256 // size) + i]
        if scatters:
            expected[there] = x[call.at(1, r, i, size)]
        else:
            expected[call.at(0, r, i, size)] = x[there]
    np.testing.assert_array_equal(z, expected)


@settings(deadline=None, max_examples=60)
@given(case=ANY, pattern=st.integers(0, 7), counted=st.booleans(), lanes=st.integers(1, 100), step=st.integers(0, 4))
def test_gather_mask(unit: Any, case: tuple[str, Call], pattern: int, counted: bool, lanes: int, step: int) -> None:
    name, call = case
    x, z = values(TYPES[name]), values(TYPES[name], seed=2)
    size = x.itemsize
    expected, kept = z.copy(), ctypes.c_uint64()
    bits = np.random.default_rng(5).integers(0, 256, N * size).astype(np.uint8)
    arguments = Arguments(
        counted, N, call.repeats, lanes, 1, call.blocks[1], 1, 8, call.steps[1], step, pattern, (ctypes.c_uint64 * 2)()
    )
    unit.call(f"pack_{name}", ctypes.byref(arguments), x, bits, z, ctypes.byref(kept))
    chosen = np.unpackbits(bits, bitorder="little")
    keeps = {1: lambda i: i % 2 == 0, 2: lambda i: i % 2 == 1, 7: lambda i: True}
    packed = [
        x[call.at(1, r, i, size)]
        for r in range(call.repeats)
        for i in range(lanes if counted else 256 // size)
        if (keeps.get(pattern, lambda i: i % 4 == pattern - 3)(i) if pattern else chosen[r * step * 256 + i])
    ]
    expected[: len(packed)] = packed
    assert kept.value == len(packed)
    np.testing.assert_array_equal(z, expected)


CASTS: dict[str, tuple[Any, Any]] = {
    "half_float": (np.float16, np.float32),
    "float_half": (np.float32, np.float16),
    "int32_t_half": (np.int32, np.float16),
}


@settings(deadline=None, max_examples=60)
@given(call=calls(4), pair=st.sampled_from(list(CASTS)))
def test_a_repeat_of_a_cast_has_the_lanes_of_the_wider_type(unit: Any, call: Call, pair: str) -> None:
    of, to = CASTS[pair]
    x, z = values(of) + of(1), values(to, seed=2)
    expected = z.copy()
    unit.call(f"cast_{pair}", ctypes.byref(call.arguments(0)), x, z)
    for r, i in call.lanes(4):
        value = x[call.at(1, r, i, of().itemsize)]
        expected[call.at(0, r, i, to().itemsize)] = value / 4 if of is np.int32 else value
    np.testing.assert_array_equal(z, expected)


def test_the_register_of_a_comparison(unit: Any) -> None:
    x, y = values(np.float32)[:256], values(np.float32, seed=1)[:256]
    kept, z = np.empty(16, np.uint8), np.empty((2, 256), np.float32)
    unit.call("by_register", x, y, kept, z, 256)
    first = x[:64] < y[:64]
    np.testing.assert_array_equal(np.unpackbits(kept[:8], bitorder="little"), first)
    np.testing.assert_array_equal(z[0], np.where(np.tile(first, 4), x, y))
    np.testing.assert_array_equal(z[1], np.where(x < y, x, 7))


@pytest.mark.parametrize("second", [False, True])
def test_select_by_bytes(unit: Any, second: bool) -> None:
    x, z = values(np.float16)[: 3 * 16].reshape(3, 16), np.empty((3, 16), np.float16)
    mask = np.random.default_rng(4).integers(0, 3, (3, 32)).astype(np.uint8)
    unit.call("select_by_bytes", x, mask, z, 3, second)
    zero = mask[:, :16] == 0
    np.testing.assert_array_equal(z, np.where(zero, 7, x) if second else np.where(zero, x, 7))


def test_operators_compare_whole_tensors(unit: Any) -> None:
    x, y = values(np.float16)[:256], values(np.float16, seed=1)[:256]
    z = np.empty((6, 32), np.uint8)
    unit.call("compared_by_operators", x, y, z, 256)
    for bits, comparison in zip(z, COMPARISONS, strict=True):
        np.testing.assert_array_equal(np.unpackbits(bits, bitorder="little"), comparison(x, y))


def test_blocks_by_offsets(unit: Any) -> None:
    x, z = values(np.float16)[:256], np.empty((16, 16), np.float16)
    order = np.random.default_rng(9).permutation(16)
    unit.call("blocks_by_offsets", x, (32 * order).astype(np.uint32), z, 2)
    np.testing.assert_array_equal(z, x.reshape(16, 16)[order])


@pytest.mark.parametrize(("repeats", "with_index", "needed"), [(1, False, 8), (1, True, 24), (40, True, 96)])
def test_room_for_a_reductions_work(unit: Any, repeats: int, with_index: bool, needed: int) -> None:
    unit.call("little_work", repeats, needed, with_index)
    if needed > 8:
        with pytest.raises(AssertionError, match=rf"expected at least {needed}, for what each repeat comes to"):
            unit.call("little_work", repeats, needed - 8, with_index)
