"""Tests of the CUDA twin, with kernels that run in an emulated process of aarch64."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tests.cross.conftest import Array, OnDevice
from tests.twins.cuda import test_blocks, test_guards, test_launches, test_warps
from tests.twins.cuda.conftest import CHECKS, KERNELS

from opbridge.build.toolchains import BuildRequest

pytestmark = pytest.mark.matrix("test_fibers.py switches the twin's threads; tests/twins/cuda runs these tests")

blocks, launches, warps = test_blocks.blocks, test_launches.launches, test_warps.warps

test_coordinates = test_launches.test_every_thread_of_three_dimensions_knows_its_place
test_elementwise_loops = test_launches.test_elementwise_loops
test_the_language = test_launches.test_the_language_in_kernels_and_launches
test_a_tiled_matrix_product = test_blocks.test_a_tiled_matrix_product
test_kinds_of_shared_memory = test_blocks.test_kinds_of_shared_memory
test_shared_memory_of_a_function = test_blocks.test_shared_memory_of_a_device_function_and_of_a_header
test_barriers_that_vote = test_blocks.test_barriers_that_vote
test_shuffles = test_warps.test_shuffles
test_parts_of_a_warp = test_warps.test_parts_of_a_warp
test_guards_of_kernels = test_guards.test_those_that_pass_run_and_no_other


@pytest.fixture(scope="module")
def twin(cross_built: Callable[[BuildRequest], Any]) -> Callable[..., Any]:
    def made(source: str, checks: bool = False) -> Any:
        defines = CHECKS if checks else ()
        return cross_built(BuildRequest((KERNELS / source,), "kernels.so", language="cuda-twin", defines=defines))

    return made


@pytest.fixture(scope="module", params=[False, True], ids=["fast", "checked"])
def guarded(request: pytest.FixtureRequest, twin: Callable[..., Any]) -> Any:
    return twin("guards.cu", checks=request.param)


@pytest.fixture
def device() -> Callable[[Array], Array]:
    return lambda values: np.array(values).view(OnDevice)
