"""The table of chips, and what follows from its limits."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from opbridge.analysis.profile import CHIPS, chip_named
from opbridge.analysis.profile.occupancy import occupancy
from opbridge.base.errors import InputError

PAGE = Path(__file__).parents[3] / "docs" / "profile.md"


@pytest.mark.parametrize("name", CHIPS)
def test_every_figure_has_a_source(name: str) -> None:
    chip = CHIPS[name]
    assert chip.sources
    assert all(source.url.startswith("https://") for source in chip.sources)


@pytest.mark.parametrize("name", ["a100", "a100-40gb", "h100", "h200", "rtx4090"])
def test_published_figures_agree_with_one_another(name: str) -> None:
    chip = CHIPS[name]
    assert chip.multiprocessor is not None
    by_clock = chip.cores * chip.multiprocessor.float_operations_a_cycle * chip.hertz
    assert by_clock == pytest.approx(chip.float_rate, rel=0.01)


def test_the_page_has_the_table() -> None:
    rows = re.findall(r"^\| `(\w[\w-]*)` \|", PAGE.read_text(), re.MULTILINE)
    assert rows == list(CHIPS)


def test_an_unknown_chip_is_refused_with_the_known_ones() -> None:
    with pytest.raises(InputError, match="no chip is called 'a10'; known are a100, a100-40gb"):
        chip_named("a10")


@pytest.mark.parametrize(
    ("threads", "shared", "registers", "blocks", "limit"),
    [
        (256, 0, None, 8, "nothing"),
        (1024, 0, None, 2, "nothing"),
        (32, 0, None, 32, "blocks"),
        (768, 0, None, 2, "threads"),
        (256, 48 << 10, None, 3, "shared memory"),
        # One kilobyte of each block is the system's.
        (256, 163 << 10, None, 1, "shared memory"),
        (256, 0, 64, 4, "registers"),
        (256, 0, 32, 8, "nothing"),
        # 255 registers of 32 threads are 8160, in units of 256: 8192, two warps a scheduler.
        (128, 0, 255, 2, "registers"),
    ],
)
def test_occupancy_of_an_a100(threads: int, shared: int, registers: int | None, blocks: int, limit: str) -> None:
    core = CHIPS["a100"].multiprocessor
    assert core is not None
    found = occupancy(core, threads, shared, registers)
    assert (found.blocks, found.limit) == (blocks, limit)
    assert found.share == blocks * -(-threads // 32) / 64
