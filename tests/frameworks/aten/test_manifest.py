"""`kernels: {cpu: aten::leaky_relu}`: an operator of PyTorch's under a name, arguments and defaults of one's own."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mindspore as ms
import numpy as np
import pytest
import torch
from numpy.testing import assert_array_equal
from subprocesses import succeed

import opbridge as ob
from opbridge.base.errors import ManifestError, NoSuchOperatorError, SchemaError
from opbridge.frameworks.aten.matching import argument_order
from opbridge.waist.op import OpLibrary
from opbridge.waist.schema import Schema

MANIFEST = """\
namespace: aten_names
ops:
  - {func: "leaky(Tensor x, *, float slope=0.5) -> Tensor", kernels: {cpu: aten::leaky_relu}}
  - {func: "total(Tensor x, int[1] dim, bool keepdim=False) -> Tensor", kernels: {cpu: aten::sum.dim_IntList}}
  - {func: "plus_(Tensor(a!) self, Tensor other) -> Tensor(a!)", kernels: {cpu: aten::add_}}
  - {func: "pieces(Tensor(a -> *) x, int size) -> Tensor(a)[]", kernels: {cpu: aten::split}}
  - {func: "drop(Tensor x, float p, bool train) -> Tensor", kernels: {cpu: aten::dropout}}
