"""A wheel of kernels on somebody else's machine, where no compiler is."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from subprocesses import python

from opbridge.authoring.wheel.variants import processor_features, suitable

pytestmark = pytest.mark.matrix(
    "builds a whole wheel of opbridge; test_build_wheel and test_archive cover wheels of kernels"
)

Stranger = Callable[..., subprocess.CompletedProcess[str]]


def test_numpy_calls_it(stranger: Stranger) -> None:
    program = """
import sys
import numpy as np
from mylib import copy_for, running_sum, scaled_add
x = np.arange(4.0)
assert scaled_add(x, x, alpha=2.0).tolist() == [0, 3, 6, 9]
assert running_sum(x).tolist() == [0, 1, 3, 6]
try:
    running_sum(x, most=2)
except Exception as error:
    print(error)
assert "torch" not in sys.modules
"""
    assert "more than 2 elements" in stranger(program).stdout


def test_the_copy_for_this_processor_is_taken(stranger: Stranger) -> None:
    expected = {"avx512": 512, "avx2": 256, "portable": 128}[suitable(processor_features())[0].name]
    assert stranger("import mylib; print(mylib.copy_for.numpy()[0])").stdout.split() == [str(expected)]


@pytest.mark.parametrize("imports", ["import torch, mylib", "import mylib, torch"])
def test_pytorch_finds_it_in_either_order(stranger: Stranger, imports: str) -> None:
    program = f"""
{imports}
x = torch.arange(4.0, dtype=torch.float64, requires_grad=True)
y = torch.ops.mylib.scaled_add(x, x, alpha=2.0)
y.sum().backward()
assert y.tolist() == [0, 3, 6, 9] and x.grad.tolist() == [3, 3, 3, 3]
assert torch.autograd.gradcheck(mylib.scaled_add, (x, torch.ones_like(x)))
compiled = torch.compile(lambda x: mylib.scaled_add(x, x).sin(), fullgraph=True, backend="aot_eager")
assert torch.equal(compiled(x), (2 * x).sin())
"""
    stranger(program)


def test_nothing_has_to_be_writable(stranger: Stranger) -> None:
    """As in a container whose disk is read-only: what came ready-made is imported and called without a cache."""
    program = """
import os, tempfile
os.environ["HOME"] = "/proc"
import torch  # which has a use for temporary files itself
tempfile.tempdir, tempfile._candidate_tempdir_list = None, lambda: ["/proc"]
import numpy as np
import mylib
assert mylib.scaled_add(np.ones(2), np.ones(2)).tolist() == [2, 2]
x = torch.ones(2, requires_grad=True)
mylib.scaled_add(x, x, alpha=2.0).sum().backward()
assert x.grad.tolist() == [3, 3]
import opbridge as ob
try:
    ob.inline("int f;", schema="mylib::f(Tensor x) -> Tensor", out="x")
except ob.OpbridgeError as error:
    print(error)
"""
    done = stranger(program)
    assert "no place to build in: the cache /proc/.cache/opbridge cannot be created" in done.stdout
    assert "export OPBRIDGE_CACHE_DIR=/a/folder/of/yours" in done.stdout
    assert not done.stderr


def test_two_versions_live_together(stranger: Stranger) -> None:
    program = """
import torch, mylib, mylib_next
x = torch.ones(2)
assert mylib.scaled_add(x, x).tolist() == [2, 2]
assert mylib_next.scaled_add(x, x).tolist() == [3, 3]
assert torch.ops.mylib.scaled_add is not torch.ops.mylib_next.scaled_add
assert (mylib.__version__, mylib_next.__version__) == ("1.2", "2.0")
"""
    stranger(program)


def test_an_exported_program_runs_in_another_process(stranger: Stranger, tmp_path: Path) -> None:
    file = tmp_path / "program.pt2"
    export = """
import sys, torch, mylib
class Model(torch.nn.Module):
    def forward(self, x):
        return mylib.scaled_add(x, x, alpha=2.0)
torch.export.save(torch.export.export(Model(), (torch.ones(3),)), sys.argv[1])
"""
    stranger(export, file)
    load = """
