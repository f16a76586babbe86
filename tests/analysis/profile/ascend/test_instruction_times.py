"""Timelines against ones that were drawn by hand, instruction by instruction."""

from __future__ import annotations

import pytest

from opbridge.analysis.profile.ascend.durations import COPY_HEAD, ISSUE, LOCAL_HEAD, SCALAR, VECTOR_HEAD, Rates
from opbridge.analysis.profile.ascend.instruction_records import PIPES, Operand, Site, Step
from opbridge.analysis.profile.ascend.instruction_times import replayed
from opbridge.analysis.profile.ascend.timeline import CoreTimeline
from opbridge.analysis.profile.chips import chip_named

RATES = Rates(bytes_a_cycle=16)
TILE = 4096
COPY = COPY_HEAD + TILE // 16
WORK = VECTOR_HEAD + TILE // 256


def step(pipe: str, *, moved: int = 0, local: int = 0, misaligned: int = 0, **known: int) -> Step:
    site = Site(f"on {pipe}", "kernel.cpp:1", pipe)
    operands = (Operand("unified buffer", False, local),) if local else ()
    waits = tuple(known.get(other, 0) for other in PIPES)
    into = pipe == "MTE2"
    return Step(site, waits, moved if into else 0, 0 if into else moved, 1 if moved else 0, misaligned, operands)


def begins(timeline: CoreTimeline, pipe: str) -> list[float]:
    return [bar.begin for bar in timeline.bars if bar.site.pipe == pipe]


def tiles(count: int, buffers: int) -> list[Step]:
    """Copied in, computed and copied out, by two queues of so many buffers."""
    steps = []
    for i in range(1, count + 1):
        free = max(i - buffers, 0)
        steps += [
            step("MTE2", moved=TILE, V=free),
            step("V", local=TILE, MTE2=i, MTE3=free),
            step("MTE3", moved=TILE, V=i),
        ]
    return steps


def test_one_tile_goes_through_the_pipes_one_after_the_other() -> None:
    timeline = replayed(tiles(1, 1), RATES)
    assert begins(timeline, "V") == [COPY]
    assert begins(timeline, "MTE3") == [COPY + WORK]
    assert timeline.cycles == 2 * COPY + WORK
    assert timeline.overlap == 0


def test_with_one_buffer_the_next_tile_comes_when_the_last_was_used() -> None:
    timeline = replayed(tiles(3, 1), RATES)
    assert begins(timeline, "MTE2") == [0, COPY + WORK, 2 * (COPY + WORK)]
    assert timeline.waits("MTE2") == {"V": 2 * WORK}
    assert timeline.overlap == 0


def test_with_two_buffers_copies_go_on_while_the_vector_unit_works() -> None:
    timeline = replayed(tiles(3, 2), RATES)
    assert begins(timeline, "MTE2") == [0, COPY, 2 * COPY]
    assert timeline.cycles == 4 * COPY + WORK
    assert timeline.waits("V") == {"MTE2": COPY + 2 * (COPY - WORK)}
    # The first two tiles are computed while others are copied in; the last while the one before is copied out.
    assert timeline.overlap == 1


def test_instructions_are_handed_out_one_after_the_other() -> None:
    timeline = replayed([step("V", local=256), step("MTE2", moved=16), step("M")], RATES)
    assert [bar.begin for bar in timeline.bars] == [0, ISSUE, 2 * ISSUE]
    assert timeline.bars[2].awaited == "S"


def test_nothing_is_handed_out_while_the_scalar_unit_waits_for_a_value() -> None:
    timeline = replayed([step("V", local=256), step("S", local=4, V=1), step("MTE2", moved=16)], RATES)
    first = VECTOR_HEAD + 1
    assert begins(timeline, "S") == [first]
    assert begins(timeline, "MTE2") == [first + SCALAR]


def test_copies_from_between_the_banks_are_slower() -> None:
    assert RATES.cycles(step("MTE2", moved=1600, misaligned=1)) == pytest.approx(COPY_HEAD + 1600 / (0.7 * 16))


def test_a_matrix_product_takes_a_cycle_for_16_by_16_by_16() -> None:
    m, k, n = 32, 64, 48
    operands = tuple(
        Operand(memory, memory == "L0C", size)
        for memory, size in (("L0A", m * k * 2), ("L0B", k * n * 2), ("L0C", m * n * 4))
    )
    product = Step(Site("Mmad", "kernel.cpp:1", "M"), (0,) * len(PIPES), 0, 0, 0, 0, operands)
    assert RATES.cycles(product) == LOCAL_HEAD + 2 * 4 * 3


def test_cores_share_the_rate_of_the_memory() -> None:
    chip = chip_named("910b")
    assert Rates.of(chip, 48).bytes_a_cycle * 48 * chip.hertz == pytest.approx(chip.memory_rate)
    assert Rates.of(chip, 1).bytes_a_cycle == 128
