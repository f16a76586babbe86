"""A project of kernel-builder, with kernels for the CPU and for CUDA, on PyTorch's stable interface."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType

import pytest

FILES = {
    "build.toml": """\
[general]
name = "scaled-add"
version = 2
license = "MIT"
backends = ["cpu", "cuda"]

[torch]
src = ["torch-ext/torch_binding.cpp", "torch-ext/torch_binding.h"]

[torch.stable-abi]
cpu = "2.10"

[kernel.scaled_cpu]
backend = "cpu"
depends = ["torch"]
include = ["kernels"]
cxx-flags = ["-DFACTOR=3"]
src = ["kernels/scaled.cpp", "kernels/loop.h"]

[kernel.scaled]
backend = "cuda"
depends = ["torch", "cutlass_3_6"]
src = ["kernels/scaled.cu"]
""",
    "torch-ext/torch_binding.h": """\
#pragma once
#include <torch/csrc/stable/tensor.h>
void scaled(const torch::stable::Tensor& out, const torch::stable::Tensor& x);
""",
    "torch-ext/torch_binding.cpp": """\
#include <torch/csrc/stable/library.h>
#include "registration.h"
#include "torch_binding.h"

STABLE_TORCH_LIBRARY_EXPAND(TORCH_EXTENSION_NAME, ops) { ops.def("scaled(Tensor! out, Tensor x) -> ()"); }

#if defined(CPU_KERNEL)
STABLE_TORCH_LIBRARY_IMPL_EXPAND(TORCH_EXTENSION_NAME, CPU, ops) { ops.impl("scaled", TORCH_BOX(&scaled)); }
#endif

REGISTER_EXTENSION(TORCH_EXTENSION_NAME)
""",
    "kernels/loop.h": "#define EACH(i, n) for (int64_t i = 0; i < n; ++i)\n",
    "kernels/scaled.cpp": """\
#include <loop.h>
#include "torch-ext/torch_binding.h"

void scaled(const torch::stable::Tensor& out, const torch::stable::Tensor& x) {
  auto from = static_cast<const float*>(x.data_ptr());
  auto to = static_cast<float*>(out.data_ptr());
  EACH(i, x.numel()) to[i] = from[i] * FACTOR;
}
""",
    "kernels/scaled.cu": "#include <cutlass/cutlass.h>\n",
    "torch-ext/scaled_add/__init__.py": """\
import torch

from . import layers
from ._ops import add_op_namespace_prefix, ops


@torch.library.register_fake(add_op_namespace_prefix("scaled"))
def _(out: torch.Tensor, x: torch.Tensor) -> None: ...


def scaled(x: torch.Tensor) -> torch.Tensor:
    out = torch.empty_like(x)
    ops.scaled(out, x)
    return out
""",
    "torch-ext/scaled_add/layers.py": """\
import torch

from ._ops import ops


class Scaled(torch.nn.Module):
    def forward(self, x):
        out = torch.empty_like(x)
        ops.scaled(out, x)
        return out
""",
}


def _write_project(folder: Path, replaced: Mapping[str, str] = MappingProxyType({})) -> Path:
    """The project's build.toml, with files of its own where they are named."""
    for name, text in FILES.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(replaced.get(path.name, text))
    return folder / "build.toml"


@pytest.fixture(scope="session")
def write_project() -> Callable[..., Path]:
    return _write_project


@pytest.fixture(scope="session")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _write_project(tmp_path_factory.mktemp("scaled-add"))
