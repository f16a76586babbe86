"""Work of two streams races where no event, no wait of the host and no default stream orders it, and nowhere else.

Each way to order two streams is a function of `kernels/stream_order.cu`, and is run on few elements and on many, by one
launch and by hundreds, with checks on and off.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from tests.twins.cuda.conftest import KERNELS, Kernels

SOURCE = (KERNELS / "stream_order.cu").read_text()
ORDERED, NOT_ORDERED = (re.findall(r"^WAY\w*\(\s*(\w+)", part, re.MULTILINE) for part in SOURCE.split("// What is not"))
LAUNCH_FAILURE = 719
SIZES = [(8, 1), (1000, 3), (300_000, 2), (64, 500)]
"""Elements, and launches."""
LARGE = pytest.mark.matrix("the same with fewer elements and launches; test_what_is_ordered_is_left_in_peace")


@pytest.fixture(scope="module")
def checked(twin: Callable[..., Kernels]) -> Kernels:
    return twin("stream_order.cu", checks=True)


@pytest.fixture(scope="module")
def unchecked(twin: Callable[..., Kernels]) -> Kernels:
    return twin("stream_order.cu")


def reports_of(kernels: Kernels, way: str, n: int, launches: int) -> str:
    """What is said of it; copies are reported without an error, as they succeed on a GPU."""
    kernels.call(way, n, launches)
    return kernels.reports + (kernels.library.ob_twin_take_reports() or b"").decode()


@pytest.mark.parametrize(("n", "launches"), SIZES)
@pytest.mark.parametrize("way", ORDERED)
def test_what_is_ordered_is_left_in_peace(checked: Kernels, way: str, n: int, launches: int) -> None:
    checked.reports = ""
    assert checked.call(way, n, launches) == 0, checked.reports
    assert checked.library.ob_twin_take_reports() is None


@pytest.mark.parametrize(("n", "launches"), [*SIZES[:2], *(pytest.param(*size, marks=LARGE) for size in SIZES[2:])])
@pytest.mark.parametrize("way", NOT_ORDERED)
def test_what_nothing_orders_is_reported(checked: Kernels, way: str, n: int, launches: int) -> None:
    checked.reports = ""
    said = reports_of(checked, way, n, launches)
    assert "[stream-race]" in said
    assert "on another stream" in said
    assert said.count("[") == said.count("[stream-race]")


@pytest.mark.parametrize("way", ORDERED + NOT_ORDERED)
def test_without_checks_copies_alone_are_seen(unchecked: Kernels, way: str) -> None:
    unchecked.run(way, 1000, 2)
    said = unchecked.library.ob_twin_take_reports()
    assert (said is not None) == (way == "two_copies_meet")


def test_both_lines_are_named(checked: Kernels) -> None:
    assert checked.call("what_is_read_is_overwritten", 8, 1) == LAUNCH_FAILURE
    one, other = re.findall(r"^  (?:one|other) +(.*)$", checked.reports, re.MULTILINE)
    assert re.fullmatch(r"write of 4 bytes at .*stream_order.cu:5, thread .*", one)
    assert re.fullmatch(r"read at .*stream_order.cu:8, on another stream", other)
