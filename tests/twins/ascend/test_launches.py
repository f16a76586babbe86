"""Kernels are started in every way that hosts have, on any number of blocks.  Builds one library: 3 s at first."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest


@pytest.fixture(scope="module")
def add(twin: Callable[..., Any]) -> Any:
    return twin("add.cpp", "add_host.cpp")


@pytest.mark.parametrize("blocks", [1, 2, 8, 40])
@pytest.mark.parametrize("way", ["aclrtlaunch_add", "add_by_arrows", "add_by_macro"])
def test_the_document_add(add: Any, way: str, blocks: int) -> None:
    length = 512
    generator = np.random.default_rng(blocks)
    x, y = generator.normal(size=(2, blocks * length)).astype(np.float16)
    z = np.empty_like(x)
    stream = () if way == "add_by_macro" else (None,)
    add.call(way, blocks, *stream, x, y, z, length)
    np.testing.assert_array_equal(z, x + y)
