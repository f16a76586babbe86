"""Whatever a source writes its functions with, the call of one announces its tensors to the twin."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

import opbridge as ob
from opbridge.base.errors import KernelError
from opbridge.waist.op import OpLibrary

SOURCE = Path(__file__).parent / "entry_points.cu"
NAMES = (
    "behind_a_word",
    "behind_its_arguments",
    "behind_everything",
    "behind_its_types",
    "with_a_workspace",
    "too_far",
)


@pytest.fixture(scope="module")
def lib(tmp_path_factory: pytest.TempPathFactory) -> OpLibrary:
    folder = tmp_path_factory.mktemp("entry_points")
    (folder / "entry_points.cu").write_text(SOURCE.read_text())
    lines = ["namespace: entry_points", "ops:"]
    for name in NAMES:
        attribute = ", *, float by=2.0" if name == "with_a_workspace" else ""
        lines += [f"  - func: {name}(Tensor x{attribute}) -> Tensor", "    out: x"]
        lines += [f"    kernels: {{cuda: 'entry_points.cu:{name}'}}"]
    (folder / "ops.yaml").write_text("\n".join(lines) + "\n")
    library: OpLibrary = ob.load(folder / "ops.yaml", device="cuda-twin")
    return library


@pytest.mark.parametrize("name", NAMES[:-1])
def test_its_tensors_are_the_device_s_memory_for_each_call(lib: OpLibrary, name: str) -> None:
    op = getattr(lib, name)
    for n in (1, 257, 1000):
        x = np.arange(n, dtype=np.float32)
        np.testing.assert_array_equal(op(x), 2 * x)
        torch.testing.assert_close(op(torch.from_numpy(x)), 2 * torch.from_numpy(x))


def test_an_access_beyond_them_is_found_by_name_and_the_next_call_is_well(lib: OpLibrary) -> None:
    x = np.arange(5, dtype=np.float32)
    for _ in range(2):
        with pytest.raises(KernelError, match=r"0 bytes after the end of the 20 bytes of the tensor `x`"):
            lib.too_far(x)
        np.testing.assert_array_equal(lib.behind_a_word(x), 2 * x)


def test_many_threads_call_at_once(lib: OpLibrary) -> None:
    from concurrent.futures import ThreadPoolExecutor

    x = np.arange(1000, dtype=np.float32)
    with ThreadPoolExecutor(4) as pool:
        for result in pool.map(lambda _: lib.behind_a_word(x), range(20)):
            np.testing.assert_array_equal(result, 2 * x)
