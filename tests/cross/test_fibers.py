"""The CUDA twin's switch between threads of a block, in an emulated process of aarch64."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from opbridge.build.toolchains import BuildRequest

ENGINE = Path(__file__).parents[2] / "src" / "opbridge" / "twins" / "cuda" / "runtime" / "engine"
SOURCES = (Path(__file__).parent / "fibers.cpp", ENGINE / "context.cpp")


@pytest.mark.parametrize("number", [1, 40])
def test_a_fiber_keeps_its_registers_while_others_run(cross_built: Any, number: int) -> None:
    library = cross_built(BuildRequest(SOURCES, "fibers.so", include_dirs=(ENGINE,)))
    products, sums = np.zeros(number), np.zeros(number, np.int64)
    library.run("take_turns", number, 9, products, sums)
    np.testing.assert_allclose(products, (1 + 1 / (np.arange(number) + 2.0)) ** 9, rtol=1e-12)
    np.testing.assert_array_equal(sums, 9 * np.arange(number))
