"""Pipelines of Hopper: right ones give the right numbers and no report, and each mistake in them has a name."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest
from subprocesses import python
from tests.twins.cuda.conftest import twin_only

TILE, TILES = 64, 6


@pytest.fixture(scope="module")
def checked(twin: Any) -> Any:
    return twin("pipelines.cu", checks=True)


def outcome(kernels: Any, on_device: Any, kernel: int, mistake: int) -> tuple[int, Any, Any]:
    device = on_device(kernels)
    values = np.arange(TILE * TILES, dtype=np.int32)
    given, to = device(values), device(np.zeros_like(values))
    error = kernels.call("run", given, to, kernel, mistake)
    turned = values.reshape(TILES, TILE)[:, ::-1].reshape(-1)
    return error, to, 2 * values if kernel == 0 else turned


@pytest.mark.parametrize("checks", [False, True])
@pytest.mark.parametrize("kernel", [0, 1, 2], ids=["stored", "fetched", "handed-over"])
def test_a_right_pipeline_gives_the_right_numbers(twin: Any, on_device: Any, kernel: int, checks: bool) -> None:
    error, to, expected = outcome(twin("pipelines.cu", checks=checks), on_device, kernel, 0)
    assert error == 0
    np.testing.assert_array_equal(to, expected)


MISTAKES = {
    (0, 1): "reads shared memory that a thread has written without a proxy fence after it [missing-proxy-fence]",
    (0, 2): "write of shared memory that a bulk copy may still be reading [copy-in-flight]",
    (0, 3): "write of shared memory that a bulk copy may still be reading [copy-in-flight]",
    (0, 4): "write of shared memory that a bulk copy may still be reading [copy-in-flight]",
    (0, 5): "the block ends while a bulk copy may still be reading its shared memory [copy-in-flight]",
    (1, 1): "an mbarrier in phase 3 lacks 1 arrival",
    (1, 2): ("an mbarrier in phase ", "[shared-race]"),
    (1, 3): "[shared-race]",
    (1, 4): ("of shared memory that this block has not written [uninitialised-shared]", "an mbarrier in phase "),
    (1, 5): "[shared-race]",
    (1, 6): "an mbarrier in phase ",
    (1, 7): "an mbarrier in phase 0 lacks 0 arrivals and bytes: 256",
    (2, 1): "[divergent-barrier]",
    (2, 2): "[shared-race]",
    (2, 3): "[divergent-barrier]",
    (2, 4): "[divergent-barrier]",
}
"""By the number of a kernel and that of a mistake in it, a part of the reports; two where the order of threads decides
which of them shows."""

ALL = """
import ctypes, sys
library = ctypes.CDLL(sys.argv[1])
library.ob_twin_attach_host()
library.ob_twin_take_reports.restype = ctypes.c_char_p
memory = (ctypes.c_void_p * 2)()
for i in range(2):
    library.allocate(ctypes.byref(memory, i * ctypes.sizeof(ctypes.c_void_p)), ctypes.c_size_t(6 * 64 * 4))
for kernel, mistake in {cases}:
    error = library.run(ctypes.c_void_p(memory[0]), ctypes.c_void_p(memory[1]), kernel, mistake)
    library.ob_twin_clear_errors()
    print("=", error, (library.ob_twin_take_reports() or b"").decode())
"""


@twin_only
def test_a_mistake_has_a_name(checked: Any) -> None:
    # A phase that never completes takes the time limit.
    environment = os.environ | {"OPBRIDGE_TWIN_TIMEOUT": "0.3", "OPBRIDGE_NUM_THREADS": "1"}
    code = ALL.replace("{cases}", repr(list(MISTAKES))).replace("sys.argv[1]", repr(checked.library._name))
    done = python(code, env=environment, timeout=120)
    said = done.stdout.split("\n= ")
    assert len(said) == len(MISTAKES), done.stderr
    missed = {
        case: text
        for (case, part), text in zip(MISTAKES.items(), said, strict=True)
        if not any(each in text for each in ((part,) if isinstance(part, str) else part))
    }
    assert not missed
