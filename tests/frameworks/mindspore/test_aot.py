"""Libraries written to MindSpore's attribute block, through opbridge in MindSpore and in MindSpore alone."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import opbridge as ob
from opbridge.waist.op import Op
from opbridge.waist.rules import DTYPES

REPOSITORY = Path(__file__).parents[3]
KERNELS = REPOSITORY / "tests" / "native" / "aot_kernels.cpp"
COMPAT = REPOSITORY / "src" / "opbridge" / "include" / "compat"
SCALE = "mindspore_aot::scale(Tensor x, *, float scale=1.0) -> Tensor"
SPLIT = "mindspore_aot::split(Tensor x, *, int n, int? type=None) -> (Tensor head, Tensor tail)"


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("aot") / "kernels.so"
    flags = ["-std=c++17", "-O2", "-shared", "-fPIC", "-D_GLIBCXX_USE_CXX11_ABI=0", f"-I{COMPAT}"]
    subprocess.run(["g++", *flags, KERNELS, "-o", path], check=True)
    return path


@pytest.fixture
def ms(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    monkeypatch.setenv("GLOG_v", "4")
    monkeypatch.chdir(tmp_path)  # where MindSpore writes of graphs that do not compile
    mindspore = pytest.importorskip("mindspore")
    yield mindspore
    mindspore.set_context(mode=mindspore.PYNATIVE_MODE)


@pytest.fixture
def scale(library: Path) -> Op:
    return ob.aot(f"{library}:Scale", schema=SCALE, derivatives={"x": "grad * scale"})


@pytest.fixture
def split(library: Path) -> Op:
    return ob.aot(f"{library}:Split", schema=SPLIT)


def cell(ms: Any, op: Any, **attributes: Any) -> Any:
    class Net(ms.nn.Cell):  # type: ignore[misc,name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.op = op

        def construct(self, x: Any) -> Any:
            return self.op(x, **attributes)

    return Net()


def f32(ms: Any, *values: float) -> Any:
    return ms.Tensor(np.array(values, np.float32))


def test_calls_and_gradients(ms: Any, scale: Op) -> None:
    x = f32(ms, 0, 1, 2)
    assert scale(x, scale=3.0).asnumpy()[1:].tolist() == [3, 6]
    gradient = ms.grad(lambda x: scale.mindspore(x, scale=3.0))(x)
    assert gradient.asnumpy().tolist() == [3, 3, 3]


def test_lists_of_lists(ms: Any, library: Path) -> None:
    schema = "mindspore_aot::row_sums(Tensor x, *, int[][] ints, float[][] floats) -> Tensor"
    op = ob.aot(f"{library}:RowSumsOf", schema=schema, out={"shape": "[3]", "dtype": "float64"})
    assert op(f32(ms, 1), ints=[[1, 2], [3]], floats=[[0.5, 0.25]]).asnumpy().tolist() == [3, 3, 0.75]


def test_a_graph_asks_the_library_for_its_outputs(ms: Any, split: Op) -> None:
    ms.set_context(mode=ms.GRAPH_MODE)
    for sizes in ([3], [None]):
        net = cell(ms, split.mindspore, n=1)
        net.set_inputs(ms.Tensor(shape=sizes, dtype=ms.float32))
        head, tail = net(f32(ms, 1, 2, 3))
        assert (head.asnumpy().tolist(), tail.asnumpy().tolist()) == ([1], [2, 3])
        assert tail.dtype == ms.float64


@pytest.mark.parametrize("mode", ["PYNATIVE_MODE", "GRAPH_MODE"])
def test_what_the_library_refuses_reaches_python(ms: Any, scale: Op, split: Op, mode: str) -> None:
    ms.set_context(mode=getattr(ms, mode))
    with pytest.raises(Exception, match="mindspore_aot::scale: ScaleInit threw: a negative scale"):
        cell(ms, scale.mindspore, scale=-1.0)(f32(ms, 1, 2)).asnumpy()
    with pytest.raises(Exception, match="mindspore_aot::split: SplitInferShape threw: there are not so many elements"):
        cell(ms, split.mindspore, n=3)(f32(ms, 1, 2))
    assert cell(ms, scale.mindspore, scale=2.0)(f32(ms, 1, 2)).asnumpy()[1] == 4


def test_the_same_library_in_mindspore_alone(ms: Any, library: Path) -> None:
    """That our header is MindSpore's: order of functions, layout of members, numbers of types."""
    made = ms.ops.Custom(f"{library}:Scale", out_shape=None, out_dtype=None, func_type="aot")
    made.add_prim_attr("reg_op_name", "scale")
    made.add_prim_attr("scale", 2.0)
    assert made(f32(ms, 1, 2)).asnumpy()[1] == 4
    several = ms.ops.Custom(f"{library}:Split", out_shape=None, out_dtype=None, func_type="aot")
    for name, value in {"reg_op_name": "split", "multi_output": True, "n": 1}.items():
        several.add_prim_attr(name, value)
    assert [(part.asnumpy().tolist(), part.dtype) for part in several(f32(ms, 1, 2))] == [
        ([1], ms.float32),
        ([2], ms.float64),
    ]


@pytest.mark.parametrize("dtype", DTYPES)
def test_libraries_are_told_mindspores_numbers_of_types(ms: Any, library: Path, dtype: str) -> None:
    made = ms.ops.Custom(f"{library}:TypeNumber", out_shape=None, out_dtype=None, func_type="aot")
    made.add_prim_attr("reg_op_name", "type_number")
    number = made(ms.ops.zeros((2,), getattr(ms, "bool_" if dtype == "bool" else dtype))).asnumpy()
    op = ob.aot(f"{library}:TypeNumber", schema="mindspore_aot::type_number(Tensor x) -> Tensor")
    assert op(torch.zeros(2, dtype=getattr(torch, dtype))).item() == number[0]
