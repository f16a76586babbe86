"""Ascend C kernels as operators: what starts them, what they are started with, and how their mistakes are told."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import opbridge as ob
from opbridge.base.errors import BuildError, CallError, KernelError, OpbridgeError, RuleError
from opbridge.build.cxx.ascend_kernels import AscendSource
from opbridge.waist.manifest import Manifest
from opbridge.waist.rules.launch import Launch

HERE = Path(__file__).parent
SOURCE = HERE / "ascend_kernels.cpp"

MANIFEST = """
namespace on_npu
ops:
  - func: add(Tensor x, Tensor y) -> Tensor
    out: x
    kernels: {npu: ascend_kernels.cpp}
    launch: {blockDim: 2, total: x.numel}
    derivatives: {x: grad, y: grad}
    batch: elementwise
  - func: scale(Tensor x, *, float factor=2.0) -> Tensor
    out: x
    kernels: {npu: ascend_kernels.cpp}
    launch: {total: x.shape[0] * x.shape[1]}
    derivatives: {x: grad * factor}
  - func: shift(Tensor x, *, float by) -> Tensor
    out: x
    kernels: {npu: ascend_kernels.cpp}
    launch: {blockDim: "min(x.ndim, 4)", tiling: "ShiftTiling(total=x.numel, by=by)"}
  - func: shift_by_value(Tensor x, *, float by) -> Tensor
    out: x
    kernels: {npu: ascend_kernels.cpp}
    launch: {numbers: "ShiftTiling(total=x.numel, by=2 * by)"}
  - func: count_blocks(Tensor x, *, int blocks) -> Tensor
    out: {shape: "[1]", dtype: int32}
    kernels: {npu: ascend_kernels.cpp}
    launch: {blockDim: blocks, workspace: 32 * blocks}
  - func: twice(Tensor x) -> Tensor
    out: x
    kernels: {npu: ascend_kernels.cpp}
  - func: thrice(Tensor x) -> Tensor
    out: x
    kernels: {npu: ascend_kernels.cpp}
