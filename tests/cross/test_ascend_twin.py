"""Tests of the Ascend C twin, with kernels that run in an emulated process of aarch64."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from tests.twins.ascend import test_launches
from tests.twins.ascend.conftest import KERNELS

from opbridge.build.toolchains import BuildRequest

pytestmark = pytest.mark.matrix("tests/twins/ascend/test_launches.py runs it here; test_half.py computes on aarch64")

add = test_launches.add
test_the_document_add = test_launches.test_the_document_add


@pytest.fixture(scope="module")
def twin(cross_built: Callable[[BuildRequest], Any]) -> Callable[..., Any]:
    def made(*sources: str) -> Any:
        files = tuple(KERNELS / source for source in sources)
        return cross_built(BuildRequest(files, "kernels.so", language="ascend-twin"))

    return made
