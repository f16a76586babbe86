"""A kernel whose source registers operators with PyTorch itself, on the stable ABI here."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest
import torch
from torch.autograd import gradcheck

import opbridge as ob
from opbridge.base.errors import InputError, ManifestError, UnsupportedError

# The namespace is a macro, as in PyTorch's own tests of the stable ABI: only the dispatcher knows what it is.
SOURCE = """
#include <torch/csrc/stable/library.h>
#include <torch/csrc/stable/ops.h>
#include <torch/csrc/stable/tensor.h>
#define MINE registering

using torch::stable::Tensor;

Tensor muladd(Tensor a, Tensor b, double c) {
  const Tensor x = torch::stable::contiguous(a), y = torch::stable::contiguous(b);
  Tensor out = torch::stable::empty_like(x);
  for (int64_t i = 0; i < x.numel(); ++i)
    out.mutable_data_ptr<double>()[i] = x.const_data_ptr<double>()[i] * y.const_data_ptr<double>()[i] + c;
  return out;
}

STABLE_TORCH_LIBRARY_FRAGMENT(MINE, m) { m.def("muladd(Tensor a, Tensor b, float c) -> Tensor"); }
STABLE_TORCH_LIBRARY_IMPL(MINE, CPU, m) { m.impl("muladd", TORCH_BOX(&muladd)); }
"""
MANIFEST = """
namespace: of_stable
ops:
  - func: "muladd(Tensor a, Tensor b, float c=1.0) -> Tensor"
    kernels: {cpu: muladd.cpp}
    out: a
    derivatives: {a: grad * b, b: grad * a}
    batch: elementwise
"""
SCHEMA = "of_stable_file::mul_add(Tensor a, Tensor b, float c) -> Tensor"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("stable")
    (folder / "muladd.cpp").write_text(SOURCE)
    (folder / "ops.yaml").write_text(MANIFEST)
    return folder


@pytest.fixture(scope="module")
def library(folder: Path) -> ob.OpLibrary:
    return ob.load(folder / "ops.yaml")


def test_it_is_an_operator_like_any_other(library: ob.OpLibrary) -> None:
    a, b = (torch.randn(2, 3, dtype=torch.float64, requires_grad=True) for _ in range(2))
    assert gradcheck(library.muladd, (a, b))
    assert library.muladd(a.to("meta"), b.to("meta")).shape == (2, 3)
    torch.testing.assert_close(torch.vmap(library.muladd, (0, None))(a, b[0]), a * b[0] + 1)
    ones = np.ones(3)
    assert library.muladd(ones, ones, 2.0).tolist() == [3, 3, 3]
    assert pickle.loads(pickle.dumps(library.muladd)) is library.muladd


def test_one_file_gets_a_name_and_rules(library: ob.OpLibrary, folder: Path) -> None:
    op = ob.load(f"{folder / 'muladd.cpp'}:muladd", schema=SCHEMA, out="a", derivatives={"a": "grad * b"})
    a, b = torch.ones(3, dtype=torch.float64, requires_grad=True), torch.full((3,), 2.0, dtype=torch.float64)
    op(a, b, 1.0).sum().backward()
    assert torch.equal(a.grad, b)


def test_an_operator_that_it_does_not_register(library: ob.OpLibrary, folder: Path) -> None:
    with pytest.raises(ManifestError, match="registers no operator 'mul_add'\n  did you mean 'muladd'"):
        ob.load(folder / "muladd.cpp", schema=SCHEMA)


def test_a_twin_has_no_tensors_of_its_own(folder: Path) -> None:
    with pytest.raises(UnsupportedError, match="opbridge twin run"):
        ob.load(f"{folder / 'muladd.cpp'}:muladd", schema=SCHEMA, device="cuda-twin")


def test_kernels_to_call_do_not_mix_with_it(folder: Path) -> None:
    (folder / "mixed.yaml").write_text(MANIFEST.replace("{cpu: muladd.cpp}", "{cpu: muladd.cpp, cuda: other.cu}"))
    with pytest.raises(ManifestError, match=r"mixed.yaml:4.*other.cu:muladd for cuda does not mix"):
        ob.load(folder / "mixed.yaml")


def test_nothing_is_registered_twice(library: ob.OpLibrary, folder: Path) -> None:
    """What PyTorch throws while the stable ABI's library is loaded would end the process."""
    (folder / "edited.cpp").write_text(SOURCE + "// edited\n")
    with pytest.raises(InputError, match=r"registering::muladd is registered already\n.*start a new process"):
        ob.load(f"{folder / 'edited.cpp'}:muladd", schema=SCHEMA)
