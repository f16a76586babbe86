"""Graphs whose sizes are known only when they run, what keeps operators alive, and processes."""

from __future__ import annotations

import gc
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from subprocesses import python

import opbridge as ob
from opbridge.base.errors import CallError
from opbridge.waist.op import OpLibrary

ms = pytest.importorskip("mindspore")
ops, nn = ms.ops, ms.nn


class Network(nn.Cell):  # type: ignore[misc,name-defined]
    def __init__(self, operator: Any, *options: Any) -> None:
        super().__init__()
        self.operator = operator
        self.options = options

    def construct(self, *tensors: Any) -> Any:
        return self.operator(*tensors, *self.options)


def unknown(*shapes: Any, dtype: Any = ms.float32) -> list[Any]:
    return [ms.Tensor(shape=shape, dtype=dtype) for shape in shapes]


def array(*shape: int) -> np.ndarray:
    return np.arange(np.prod(shape), dtype=np.float32).reshape(shape)


DYNAMIC: dict[str, tuple[str, tuple[Any, ...], list[Any], list[tuple[np.ndarray, ...]]]] = {
    "a size": ("scaled_add", (), [[None, 2]] * 2, [(array(3, 2),) * 2, (array(4, 2),) * 2]),
    "every size": ("scaled_add", (), [[None, None]] * 2, [(array(3, 2),) * 2, (array(1, 5),) * 2]),
    "the rank": ("scaled_add", (), [None, None], [(array(3, 2),) * 2, (array(4),) * 2, (array(2, 1, 2),) * 2]),
    "sizes of a product": ("matrix_product", (), [[None, 3], [3, None]], [(array(2, 3), array(3, 4))]),
    "sizes that must agree": ("matrix_product", (), [[2, None], [None, 4]], [(array(2, 3), array(3, 4))]),
    "sizes that broadcast": ("broadcast_add", (), [[None, 3], [None, 1]], [(array(2, 3), array(1, 1))]),
    "sizes to compute with": ("windows", (2, 3), [[None]], [(array(9),), (array(12),)]),
    "a rank that shrinks": ("largest", (), [None], [(array(2, 3),), (array(2, 2, 3),)]),
    "a number of elements": ("count_tensors", (), [[None]], [(array(4),)]),
}


@pytest.mark.cases(3)
@pytest.mark.parametrize("case", DYNAMIC.values(), ids=DYNAMIC.keys())
def test_sizes_known_when_the_graph_runs(lib: OpLibrary, case: Any) -> None:
    name, options, shapes, calls = case
    ms.set_context(mode=ms.GRAPH_MODE)
    try:
        network = Network(lib[name].mindspore, *options)
        network.set_inputs(*unknown(*shapes))
        for arrays in calls:
            results, expected = network(*map(ms.Tensor, arrays)), lib[name].numpy(*arrays, *options)
            pairs = zip(results, expected, strict=True) if isinstance(expected, tuple) else [(results, expected)]
            for result, wanted in pairs:
                np.testing.assert_array_equal(result.asnumpy(), wanted)
    finally:
        ms.set_context(mode=ms.PYNATIVE_MODE)


def test_sizes_that_do_not_agree_when_the_graph_runs(lib: OpLibrary) -> None:
    ms.set_context(mode=ms.GRAPH_MODE)
    try:
        network = Network(lib.product.mindspore)
        network.set_inputs(*unknown([None, 2], [None, 2]))
        with pytest.raises(RuntimeError, match=r"obtest::product: argument 'y' has shape \[4, 2\], expected \[3, 2\]"):
            network(ms.Tensor(array(3, 2)), ms.Tensor(array(4, 2))).asnumpy()
    finally:
        ms.set_context(mode=ms.PYNATIVE_MODE)


