"""PyTorch where nothing can compile the native adapter: operators go by torch.library, slower and never wrong.

`make uncompiled` runs the tests of transforms, compilation and gradients this way too.
"""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest
from tests.helpers.subprocesses import succeed

from opbridge.build.toolchains import BuildRequest, build

KERNELS = """
#include <opbridge/kernel.h>
template <class T>
void product(ob::In<T> x, ob::In<T> y, ob::Out<T> out) {
  for (int64_t i = 0; i < out.numel(); ++i) out[i] = x[i] * y[i];
}
OB_KERNEL(product, float, double)

void halves(ob::In<float> x, ob::Out<float> low, ob::Out<float> high) {
  for (int64_t i = 0; i < x.numel(); ++i) low[i] = x[i] / 2, high[i] = x[i] * 2;
}
OB_KERNEL(halves)

void scale_(ob::InOut<float> x, double factor) {
  for (int64_t i = 0; i < x.numel(); ++i) x[i] *= factor;
}
OB_KERNEL(scale_)
"""
MANIFEST = """
namespace: nocompiler
ops:
  - func: product(Tensor x, Tensor y) -> Tensor
    kernels: {cpu: "kernels.so"}
    out: x
    derivatives: {x: grad * y, y: grad * x}
    batch: elementwise
  - func: halves(Tensor x) -> (Tensor low, Tensor high)
    kernels: {cpu: "kernels.so"}
    out: [x, x]
    derivatives: {x: grad_low / 2 + grad_high * 2}
  - func: scale_(Tensor(a!) x, float factor) -> Tensor(a!)
    kernels: {cpu: "kernels.so:scale_"}
"""
BEGIN = """
import warnings
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    import numpy as np, torch, opbridge as ob
    lib = ob.load("ops.yaml")
said = [str(one.message) for one in said if "torch.library" in str(one.message)]
"""


@pytest.fixture(scope="module")
def without_compiler(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], str]:
    """Runs a program beside the library's manifest, on a machine with nothing but Python."""
    folder = tmp_path_factory.mktemp("nocompiler")
    (folder / "kernels.cpp").write_text(KERNELS)
    built = build(BuildRequest((folder / "kernels.cpp",), "kernels.so"))
    (folder / "kernels.so").write_bytes(built.path.read_bytes())
    (folder / "ops.yaml").write_text(MANIFEST)

    def run(code: str) -> str:
        nothing = {"PATH": str(folder), "HOME": str(folder), "OPBRIDGE_CACHE_DIR": str(folder / "cache")}
        environment = {name: value for name, value in os.environ.items() if name not in ("CXX", "CC")} | nothing
        return succeed(BEGIN + code, cwd=folder, env=environment, timeout=300)

    return run


def test_it_is_said_once_with_the_reason(without_compiler: Callable[[str], str]) -> None:
    said = without_compiler("print(len(said), said[0])")
    assert said.startswith(
        "1 operators run in PyTorch by torch.library, slower than compiled, because the native adapter"
    )
    assert "no C++ compiler" in said


def test_all_of_pytorch_applies(without_compiler: Callable[[str], str]) -> None:
    without_compiler("""
from torch.autograd import gradcheck, gradgradcheck
x, y = (torch.randn(3, 4, dtype=torch.float64, requires_grad=True) for _ in range(2))
with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # of PyTorch's own, where it reads its decompositions
    assert gradcheck(lib.product, (x, y), check_forward_ad=True, check_batched_grad=True)
assert gradgradcheck(lib.product, (x, y))
torch.testing.assert_close(torch.vmap(lib.product, (0, None))(x, y[0]), x * y[0])
hessian = torch.func.hessian(lambda a: lib.product(a, a).sum())(y[0].detach())
torch.testing.assert_close(hessian, 2 * torch.eye(4, dtype=torch.float64))
step = torch.compile(lambda x: lib.product(x, x).sum(), fullgraph=True, dynamic=True, backend="aot_eager")
torch.testing.assert_close(torch.autograd.grad(step(x), x)[0], 2 * x)
torch.library.opcheck(torch.ops.nocompiler.product.default, (x, y))
low, high = lib.halves(torch.ones(3))
assert low.tolist() == [0.5] * 3 and high.tolist() == [2] * 3
assert lib.product(torch.empty(3, device="meta"), torch.empty(3, device="meta")).is_meta
with torch.autocast("cpu"):
    assert lib.product(torch.ones(2).half(), torch.ones(2)).dtype == torch.float32
""")


def test_writes_arrive_and_have_no_gradient(without_compiler: Callable[[str], str]) -> None:
    without_compiler("""
x = torch.ones(3)
assert lib.scale_(x, 2.0) is x and x.tolist() == [2, 2, 2]
try:
    lib.scale_(torch.ones(3, requires_grad=True) * 1, 2.0)
except ob.errors.UnsupportedError as error:
    assert "writes to its argument, which has a gradient where the native adapter is compiled" in str(error)
else:
    raise AssertionError
""")


def test_numpy_is_as_it_was(without_compiler: Callable[[str], str]) -> None:
    without_compiler("assert lib.product(np.full(2, 3.0), np.full(2, 2.0)).tolist() == [6, 6]")


def test_operators_of_pytorchs_own_take_the_adapter(without_compiler: Callable[[str], str]) -> None:
    without_compiler("""
try:
    ob.aten("relu")(np.ones(3, np.float32))
except ob.errors.ToolchainError as error:
    assert "no C++ compiler" in str(error)
else:
    raise AssertionError
""")


def test_an_operator_may_be_defined_again(without_compiler: Callable[[str], str]) -> None:
    without_compiler("""
f = ob.load("kernels.so:product", schema="again::f(Tensor x, Tensor y) -> Tensor", out="x")
assert f(torch.ones(2), torch.ones(2)).tolist() == [1, 1]
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    f = ob.load("kernels.so:product", schema="again::f(Tensor a, Tensor b) -> Tensor", out="a")
assert "again::f was defined again with another schema" in str(said[0].message)
assert f(a=torch.ones(2), b=torch.ones(2) * 2).tolist() == [2, 2]
""")


def test_rules_said_again_are_those_that_count(without_compiler: Callable[[str], str]) -> None:
    without_compiler("""
x = torch.ones(2, requires_grad=True)
for factor in (2, 3):
    f = ob.load("kernels.so:product", schema="ruled::f(Tensor x, Tensor y) -> Tensor", out="x",
                derivatives={"x": f"{factor} * grad"}, batch="elementwise")
    (grad,) = torch.autograd.grad(f(x, torch.ones(2)).sum(), x)
    assert grad.tolist() == [factor] * 2
""")
