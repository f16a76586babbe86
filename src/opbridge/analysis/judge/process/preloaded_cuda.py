"""Build on import the CUDA twin device and the headers that answer extensions need, unless they are in the cache."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import torch.utils.cpp_extension

import opbridge.twins.cuda.torch_device  # noqa: F401 - adds the device and replaces load_inline
from opbridge.authoring.extensions.requests import request_for
from opbridge.build.toolchains import precompile
from opbridge.build.toolchains.interface import PROFILE

_KERNEL = "__global__ void k() {}\n"
# The second returns a type that only the PyTorch bindings can convert to Python.
for name, type_, result in (("of_tensors", "torch::Tensor", "x"), ("of_others", "std::tuple<torch::Tensor>", "{x}")):
    torch.utils.cpp_extension.load_inline(
        name=f"opbridge_warm_{name}",
        cpp_sources=f"{type_} warm(torch::Tensor x);",
        cuda_sources=f"{_KERNEL}{type_} warm(torch::Tensor x) {{ k<<<1, 1>>>(); return {result}; }}",
        functions=["warm"],
    )

# A process that counts operations builds one answer or two: precompiling all headers would take longer than they do.
if not os.environ.get(PROFILE):
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "warm.cu")
        source.write_text(f"#include <torch/extension.h>\n{_KERNEL}", encoding="utf-8")
        precompile(request_for("opbridge_warm", [source], output="opbridge_warm.so", device="cuda"))
