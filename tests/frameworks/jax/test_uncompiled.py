"""JAX where nothing can compile the handler: the same by callbacks; `make uncompiled` runs the other tests so."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import opbridge as ob
from opbridge.base.errors import KernelError, ToolchainError
from opbridge.frameworks.jax import handler, uncompiled

X = np.linspace(-2, 2, 6, dtype=np.float32).reshape(2, 3)

OPS = """\
#include <opbridge/kernel.h>
void cubed(ob::In<float> x, ob::Out<float> out) {
  OB_CHECK(x.numel() < 100, "too many elements");
  for (int64_t i = 0; i < out.numel(); ++i) out[i] = x[i] * x[i] * x[i];
}
OB_KERNEL(cubed)
void add_to(ob::InOut<float> x, ob::In<float> y, ob::Out<int64_t> count) {
  for (int64_t i = 0; i < x.numel(); ++i) x[i] += y[i];
  count[0] = x.numel();
}
OB_KERNEL(add_to)
"""
MANIFEST = """\
namespace: uncompiled_jax
ops:
  - func: cubed(Tensor x) -> Tensor
    kernels: {cpu: ops.cpp}
    out: x
    derivatives: {x: grad * 3 * x * x}
    batch: elementwise
  - func: add_to(Tensor(a!) x, Tensor y) -> (Tensor(a!), Tensor)
    kernels: {cpu: ops.cpp}
    out: {shape: [1], dtype: int64}
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ob.OpLibrary]:
    folder: Path = tmp_path_factory.mktemp("uncompiled")
    (folder / "ops.cpp").write_text(OPS)
    (folder / "ops.yaml").write_text(MANIFEST)
    with pytest.MonkeyPatch.context() as patch:
        # A machine without a compiler.
        patch.setattr(handler, "_missing", [ToolchainError("no C++ compiler, as the test has it")])
        uncompiled.say_once.cache_clear()
        yield ob.load(folder / "ops.yaml")


@pytest.fixture(scope="module")
def cubed(library: ob.OpLibrary) -> Any:
    with pytest.warns(
        uncompiled.UncompiledWarning, match="by callbacks, slower than compiled(.|\n)*no C\\+\\+ compiler"
    ):
        return library.cubed.jax


def test_a_call_with_and_without_jit(cubed: Any) -> None:
    np.testing.assert_allclose(cubed(jnp.asarray(X)), X**3, rtol=1e-6)
    np.testing.assert_allclose(jax.jit(cubed)(X), X**3, rtol=1e-6)


def test_gradients_of_both_modes_and_the_second_order(cubed: Any) -> None:
    x = jnp.asarray(X[0])
    np.testing.assert_allclose(jax.jit(jax.grad(lambda x: cubed(x).sum()))(x), 3 * X[0] ** 2, rtol=1e-6)
    np.testing.assert_allclose(jax.jacfwd(cubed)(x), np.diag(3 * X[0] ** 2), rtol=1e-6)
    np.testing.assert_allclose(jax.hessian(lambda x: cubed(x).sum())(x), np.diag(6 * X[0]), rtol=1e-6)


def test_batches(cubed: Any) -> None:
    np.testing.assert_allclose(jax.jit(jax.vmap(cubed, in_axes=1, out_axes=1))(X), X**3, rtol=1e-6)


def test_what_is_written_to_comes_back_and_stays_what_it_was(library: ob.OpLibrary) -> None:
    x = jnp.asarray(X)
    added, count = library.add_to.jax(x, jnp.ones_like(x))
    np.testing.assert_array_equal(added, X + 1)
    np.testing.assert_array_equal(x, X)
    assert (count.tolist(), count.dtype) == ([6], jnp.int32)  # narrowed, as JAX narrows its own


def test_what_a_kernel_refuses_is_its_sentence(cubed: Any) -> None:
    with pytest.raises(KernelError, match="uncompiled_jax::cubed: too many elements") as failure:
        cubed(jnp.ones(200))
    assert "Traceback" not in str(failure.value)
