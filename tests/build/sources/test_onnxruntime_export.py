"""Libraries of `opbridge compile --for onnxruntime` in ONNX Runtime itself, with models by hand and of PyTorch's."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import opbridge as ob
from opbridge.base.errors import UnsupportedError
from opbridge.build.cache import Cache
from opbridge.build.sources.onnxruntime_export import generate, request_for
from opbridge.cli import main
from opbridge.waist.manifest import Manifest

onnx = pytest.importorskip("onnx")
ort = pytest.importorskip("onnxruntime")

MANIFEST = """
namespace: exported
ops:
  - func: scaled_add(Tensor x, Tensor y, *, float alpha=2.5) -> Tensor
    out: broadcast(x, y)
    kernels: {cpu: standalone_kernels.cpp}
  - func: scaled_add.same(Tensor x, Tensor y, *, float alpha) -> Tensor
    out: x
    batch: elementwise
    kernels: {cpu: 'standalone_kernels.cpp:scaled_add'}
  - func: >-
      describe(Tensor x, *, bool flag=True, int number=7, Scalar scalar=1.5, str text='four', float? maybe=None,
      int[2] ints=3, float[] floats=[0.25, 1], bool[] bools=[False], ScalarType type=half) -> Tensor
    out: {shape: [10], dtype: float64}
    kernels: {cpu: standalone_kernels.cpp}
  - func: split(Tensor x, *, int n=1) -> (Tensor head, Tensor tail)
    out: [{shape: [n], dtype: x.dtype}, {shape: [x.shape[0] - n], dtype: float64}]
    kernels: {cpu: standalone_kernels.cpp}
  - func: join(Tensor[] xs) -> Tensor
    out: {shape: [xs[0].shape[0] + xs[-1].shape[0]], dtype: float32}
    kernels: {cpu: standalone_kernels.cpp}
  - func: biased(Tensor x, Tensor? bias=None) -> Tensor
    out: x
    kernels: {cpu: biased.cpp}
  - func: swish(Tensor x, *, float beta=1.0) -> Tensor
    formula: x * sigmoid(beta * x)
"""
BIASED = """
#include <opbridge/kernel.h>