def test_the_operator_itself_is_its_cell_in_a_graph(lib: OpLibrary) -> None:
    torch = pytest.importorskip("torch")
    traced = torch.compile(lib.product, backend="eager", fullgraph=True)
    x, y = array(3, 2), array(3, 2) + 1
    network = Network(lib.product)
    ms.set_context(mode=ms.GRAPH_MODE)
    try:
        for _ in range(2):  # torch.compile reads the same line, before and after
            np.testing.assert_array_equal(traced(torch.from_numpy(x), torch.from_numpy(y)), x * y)
            np.testing.assert_array_equal(network(ms.Tensor(x), ms.Tensor(y)).asnumpy(), x * y)
        np.testing.assert_array_equal(ms.grad(network)(ms.Tensor(x), ms.Tensor(y)).asnumpy(), y)
        with pytest.raises(CallError, match=r"^obtest::product"):
            network(ms.Tensor(x))
    finally:
        ms.set_context(mode=ms.PYNATIVE_MODE)


def test_gradients_where_sizes_are_unknown(lib: OpLibrary) -> None:
    ms.set_context(mode=ms.GRAPH_MODE)
    try:
        network = Network(lib.product.mindspore)
        network.set_inputs(*unknown([None, 2], [None, 2]))
        x, y = array(3, 2), array(3, 2) + 1
        dx, dy = ms.grad(network, (0, 1))(ms.Tensor(x), ms.Tensor(y))
        np.testing.assert_array_equal(dx.asnumpy(), y)
        np.testing.assert_array_equal(dy.asnumpy(), x)
    finally:
        ms.set_context(mode=ms.PYNATIVE_MODE)


def define(name: str) -> Any:
    return ob.inline(
        "#include <opbridge/kernel.h>\n"
        f"void {name}(ob::In<float> x, ob::Out<float> out) {{\n"
        "  for (int64_t i = 0; i < x.numel(); ++i) out[i] = 2 * x[i];\n"
        f"}}\nOB_KERNEL({name})\n",
        schema=f"ms_lifetime::{name}(Tensor x) -> Tensor",
        out="x",
    )


def test_a_graph_keeps_what_it_was_compiled_from() -> None:
    cell = define("twice").mindspore

    def network(x):  # type: ignore[no-untyped-def]
        return cell(x) + 1

    compiled = ms.jit(network)
    x = ms.Tensor(array(3))
    expected = compiled(x).asnumpy()
    cell._made.clear()
    cell._table.clear()
    gc.collect()
    np.testing.assert_array_equal(compiled(x).asnumpy(), expected)


def test_a_primitive_that_nobody_holds_is_gone() -> None:
    cell = define("thrice").mindspore
    cell(ms.Tensor(array(3))).asnumpy()
    (primitive,) = cell._made.values()
    alive = weakref.ref(primitive)
    del primitive
    cell._made.clear()
    cell._table.clear()
    gc.collect()
    assert alive() is None


def in_another_process(code: str, folder: Path) -> str:
    # Generous, as the first one may have to compile PyTorch's adapter.
    run = python(code, cwd=folder, timeout=600)
    assert run.returncode == 0, run.stderr
    return run.stdout


@pytest.mark.cases(1)
@pytest.mark.parametrize("order", ["import mindspore as ms, torch", "import torch, mindspore as ms"])
def test_mindspore_and_pytorch_in_one_process(tmp_path: Path, kernels: Path, order: str) -> None:
    code = (
        f"{order}\nimport opbridge as ob\nms.set_device('CPU')\nlib = ob.load({str(kernels / 'ops.yaml')!r})\n"
        "print(lib.product(ms.ops.ones(2), ms.ops.ones(2)), lib.product(torch.ones(2), torch.ones(2)))\n"
    )
    assert in_another_process(code, tmp_path) == "[1. 1.] tensor([1., 1.])\n"


def test_a_process_may_end_with_calls_under_way(tmp_path: Path, kernels: Path) -> None:
    code = (
        f"import mindspore as ms, opbridge as ob\nms.set_device('CPU')\nlib = ob.load({str(kernels / 'ops.yaml')!r})\n"
        "x = ms.ops.ones((256, 256))\n"
        "for _ in range(50): x = lib.scaled_add(x, x)\n"
        "print('done')\n"
    )
    assert in_another_process(code, tmp_path) == "done\n"


def test_loading_imports_no_mindspore(tmp_path: Path, kernels: Path) -> None:
    code = (
        f"import sys, opbridge as ob\nlib = ob.load({str(kernels / 'ops.yaml')!r})\nlib.product\n"
        "print('mindspore' in sys.modules)\n"
    )
    assert in_another_process(code, tmp_path) == "False\n"