"""
X = np.array([[-1.0, 2.0], [3.0, -4.0]], np.float32)


@pytest.fixture(scope="module")
def names(tmp_path_factory: pytest.TempPathFactory) -> OpLibrary:
    path = tmp_path_factory.mktemp("names") / "ops.yaml"
    path.write_text(MANIFEST)
    library: OpLibrary = ob.load(path)
    return library


@pytest.fixture
def load(tmp_path: Path) -> Callable[[str], Any]:
    def load(entry: str, namespace: str = "aten_misfits") -> Any:
        (tmp_path / "ops.yaml").write_text(f"namespace: {namespace}\nops:\n  - {{{entry}}}\n")
        return ob.load(tmp_path / "ops.yaml")

    return load


def test_its_own_names_and_defaults_in_every_framework(names: OpLibrary) -> None:
    expected = np.where(X > 0, X, X / 2)
    assert_array_equal(names.leaky(X), expected)
    assert_array_equal(names.leaky(torch.from_numpy(X)).numpy(), expected)
    assert_array_equal(names.leaky(ms.Tensor(X)).asnumpy(), expected)
    assert_array_equal(names.leaky(X, slope=1.0), X)
    assert_array_equal(names.total(X, 1), X.sum(1))
    assert [part.shape for part in names.pieces(X, 1)] == [(1, 2), (1, 2)]
    x = X.copy()
    assert names.plus_(x, X) is x
    assert_array_equal(x, 2 * X)


def test_all_of_pytorch_applies(names: OpLibrary) -> None:
    x = torch.tensor(X, requires_grad=True)
    names.leaky(x).sum().backward()
    assert_array_equal(x.grad, np.where(X > 0, 1, 0.5))
    torch.testing.assert_close(torch.vmap(names.leaky.torch)(x), names.leaky(x))
    compiled = torch.compile(lambda x: names.leaky(x, slope=0.25) + 1, fullgraph=True, backend="eager")
    torch.testing.assert_close(compiled(x), torch.nn.functional.leaky_relu(x, 0.25) + 1)
    assert names.leaky(torch.empty(3, 4, device="meta")).shape == (3, 4)


def test_gradients_and_draws_in_mindspore(names: OpLibrary) -> None:
    grad = ms.grad(lambda x: names.leaky(x))(ms.Tensor(X))
    assert_array_equal(grad.asnumpy(), np.where(X > 0, 1, 0.5))
    value, grad = ms.value_and_grad(lambda x: names.drop(x, 0.5, True))(ms.Tensor(X))
    assert_array_equal(grad.asnumpy(), np.where(value.asnumpy() != 0, 2, 0))


def test_copies_and_pickles(names: OpLibrary) -> None:
    assert pickle.loads(pickle.dumps(names.leaky)) is names.leaky


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("func: f(Tensor x, str s) -> Tensor, kernels: {cpu: aten::relu}", "it has no argument for 'str s'"),
        ("func: 'f(Tensor x) -> (Tensor, Tensor)', kernels: {cpu: aten::relu}", r"it returns \(Tensor\)"),
        ("func: f(Tensor x) -> Tensor, kernels: {cpu: aten::mm}", "nothing corresponds to its argument 'Tensor mat2'"),
        (
            "func: 'f(Tensor x, Tensor y) -> Tensor', kernels: {cpu: aten::leaky_relu}",
            "'y' is Tensor, where it takes Scalar negative_slope",
        ),
        ("func: f(Tensor x) -> Tensor, kernels: {cpu: aten::relu_}", "'x' is written to there"),
        ("func: f(Tensor x) -> Tensor, kernels: {cpu: aten::add}", "fits no overload of aten::add"),
    ],
)
def test_a_schema_that_does_not_fit(load: Callable[[str], Any], entry: str, message: str) -> None:
    with pytest.raises(SchemaError, match=message):
        load(entry)


def test_an_operator_that_does_not_exist(load: Callable[[str], Any]) -> None:
    with pytest.raises(NoSuchOperatorError, match="did you mean 'aten::relu'"):
        load("func: f(Tensor x) -> Tensor, kernels: {cpu: aten::reluu}")


@pytest.mark.parametrize("field", ["out: x", "derivatives: {x: grad}", "batch: elementwise", "shard: elementwise"])
def test_pytorch_brings_the_rules(load: Callable[[str], Any], field: str) -> None:
    with pytest.raises(ManifestError, match=f"aten::relu has its own '{field.partition(':')[0]}'"):
        load(f"func: f(Tensor x) -> Tensor, kernels: {{cpu: aten::relu}}, {field}")


@pytest.mark.parametrize("other", ["f.cpp", "aten::sigmoid"])
def test_kernels_of_two_kinds_do_not_mix(load: Callable[[str], Any], other: str) -> None:
    with pytest.raises(ManifestError, match=rf"aten::relu for cpu and {other}.* for cuda do not mix"):
        load(f"func: f(Tensor x) -> Tensor, kernels: {{cpu: aten::relu, cuda: {other}}}")


def test_from_pytorch_to_a_file_and_back(load: Callable[..., Any], tmp_path: Path) -> None:
    """One name may be defined anew, as in a notebook."""
    (tmp_path / "f.cpp").write_text(
        "#include <opbridge/kernel.h>\n"
        "void f(ob::In<float> x, ob::Out<float> out) {\n"
        "  for (int64_t i = 0; i < x.numel(); ++i) out[i] = 2 * x[i];\n"
        "}\nOB_KERNEL(f)\n"
    )
    by_pytorch = "func: f(Tensor x) -> Tensor, kernels: {cpu: aten::neg}"
    by_file = "func: f(Tensor x) -> Tensor, out: x, derivatives: {x: 2 * grad}, kernels: {cpu: f.cpp}"
    for entry, factor in ((by_pytorch, -1), (by_file, 2), (by_pytorch, -1)):
        op = load(entry, "aten_redefined").f
        x = torch.tensor(X, requires_grad=True)
        op(x).sum().backward()
        assert_array_equal(x.grad, np.full_like(X, factor))
        assert_array_equal(op.torch(x).detach().numpy(), factor * X)
        assert_array_equal(op(X), factor * X)


def test_arguments_find_each_other_by_name_then_in_order() -> None:
    other = Schema.parse("aten::f(Tensor self, Scalar alpha=1, *, int? dim=None, bool keep=False) -> Tensor")
    for own, order in (
        ("m::f(Tensor x) -> Tensor", (0, -1, -1, -1)),
        ("m::f(Tensor x, float a) -> Tensor", (0, 1, -1, -1)),
        ("m::f(int dim, Tensor x, float a) -> Tensor", (1, 2, 0, -1)),
        ("m::f(bool keep, Tensor self) -> Tensor", (1, -1, -1, 0)),
    ):
        assert argument_order(Schema.parse(own), other) == order


def test_without_pytorch_it_is_said_what_to_install(tmp_path: Path) -> None:
    (tmp_path / "ops.yaml").write_text(MANIFEST)
    code = (
        "import sys; sys.modules['torch'] = None\n"
        "import importlib.util; find = importlib.util.find_spec\n"
        "importlib.util.find_spec = lambda name, *rest: None if name == 'torch' else find(name, *rest)\n"
        "import numpy as np, opbridge as ob\n"
        "for call in (lambda: ob.aten('relu'), lambda: ob.load('ops.yaml').leaky(np.ones(2))):\n"
        "    try: call()\n"
        "    except ob.OpbridgeError as error: print(type(error).__name__, error)\n"
    )
    said = succeed(code, cwd=tmp_path)
    lines = said.splitlines()
    assert len(lines) == 2
    assert all(line.startswith("ToolchainError") and "pip install torch" in line for line in lines)