""".replace("namespace on_npu", "namespace: on_npu")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("ascend")
    for file in (SOURCE, SOURCE.with_suffix(".h")):
        (folder / file.name).write_text(file.read_text())
    (folder / "ops.yaml").write_text(MANIFEST)
    return folder


@pytest.fixture(scope="module")
def lib(folder: Path) -> Any:
    return ob.load(folder / "ops.yaml", device="ascend-twin")


def load(schema: str, device: str = "ascend-twin", **rules: Any) -> Any:
    return ob.load(SOURCE, schema=f"one_on_npu::{schema}", out="x", device=device, **rules)


class TestStarting:
    X = np.arange(600, dtype=np.float32).reshape(2, 300)

    def test_by_numbers_of_the_call(self, lib: Any) -> None:
        np.testing.assert_array_equal(lib.add(self.X, self.X), 2 * self.X)

    def test_by_attributes_of_the_same_name(self, lib: Any) -> None:
        np.testing.assert_array_equal(lib.scale(self.X, factor=0.5), 0.5 * self.X)

    def test_with_a_struct_in_memory_and_by_value(self, lib: Any) -> None:
        np.testing.assert_array_equal(lib.shift(self.X, by=1.5), self.X + 1.5)
        np.testing.assert_array_equal(lib.shift_by_value(self.X, by=1.5), self.X + 3)

    def test_with_a_workspace_of_zeros(self, lib: Any) -> None:
        for blocks in (1, 2, 8):
            assert lib.count_blocks(self.X, blocks=blocks).tolist() == [blocks]

    def test_by_a_function_on_kernel_h_and_one_with_the_plain_call(self, lib: Any) -> None:
        np.testing.assert_array_equal(lib.twice(self.X[0]), 2 * self.X[0])
        np.testing.assert_array_equal(lib.thrice(self.X[0]), 3 * self.X[0])

    def test_not_at_all_where_there_is_nothing_to_write(self, lib: Any) -> None:
        assert lib.add(self.X[:0], self.X[:0]).shape == (0, 300)

    def test_a_number_of_blocks_that_no_npu_takes(self, lib: Any) -> None:
        with pytest.raises(KernelError, match="blockDim is 0, expected 1 to 65535"):
            lib.count_blocks(self.X, blocks=0)


class TestFrameworks:
    def test_pytorch_with_gradients_and_vmap(self, lib: Any) -> None:
        torch = pytest.importorskip("torch")
        x, y = torch.randn(2, 300, requires_grad=True), torch.randn(2, 300)
        torch.testing.assert_close(lib.add(x, y), x + y)
        (gradient,) = torch.autograd.grad(lib.scale(x, factor=3.0).sum(), x)
        assert (gradient == 3).all()
        torch.testing.assert_close(torch.func.vmap(lib.add.torch)(x.detach(), y), x.detach() + y)

    def test_mindspore_with_a_gradient(self, lib: Any) -> None:
        ms = pytest.importorskip("mindspore")
        x = ms.Tensor(np.ones((2, 3), np.float32))
        assert (ms.grad(lib.scale.mindspore)(x).asnumpy() == 2).all()

    def test_jax(self, lib: Any) -> None:
        jnp = pytest.importorskip("jax.numpy")
        assert (lib.add(jnp.ones((2, 3)), jnp.ones((2, 3))) == 2).all()


def test_a_kernels_mistake_is_the_operators_error() -> None:
    add = load("add(Tensor x, Tensor y) -> Tensor", launch={"blockDim": 1, "total": "2 * x.numel"})
    with pytest.raises(KernelError) as failure:
        add(np.ones(8, np.float32), np.ones(8, np.float32))
    told = str(failure.value)
    assert "one_on_npu::add: ascend-twin: add: read of 64 bytes out of a global tensor's bounds [out-of-bounds]" in told
    header = SOURCE.with_suffix(".h").read_text().splitlines()
    line = 1 + next(number for number, text in enumerate(header) if "DataCopyPad(tensor" in text)
    assert f"ascend_kernels.h:{line}, DataCopyPad on PIPE_MTE2, block 0" in told
    assert "byte 0 of the 32 bytes of x" in told


@pytest.mark.parametrize(
    ("schema", "launch", "told"),
    [
        ("add(Tensor x, Tensor y) -> Tensor", None, r"takes 'uint32_t total'.*launch: {blockDim: 8, total: x\.numel}"),
        ("add(Tensor x) -> Tensor", {"total": 1}, "has 2 tensors, outputs included, for 3 addresses.*: x, y, out"),
        ("add(Tensor x, Tensor y) -> Tensor", {"n": 1, "total": 1}, "launch has 'n', which is not a parameter"),
        ("add(Tensor x, Tensor[] y) -> Tensor", {"total": 1}, r"no kernel that takes a list of tensors \('y'\)"),
        ("add(Tensor x, Tensor y) -> Tensor", {"total": "sum(x.shape)"}, r"launch cannot hold sum\(x\.shape\)"),
    ],
)
def test_what_cannot_be_started_is_refused_with_what_to_write(schema: str, launch: Any, told: str) -> None:
    with pytest.raises(OpbridgeError, match=f"(?s){told}"):
        load(schema, **({"launch": launch} if launch else {}))


@pytest.mark.parametrize(
    ("launch", "told"),
    [
        ("8", "expected a mapping from the kernel's parameters"),
        ({"total": "z.numel"}, "'z' is not an argument"),
        ({"total": "x"}, "expected an int, got a tensor: x"),
        ({"blockDim": "1.5"}, r"expected an int, got a float: 1\.5"),
        ({"tiling": "Tiling(x.numel)"}, r"Tiling\(totalLength=x\.numel, tileNum=8\), with a value for each field"),
    ],
)
def test_a_rule_that_makes_no_sense_is_refused(launch: Any, told: str) -> None:
    with pytest.raises(RuleError, match=told):
        load("add(Tensor x, Tensor y) -> Tensor", launch=launch)


def test_the_rule_prints_and_reads_back() -> None:
    manifest = Manifest.parse(MANIFEST)
    assert Manifest.parse(str(manifest)) == manifest
    rule = manifest.ops[2].rules.launch
    assert isinstance(rule, Launch)
    assert rule.field() == {"blockDim": "min(x.ndim, 4)", "tiling": "ShiftTiling(total=x.numel, by=by)"}


class TestWhoRunsIt:
    def test_nobody_gets_the_twin_unasked(self, folder: Path) -> None:
        lib = ob.load(folder / "ops.yaml")
        with pytest.raises(KernelError, match=r'run its Ascend C kernel on the CPU: .*device="ascend-twin"'):
            lib.twice(np.ones(3, np.float32))

    def test_the_environment_asks_for_it(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("OPBRIDGE_ASCEND_TWIN", "1")
        assert ob.load(folder / "ops.yaml").twice(np.ones(3, np.float32)).tolist() == [2, 2, 2]

    def test_so_does_a_kernel_of_its_own(self, folder: Path) -> None:
        text = MANIFEST.replace("{npu: ascend_kernels.cpp}", "{ascend-twin: ascend_kernels.cpp}")
        (folder / "twin.yaml").write_text(text)
        assert ob.load(folder / "twin.yaml").twice(np.ones(3, np.float32)).tolist() == [2, 2, 2]

    def test_a_manifest_names_no_other_device(self, folder: Path) -> None:
        with pytest.raises(CallError, match='device="ascend-twin" runs those for npu on the CPU'):
            ob.load(folder / "ops.yaml", device="npu")


def test_the_text_of_a_kernel() -> None:
    text = f"{SOURCE.with_suffix('.h').read_text()}\n{SOURCE.read_text()}".replace('#include "ascend_kernels.h"', "")
    schema = "inline_on_npu::add(Tensor x, Tensor y) -> Tensor"
    add = ob.inline(text, schema=schema, out="x", launch={"total": "x.numel"}, device="ascend-twin")
    assert add(np.ones(3, np.float32), np.ones(3, np.float32)).tolist() == [2, 2, 2]


def test_a_kernel_taken_for_the_cpus_is_told_whose_it_is() -> None:
    with pytest.raises(BuildError, match='hint: this is Ascend C: load it with device="ascend-twin"'):
        load("add(Tensor x, Tensor y) -> Tensor", device="cpu")


def test_a_source_is_read_once_for_all_of_its_operators(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    whole = AscendSource._read
    # Counts the readings, and reads.
    monkeypatch.setattr(AscendSource, "_read", lambda self: (read.append(self.file), whole(self)))
    lib = ob.load(folder / "ops.yaml", device="ascend-twin")
    x = np.ones((2, 300), np.float32)
    lib.add(x, x)
    lib.twice(x)
    assert read == [str(folder / SOURCE.name)]
