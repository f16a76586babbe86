"""Kernels that leave a part of their outputs unwritten: a sentence in the first call of each kind."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest

import opbridge as ob
from opbridge.base.errors import KernelError
from opbridge.waist.op import Op

# As many published kernels: it takes float32 of one dimension, and does not look at what it is given.
KERNEL = """
#include <stdint.h>
extern "C" int Doubled(int, void** params, int*, int64_t** shapes, const char**, void*, void*) {
  for (int64_t i = 0; i < shapes[0][0]; ++i) static_cast<float*>(params[1])[i] = 2 * static_cast<float*>(params[0])[i];
  return 0;
}
"""


@pytest.fixture(scope="module")
def doubled(tmp_path_factory: pytest.TempPathFactory) -> Op:
    folder = tmp_path_factory.mktemp("unwritten")
    source, library = folder / "doubled.cpp", folder / "doubled.so"
    source.write_text(KERNEL)
    subprocess.run(["g++", "-O1", "-shared", "-fPIC", str(source), "-o", str(library)], check=True)
    return ob.aot(Path(f"{library}:Doubled"), schema="unwritten::doubled(Tensor x) -> Tensor", out="x")


def test_what_the_kernel_is_written_for_is_computed(doubled: Op) -> None:
    for count in (1, 3, 5000):
        assert (doubled(np.ones(count, np.float32)) == 2).all()


def test_another_rank_is_an_error(doubled: Op) -> None:
    with pytest.raises(KernelError, match=r"leaves 4 of the 6 elements of output 0 \(float32 of shape \[2, 3\]\) unwr"):
        doubled(np.ones((2, 3), np.float32))


def test_another_element_type_is_an_error(doubled: Op) -> None:
    with pytest.raises(KernelError, match=r"leaves 2 of the 4 elements .*the first at place 2; pass the element types"):
        doubled(np.ones(4, np.float64))


def test_large_outputs_are_looked_at_too(doubled: Op) -> None:
    with pytest.raises(KernelError, match=r"of the 200000 elements of output 0"):
        doubled(np.ones((2, 100_000), np.float32))


def test_pytorch_says_the_same(doubled: Op) -> None:
    torch = pytest.importorskip("torch")
    with pytest.raises(KernelError, match="leaves 1 of the 3 elements"):
        doubled(torch.ones(3, dtype=torch.float64))