import sys
import mylib
import torch
print(torch.export.load(sys.argv[1]).module()(torch.ones(3)).tolist())
"""
    assert stranger(load, file).stdout.strip() == "[3.0, 3.0, 3.0]"


def test_a_package_of_aotinductor_runs_where_the_wheel_is(
    stranger: Stranger, sources_in: Callable[..., Path], tmp_path: Path
) -> None:
    """Packed from the sources, with a compiler; run without either, and without the model's Python."""
    pack = """
import sys, torch, opbridge as ob
lib = ob.load(sys.argv[1])
class Model(torch.nn.Module):
    def forward(self, x):
        return lib.running_sum(lib.scaled_add(x, x.cos(), alpha=2.0))
x = torch.rand(3, 4, dtype=torch.float64)
program = torch.export.export(Model(), (x,), dynamic_shapes={"x": {0: torch.export.Dim("rows", min=2)}})
torch._inductor.aoti_compile_and_package(program, package_path=sys.argv[2])
longer = torch.rand(7, 4, dtype=torch.float64)
torch.save((longer, Model()(longer)), sys.argv[3])
"""
    package, expected = tmp_path / "model.pt2", tmp_path / "expected.pt"
    manifest = sources_in(tmp_path / "sources")
    packing = python(pack, manifest, package, expected)
    assert packing.returncode == 0, packing.stderr
    run = """
import sys
import mylib
import torch
model = torch._inductor.aoti_load_package(sys.argv[1])
x, expected = torch.load(sys.argv[2])
torch.testing.assert_close(model(x), expected)
print("ran")
"""
    assert stranger(run, package, expected).stdout.strip() == "ran"


def test_an_operator_pickles_by_its_package(stranger: Stranger, tmp_path: Path) -> None:
    file = tmp_path / "op.pickle"
    stranger("import mylib, pickle, sys; pickle.dump(mylib.scaled_add, open(sys.argv[1], 'wb'))", file)
    # Where the package lies, or which copy of the kernels was chosen, differs from machine to machine.
    assert b"_kernels" not in file.read_bytes()
    program = (
        "import pickle, sys; op = pickle.load(open(sys.argv[1], 'rb')); import mylib; assert op is mylib.scaled_add"
    )
    stranger(program, file)


WITHOUT_OPBRIDGES_ADAPTER = """
from opbridge.frameworks.torch import native
native._prebuilt.clear()  # the wheel of opbridge includes one
"""


def test_without_adapter_and_compiler_pytorch_goes_by_its_library_and_says_so(stranger: Stranger) -> None:
    program = """
import numpy as np
import mylib_next
assert mylib_next.scaled_add(np.ones(2), np.ones(2)).tolist() == [3, 3]
import warnings
warnings.simplefilter("always")
import torch
x = torch.ones(2, requires_grad=True)
mylib_next.scaled_add(x, torch.ones(2)).sum().backward()
print(x.grad.tolist())
"""
    result = stranger(WITHOUT_OPBRIDGES_ADAPTER + program)
    assert "operators run in PyTorch by torch.library" in result.stderr
    assert "no C++ compiler" in result.stderr
    assert result.stdout == "[1.0, 1.0]\n"


def test_an_adapter_for_something_else_is_named_beside_what_is_needed(stranger: Stranger, tmp_path: Path) -> None:
    program = """
import os, shutil, sys
(installed,) = (f"{folder}/mylib" for folder in sys.path if os.path.isdir(f"{folder}/mylib"))
shutil.copytree(installed, "other/mylib")
adapters = "other/mylib/_kernels/adapters"
(name,) = os.listdir(adapters)
os.rename(f"{adapters}/{name}", f"{adapters}/{name.replace('torch-2', 'torch-1')}")
sys.path.insert(0, "other")
import torch
import warnings
warnings.simplefilter("always")
import mylib
assert mylib.scaled_add(torch.ones(2), torch.ones(2)).tolist() == [2, 2]
"""
    said = stranger(WITHOUT_OPBRIDGES_ADAPTER + program).stderr
    assert "no C++ compiler" in said
    brought, needed = (line.strip() for line in said.splitlines() if line.strip().endswith(".so"))
    assert (brought, needed) == (needed.replace("torch-2", "torch-1"), needed)


def test_help_shows_what_an_operator_does(stranger: Stranger) -> None:
    text = stranger("import mylib; help(mylib.scaled_add)").stdout
    assert "mylib::scaled_add(Tensor x, Tensor y, *, float alpha=1.0) -> Tensor" in text
    assert "It has a gradient for x and y." in text
