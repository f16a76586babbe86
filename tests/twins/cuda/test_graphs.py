"""Work that is captured from streams, and launched as a graph; and kernels that are known by their address alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.twins.cuda.conftest import twin_only


@pytest.fixture(scope="module")
def kernels(twin: Any) -> Any:
    return twin("graphs.cu", checks=True)


@pytest.mark.parametrize(
    ("function", "expected"),
    [("replayed", [110, 110, 10, 10]), ("a_graph_in_a_graph", [101, 101, 1, 1]), ("updated", [21, 21, 21, 21])],
)
def test_a_graph_does_what_was_captured_each_time(kernels: Any, function: str, expected: list[int]) -> None:
    host = np.zeros(4, np.int32)
    kernels.run(function, host)
    assert list(host) == expected


def test_a_graph_that_is_built_by_hand_runs_in_the_order_of_its_edges(kernels: Any) -> None:
    host = np.zeros(4, np.int32)
    kernels.run("by_hand", host)
    filled = 0x01010101
    assert list(host) == [filled + 7, filled + 1, filled + 7, 3]
    invalid_value = 1
    assert kernels.call("in_a_circle") == invalid_value


def test_a_graph_allocates_memory_for_each_launch(kernels: Any) -> None:
    host = np.zeros(12, np.int32)
    kernels.run("memory_of_a_graph", host)
    assert list(host) == [5] * 4 + [6] * 4 + [5] * 4
    kernels.run("memory_of_a_stream", host)
    assert list(host[:4]) == [3] * 4


@twin_only
def test_memory_that_a_graph_has_freed_is_not_used(kernels: Any) -> None:
    assert kernels.call("memory_after_the_graph", np.zeros(4, np.int32)) == 700
    assert "write: write of 4 bytes of memory that was freed [use-after-free]" in kernels.reports


def test_misuse_is_an_error_as_on_a_gpu(kernels: Any) -> None:
    kernels.run("misused")


def test_mistakes_are_found_when_a_graph_is_launched(kernels: Any) -> None:
    assert kernels.call("wrong") == 700
    assert "write: write of 4 bytes out of bounds" in kernels.reports


def test_attributes_of_a_kernel_whose_type_is_lost(kernels: Any) -> None:
    host = np.zeros(1, np.uint8)
    kernels.run("attribute_by_address", host)
    assert host.tobytes() == b"x"