template <class T>
void biased(ob::In<T> x, ob::Optional<ob::In<T>> bias, ob::Out<T> out) {
  for (int64_t i = 0; i < x.numel(); ++i) out[i] = bias ? T(x[i] + (*bias)[i]) : T(-x[i]);
}
OB_KERNEL(biased, float, int64_t)
"""
Run = Callable[..., list[np.ndarray]]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("onnx")
    shutil.copy(Path(__file__).with_name("standalone_kernels.cpp"), folder)
    (folder / "biased.cpp").write_text(BIASED)
    (folder / "ops.yaml").write_text(MANIFEST)
    assert main(["compile", str(folder / "ops.yaml"), str(folder / "lib.so"), "--for", "onnxruntime"]) == 0
    return folder


@pytest.fixture
def session(folder: Path) -> Callable[..., Any]:
    def open_model(model: bytes | str) -> Any:
        options = ort.SessionOptions()
        options.log_severity_level = 4
        options.register_custom_ops_library(str(folder / "lib.so"))
        return ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])

    return open_model


@pytest.fixture
def run(session: Callable[..., Any]) -> Run:
    def run_node(operator: str, *inputs: np.ndarray | None, outputs: int = 1, **attributes: object) -> list[np.ndarray]:
        """One node; every size of its inputs is unknown while the model is read."""
        helper = onnx.helper
        names = [f"x{place}" if value is not None else "" for place, value in enumerate(inputs)]
        given = {name: value for name, value in zip(names, inputs, strict=True) if value is not None}
        node = helper.make_node(operator, names, [f"y{i}" for i in range(outputs)], domain="exported", **attributes)
        declared = [
            helper.make_tensor_value_info(
                name,
                helper.np_dtype_to_tensor_dtype(value.dtype),
                [f"{name}_{k}" for k in range(value.ndim)],
            )
            for name, value in given.items()
        ]
        results = [onnx.ValueInfoProto(name=name) for name in node.output]
        graph = helper.make_graph([node], "g", declared, results)
        domains = [helper.make_opsetid("", 18), helper.make_opsetid("exported", 1)]
        model = helper.make_model(graph, opset_imports=domains, ir_version=8)
        return session(model.SerializeToString()).run(None, given)

    return run_node


ONES = np.ones(3, np.float32)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_types_are_inferred_and_sizes_may_be_unknown(run: Run, dtype: type) -> None:
    x = np.arange(6, dtype=dtype).reshape(2, 3)
    (y,) = run("scaled_add", x, x, alpha=2.0)
    assert y.dtype == dtype
    np.testing.assert_array_equal(y, 3 * x)
    (y,) = run("scaled_add_same", x, x, alpha=1)  # a whole number is a float too
    np.testing.assert_array_equal(y, 2 * x)


def test_attributes_of_every_kind(run: Run) -> None:
    x = np.ones(1, bool)
    assert run("describe", x)[0].tolist() == [1, 1, 7, 1.5, 4, -1, 3, 0.25, 0, 9]
    said = {"flag": 0, "number": -3, "scalar": 4, "text": "ab", "maybe": 0.5}
    lists = {"ints": [5, 6], "floats": [2.5], "bools": [1]}
    assert run("describe", x, **said, **lists, type="int64")[0].tolist() == [1, 0, -3, 4, 2, 0.5, 5, 2.5, 1, 8]


def test_several_outputs_lists_and_optional_inputs(run: Run) -> None:
    head, tail = run("split", np.arange(5, dtype=np.float32), outputs=2, n=2)
    assert (head.tolist(), tail.tolist(), tail.dtype) == ([0, 1], [2, 3, 4], np.float64)
    assert run("join", ONES, np.zeros(2, np.float32))[0].tolist() == [1, 1, 1, 0, 0]
    assert run("biased", ONES)[0].tolist() == run("biased", ONES, None)[0].tolist() == [-1, -1, -1]
    assert run("biased", ONES, ONES)[0].tolist() == [2, 2, 2]
    assert run("biased", np.array([4]), np.array([5]))[0].tolist() == [9]
    np.testing.assert_allclose(run("swish", ONES, beta=2.0)[0], 1 / (1 + np.exp(-2.0)), rtol=1e-6)
    assert run("swish", np.zeros((0, 3), np.float32))[0].shape == (0, 3)


@pytest.mark.parametrize(
    ("operator", "inputs", "attributes", "message"),
    [
        ("scaled_add", (ONES, ONES), {"alpha": "a"}, "exported::scaled_add: attribute 'alpha' is not the float"),
        ("scaled_add_same", (ONES, ONES), {}, r"exported::scaled_add.same: attribute 'alpha' is missing"),
        ("scaled_add", (ONES, np.ones(2, np.float32)), {}, r"shapes \[3\] and \[2\] do not broadcast"),
        ("scaled_add_same", (ONES, ONES[:2]), {"alpha": 1.0}, r"argument 'y' has shape \[2\], expected \[3\]"),
        ("scaled_add", (ONES, ONES.astype(np.float64)), {}, "argument 'y' is float64 but 'x' is float32"),
        ("biased", (np.ones(3),), {}, "argument 'x' is float64; the kernel takes float32, int64"),
        ("describe", (np.ones(1, bool),), {"type": "int65"}, "attribute 'type' is not the ScalarType"),
    ],
)
def test_what_does_not_fit_is_a_status_with_our_message(
    run: Run, operator: str, inputs: tuple[np.ndarray, ...], attributes: dict[str, object], message: str
) -> None:
    with pytest.raises(Exception, match=message):
        run(operator, *inputs, **attributes)


def test_what_a_kernel_fails_with(run: Run) -> None:
    with pytest.raises(ort.capi.onnxruntime_pybind11_state.Fail, match="exported::split: n is 0"):
        run("split", ONES, outputs=2, n=0)


class Net(torch.nn.Module):
    def __init__(self, library: ob.OpLibrary) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(4, 4)
        self.library = library

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        y = self.library.scaled_add(self.linear(x), x, alpha=0.5).relu()
        head, tail = self.library.split(y.flatten(), n=3)
        told = self.library.describe(x > 0, ints=[1, 2], floats=[], type=torch.int64, scalar=2, text="torch")
        return self.library.swish(y), head, tail, self.library.join([head, y[0]]), told


@pytest.mark.filterwarnings("ignore")  # of PyTorch's exporter
def test_a_model_of_pytorchs(folder: Path, session: Callable[..., Any]) -> None:
    pytest.importorskip("onnxscript")
    library = ob.load(folder / "ops.yaml")
    net = Net(library).eval()
    program = torch.onnx.export(
        net,
        (torch.randn(3, 4),),
        dynamo=True,
        verbose=False,
        dynamic_shapes=({0: torch.export.Dim("n", min=2)},),
        custom_translation_table=ob.onnx_translations(library),
    )
    program.save(folder / "net.onnx")
    opened = session(str(folder / "net.onnx"))

    def compare(x: torch.Tensor) -> None:
        with torch.no_grad():
            expected = net(x)
        for got, want in zip(opened.run(None, {"x": x.numpy()}), expected, strict=True):
            np.testing.assert_allclose(got, want.numpy(), rtol=1e-5, atol=1e-6)

    with ThreadPoolExecutor(4) as threads:  # sessions are called from several
        list(threads.map(compare, [torch.randn(n, 4) for n in (2, 3, 5, 9) * 4]))


@pytest.mark.parametrize(
    ("schema", "fields", "message"),
    [
        ("f(Tensor(a!) x) -> Tensor(a!)", "", "n::f: it writes to its arguments, and ONNX has no operator that does"),
        ("f(Tensor[] x, Tensor y) -> Tensor", "out: y", "n::f: 'x' is a list of tensors, which ONNX wants last"),
        ("g(Tensor x) -> Tensor", "out: x", "n::g: its kernel g is not written on kernel.h"),
    ],
)
def test_what_cannot_be_made(folder: Path, schema: str, fields: str, message: str) -> None:
    (folder / "f.cpp").write_text("OB_KERNEL(f)")
    text = f"namespace: n\nops:\n  - func: {schema}\n    kernels: {{cpu: f.cpp}}\n    {fields}\n"
    with pytest.raises(UnsupportedError, match=message):
        request_for(Manifest.parse(text, root=folder).ops, "lib.so", folder, Cache())


def test_compile_says_what_it_takes(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    manifest, library = str(folder / "ops.yaml"), str(folder / "not.so")
    assert main(["compile", str(folder / "biased.cpp"), library, "--for", "onnxruntime"]) == 2
    assert main(["compile", manifest, library]) == 2
    assert capsys.readouterr().err.count("expected an ops.yaml and --for onnxruntime") == 2
    assert main(["compile", manifest, library, "--for", "onnxruntime", "--device", "cuda"]) == 2
    assert main(["compile", manifest, str(folder / "not"), "--for", "onnxruntime"]) == 2


def test_the_generated_source_is_the_same_each_time(folder: Path) -> None:
    ops = Manifest.load(folder / "ops.yaml").ops[:2]
    text = generate(ops)
    assert text == generate(ops)
    assert text.endswith("OB_ONNXRUNTIME_REGISTER(scaled_add_operator(), scaled_add_same_operator())\n")
