"""A backend's own operators in MindSpore and JAX, against PyTorch."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import jax
import mindspore as ms
import numpy as np
import pytest
import torch

from opbridge.codegen.generator import sources
from opbridge.codegen.inputs import Inputs, Wish

GRADED = Path(__file__).parent / "data" / "gradients"
DECLARED = [GRADED / "native.yaml", GRADED / "derivatives.yaml"]

x = np.linspace(-1, 2, 6, dtype=np.float32).reshape(2, 3)
y = np.linspace(1, 3, 6, dtype=np.float32).reshape(2, 3)


@pytest.fixture(scope="module")
def modules(
    build_backend: Callable[[Mapping[str, str]], Path], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, ModuleType]]:
    files = sources(Inputs.read(DECLARED, Wish(key="CPU")).backend())
    cpp = {name: text for name, text in files.items() if name.endswith((".cpp", ".h"))}
    torch.ops.load_library(build_backend({**cpp, "kernels.cpp": (GRADED / "kernels.cpp").read_text()}))
    package = tmp_path_factory.mktemp("python") / "graded_ops"
    package.mkdir()
    for name in ("__init__", "mindspore_cells", "jax_functions"):
        (package / f"{name}.py").write_text(files[f"python/graded_ops/{name}.py"])
    sys.path.insert(0, str(package.parent))
    yield {name: importlib.import_module(f"graded_ops.{name}") for name in ("mindspore_cells", "jax_functions")}
    sys.path.remove(str(package.parent))


@pytest.fixture
def cells(modules: dict[str, ModuleType]) -> Any:
    return modules["mindspore_cells"]


@pytest.fixture
def functions(modules: dict[str, ModuleType]) -> Any:
    return modules["jax_functions"]


def same(result: Any, expected: Any) -> None:
    np.testing.assert_allclose(np.asarray(result), np.asarray(expected), rtol=1e-6, atol=1e-6)


def test_a_cell_computes_and_differentiates(cells: Any) -> None:
    product = cells.Product()
    same(product(ms.Tensor(x), ms.Tensor(y)), x * y)
    to_x, to_y = ms.grad(product, (0, 1))(ms.Tensor(x), ms.Tensor(y))
    same(to_x, y)
    same(to_y, x)


def test_a_cell_has_attributes_and_several_outputs(cells: Any) -> None:
    values, places = cells.Top(k=2)(ms.Tensor(x))
    same(values, torch.from_numpy(x).topk(2).values)
    assert places.dtype == ms.int64
    gradient = ms.grad(lambda x: cells.Top(k=1)(x)[0])(ms.Tensor(x))
    same(gradient, x == x.max(1, keepdims=True))


def test_a_cell_leaves_out_what_is_optional(cells: Any) -> None:
    gradient = ms.grad(cells.Picked())(ms.Tensor(x), ms.Tensor(np.array([1, 1])))
    same(gradient, np.array([[0, 0, 0], [2, 2, 2]]))
    same(cells.Joined(mode="twice")((ms.Tensor(x), ms.Tensor(y))), 2 * (x.sum() + y.sum()))


def test_a_function_computes_under_jit(functions: Any) -> None:
    same(jax.jit(functions.product)(x, y), x * y)
    same(jax.jit(functions.top, static_argnums=1)(x, 2)[0], torch.from_numpy(x).topk(2).values)
    same(functions.joined([x, y], mode="twice"), 2 * (x.sum() + y.sum()))
    same(jax.vmap(functions.square)(x), x * x)


def test_a_function_differentiates(functions: Any) -> None:
    to_x, to_y = jax.grad(lambda a, b: functions.product(a, b).sum(), (0, 1))(x, y)
    same(to_x, y)
    same(to_y, x)
    same(jax.jit(jax.grad(lambda a: functions.top(a, 1)[0].sum()))(x), x == x.max(1, keepdims=True))
    same(jax.grad(lambda a: functions.picked(a, np.array([1, 1])).sum())(x), np.array([[0, 0, 0], [2, 2, 2]]))


def test_only_what_runs_on_the_cpu_is_offered() -> None:
    assert not [name for name in sources(Inputs.read(DECLARED, Wish()).backend()) if "mindspore" in name]
