"""A package of AOTInductor, run by a process that has the library of operators and none of the model's Python."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from subprocesses import succeed
from torch import nn

from opbridge.waist.op import OpLibrary

# PyTorch's own use of what it deprecates.
pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
]


class Model(nn.Module):
    """An operator of every kind of argument and of result."""

    def __init__(self, lib: OpLibrary) -> None:
        super().__init__()
        self.lib = lib
        self.weight = nn.Parameter(torch.arange(3.0))
        self.linear = nn.Linear(3, 3)

    def forward(self, x: torch.Tensor) -> Any:
        lib = self.lib
        scaled = lib.scale_columns(lib.windows(x, 3, 2), self.weight)
        hidden = lib.add_bias(self.linear(scaled), self.weight)
        sine, cosine = lib.sine_cosine(lib.scaled_add(hidden, lib.add_bias(hidden, None), alpha=0.5))
        mixed = lib.weighted_sum([sine, cosine], [0.5, 2.0])
        lib.scaled_add_quietly_(mixed, sine, alpha=2.0)
        # PyTorch packs a dtype that is the schema's default as a number, which it then refuses.
        given = lib.attributes(x, 4, text="ab", pair=[3, 4], maybe=2, type=torch.float64)
        return lib.pile([mixed, lib.sum_present(sine, [cosine, None])]).exp(), given


RUN = """
import sys
import torch
import opbridge as ob
manifest, package, expected = sys.argv[1:]
ob.load(manifest)
model = torch._inductor.aoti_load_package(package)
x, results = torch.load(expected)
for ours, theirs in zip(model(x), results, strict=True):
    torch.testing.assert_close(ours, theirs)
"""


@pytest.mark.matrix("the other tests of this file make packages and run them")
def test_a_package_runs_where_the_model_is_not(lib: OpLibrary, kernels: Path, tmp_path: Path) -> None:
    model = Model(lib).eval()
    shapes = {"x": {0: torch.export.Dim("rows", min=2), 1: torch.export.Dim("columns", min=8)}}
    with torch.no_grad():
        program = torch.export.export(model, (torch.randn(4, 11),), dynamic_shapes=shapes)
        package = torch._inductor.aoti_compile_and_package(program, package_path=str(tmp_path / "model.pt2"))
        wider = torch.randn(7, 20)
        torch.save((wider, model(wider)), tmp_path / "expected.pt")
    succeed(RUN, str(kernels / "ops.yaml"), package, str(tmp_path / "expected.pt"), cwd=tmp_path)
