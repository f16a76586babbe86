"""Operators whose samples keep their calls short, built once."""

from __future__ import annotations

from pathlib import Path

import pytest

import opbridge as ob
from opbridge.waist.op import OpLibrary

KERNELS = """\
#include <opbridge/kernel.h>
#include <cstdlib>
template <class T>
void twice(ob::In<T> x, ob::Out<T> out) {
  for (int64_t i = 0; i < x.numel(); ++i) out[i] = 2 * x[i];
}
OB_KERNEL(twice, float, double)
void dies(ob::In<float>, ob::Out<float>) { std::abort(); }
OB_KERNEL(dies)
void refuses(ob::In<float>, ob::Out<float>) { ob::fail("never"); }
OB_KERNEL(refuses)
void adds(ob::InOut<float> x) {
  for (int64_t i = 0; i < x.numel(); ++i) x[i] += 1;
}
OB_KERNEL(adds)
"""
MANIFEST = """\
namespace: benched
ops:
  - func: twice(Tensor x) -> Tensor
    out: x
    kernels: {cpu: kernels.cpp}
    flops: x.numel
    samples: [{x: {shape: [4]}}, {x: {shape: [512, 512]}}]
  - func: same(Tensor x) -> Tensor
    out: x
    kernels: {cpu: "kernels.cpp:twice"}
    samples: [{x: {shape: [4]}}]
  - {func: grows(Tensor x) -> Tensor, out: x, kernels: {cpu: "kernels.cpp:twice"}, batch: elementwise}
  - {func: dies(Tensor x) -> Tensor, out: x, kernels: {cpu: kernels.cpp}, samples: [{x: {shape: [4]}}]}
  - {func: refuses(Tensor x) -> Tensor, out: x, kernels: {cpu: kernels.cpp}, samples: [{x: {shape: [4]}}]}
  - {func: "adds(Tensor(a!) x) -> ()", kernels: {cpu: kernels.cpp}, samples: [{x: {shape: [4]}}]}
"""
REFERENCES = """\
def doubled(x):
    return x + x


def halved(x):
    return x / 2


def stubborn(x):
    raise TypeError("not these")
"""


@pytest.fixture(scope="session")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("benched")
    (folder / "kernels.cpp").write_text(KERNELS)
    (folder / "ops.yaml").write_text(MANIFEST)
    (folder / "expected.py").write_text(REFERENCES)
    return folder


@pytest.fixture(scope="session")
def benched(project: Path) -> OpLibrary:
    library: OpLibrary = ob.load(project / "ops.yaml")
    return library
