"""What a launch takes at least, by rates that the A100's pages have."""

from __future__ import annotations

from dataclasses import replace

import pytest

from opbridge.analysis.profile.bounds import bounds_of
from opbridge.analysis.profile.chips import chip_named
from opbridge.analysis.profile.counts import Kind
from opbridge.analysis.profile.profile_contents import KernelCost, LineCost

CHIP = chip_named("a100")
BLOCKS = 108 * 8
SECTORS = 1 << 20


def cache_seconds(kind: Kind) -> float:
    """Of a launch that fills the chip, whose only line touches so many sectors for the first time."""
    line = LineCost(
        kind=kind,
        space="global",
        requests=SECTORS // 4,
        lanes=SECTORS * 8,
        bytes=SECTORS * 32,
        parts=SECTORS,
        least=SECTORS,
        joined=0,
        fresh=SECTORS,
        missed=SECTORS,
        queued=0,
        longest=1,
        worst=4,
        worst_lanes=32,
        worst_stride=4,
        place="a.cu:1",
        array="x",
    )
    kernel = KernelCost("k", (BLOCKS, 1, 1), (256, 1, 1), 1, BLOCKS, BLOCKS, 0, 1.0, 0, 0, 0, {}, (line,))
    return next(bound.seconds for bound in bounds_of(kernel, CHIP) if bound.name == "cache")


def test_every_multiprocessor_gets_a_sector_a_cycle() -> None:
    assert cache_seconds("load") == pytest.approx(SECTORS / (108 * CHIP.hertz))


def test_what_is_updated_is_read_and_written() -> None:
    assert cache_seconds("store") == pytest.approx(cache_seconds("load"))
    assert cache_seconds("atomic") == pytest.approx(2 * cache_seconds("store"))


def test_memory_takes_what_is_moved_at_the_rate_that_streaming_reaches() -> None:
    kernel = KernelCost("k", (BLOCKS, 1, 1), (256, 1, 1), 1, BLOCKS, BLOCKS, 0, 1.0, 0, 0, 0, {}, ())
    moving = replace(kernel, bytes_read=3e9, bytes_written=1e9)
    (seconds,) = (bound.seconds for bound in bounds_of(moving, CHIP) if bound.name == "memory")
    assert seconds == pytest.approx(4e9 / (0.92 * CHIP.memory_rate))


def test_shared_memory_and_global_memory_are_one_units() -> None:
    fields = {"lanes": 0, "bytes": 0, "least": 0, "joined": 1 << 20, "fresh": 0, "missed": 0, "queued": 0, "longest": 0}
    worst = {"worst": 1, "worst_lanes": 32, "worst_stride": 0}
    shared = LineCost("load", "shared", 1 << 20, parts=1 << 20, **fields, **worst, place="a.cu:1", array="")
    # All lanes read one value, which takes a request's turn all the same.
    loads = LineCost("load", "global", 1 << 18, parts=1 << 18, **fields, **worst, place="a.cu:2", array="x")
    kernel = KernelCost("k", (BLOCKS, 1, 1), (256, 1, 1), 1, BLOCKS, BLOCKS, 0, 1.0, 0, 0, 0, {}, (shared, loads))
    seconds = {bound.name: bound.seconds for bound in bounds_of(kernel, CHIP)}
    assert seconds["shared memory"] == pytest.approx(((1 << 20) + 2 * (1 << 18)) / (108 * CHIP.hertz))
    assert seconds["loads and stores"] == pytest.approx(2 * (1 << 18) / (108 * CHIP.hertz))


def test_whole_numbers_take_half_of_the_turns() -> None:
    """64 lanes of a multiprocessor are for them, where four warps of 32 begin an instruction."""
    kernel = KernelCost("k", (BLOCKS, 1, 1), (256, 1, 1), 1, BLOCKS, BLOCKS, 0, 1.0, 0, 0, 0, {}, (), integers=1e9)
    seconds = {bound.name: bound.seconds for bound in bounds_of(kernel, CHIP)}
    assert seconds["whole numbers"] == pytest.approx(1e9 / (2 * 108 * CHIP.hertz))
    assert seconds["instructions"] == pytest.approx(seconds["whole numbers"] / 2)
