"""Every array function a formula may call gives in MindSpore what it gives in NumPy, in PyNative and in Graph mode."""

from __future__ import annotations

import re
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import opbridge as ob
from opbridge.frameworks.numpy import adapter as numpy_adapter
from opbridge.waist.rules import ARRAY_FUNCTIONS

ms = pytest.importorskip("mindspore")
from opbridge.frameworks.mindspore import formula_functions as mindspore_functions  # noqa: E402  it imports MindSpore
from opbridge.frameworks.mindspore.cell import DTYPES  # noqa: E402
from opbridge.frameworks.mindspore.generated_modules import module_of  # noqa: E402

ONE = "abs negative sign square sqrt rsqrt reciprocal exp expm1 log log1p log2 log10 sigmoid erf sin cos tan sinh cosh"
ONE += (
    " tanh asin acos atan asinh atanh floor ceil round trunc isnan isinf isfinite zeros_like ones_like matrix_transpose"
)
TWO = "add subtract multiply divide floor_divide remainder pow atan2 maximum minimum equal not_equal less less_equal"
TWO += " greater greater_equal"
REDUCTIONS = "sum prod mean max min"

CALLS = [
    *(f"{name}(x)" for name in ONE.split()),
    *(f"{name}({args})" for name in TWO.split() for args in ("x, y", "x, 0.3", "0.3, x", "x, y[0, 0]")),
    *(
        f"{name}({args})"
        for name in REDUCTIONS.split()
        for args in ("x, None, False", "x, (0, -1), True", "x, 1, False", "x[0, 0, 0], None, False")
    ),
    *(f"{name}(x, {args})" for name in ("var", "std") for args in ("None, 0, False", "(0, -1), 1, True")),
    *(
        f"{name}(x, {args})"
        for name in ("argmax", "argmin")
        for args in ("None, False", "None, True", "1, True", "-1, False")
    ),
    *(f"{name}(truth, {args})" for name in ("all", "any") for args in ("None, False", "(0, -1), True", "1, False")),
    *(f"{name}(truth, y > 0.5)" for name in ("logical_and", "logical_or", "logical_xor")),
    *(f"{name}(z)" for name in ("real", "imag", "conj")),
    *(f"{name}(x, {k})" for name in ("tril", "triu") for k in (0, 1, -1)),
    *(f"{name}((x, y), {axis})" for name in ("concat", "stack") for axis in (0, -1)),
    "conj(x)",
    "logical_not(truth)",
    "acosh(x + 1)",
    "sqrt(2.0) * x",
    "matmul(x, matrix_transpose(y))",
    "tensordot(x, permute_dims(y, (1, 2, 0)), 2)",
    "tensordot(x, y, (0, 0))",
    "where(truth, x, y)",
    "where(truth, x, 0)",
    "where(truth, 0.3, y)",
    "clip(x, 0.3, 0.6)",
    "clip(x, None, y)",
    "clip(x, y, None)",
    "cumulative_sum(x, 1)",
    "cumulative_sum(x[0, 0], None)",
    "reshape(x, (4, -1))",
    "broadcast_to(x, (5, 2, 3, 4))",
    "broadcast_to(x[:, :1], (2, 3, 4))",
    "sum_to(x, (3, 1))",
    "sum_to(x, ())",
    "sum_to(x, (2, 3, 4))",
    "permute_dims(x, (1, -1, 0))",
    "expand_dims(x, 1)",
    "expand_dims(x, -1)",
    "squeeze(x[:1, :, :1], (0, -1))",
    "squeeze(x[:1], 0)",
    "flip(x, None)",
    "flip(x, (0, -1))",
    "roll(x, 2, None)",
    "roll(x, (1, -1), (0, 2))",
    "roll(x, 5, 1)",
    "take(x, places, 1)",
    "take(x, places, -1)",
    "full_like(x, 3)",
    "zeros((2, 3), float32)",
    "ones((2, 3), int64)",
    "astype(x, float16)",
]


def arrays(dtype: Any) -> dict[str, np.ndarray]:
    x, y = np.random.default_rng(0).uniform(0.2, 0.9, (2, 2, 3, 4)).astype(dtype)
    return {"x": x, "y": y, "z": (x + 1j * y).astype(np.complex64), "truth": x > 0.5, "places": np.array([1, 0, 1])}


def text_of(calls: list[str]) -> str:
    parameters = ", ".join(arrays(np.float32))
    return "".join(f"def call_{place}({parameters}):\n    return {call}\n" for place, call in enumerate(calls))


def check(got: Any, wanted: Any, dtype: Any, call: str) -> None:
    tolerance = 2e-3 if np.float16 in (dtype, np.asarray(wanted).dtype) else 1e-5 if dtype == np.float32 else 1e-12
    assert got.shape == np.shape(wanted), call
    np.testing.assert_allclose(got.asnumpy(), wanted, rtol=tolerance, atol=tolerance, err_msg=call)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_every_function_in_pynative_mode(dtype: Any) -> None:
    owner = ModuleType("owner")
    names: dict[str, Any] = {**numpy_adapter.FUNCTIONS, **numpy_adapter.DTYPES}
    exec(text_of(CALLS), names)
    ours = module_of("functions", text_of(CALLS), {**mindspore_functions.FUNCTIONS, **DTYPES}, owner)
    inputs = arrays(dtype)
    for place, call in enumerate(CALLS):
        wanted = names[f"call_{place}"](*inputs.values())
        check(getattr(ours, f"call_{place}")(*map(ms.Tensor, inputs.values())), wanted, dtype, call)


@pytest.mark.matrix("test_formulas, and test_every_function_in_pynative_mode")
def test_every_function_in_a_graph() -> None:
    owner = ModuleType("owner")
    ours = module_of("functions", text_of(CALLS), {**mindspore_functions.FUNCTIONS, **DTYPES}, owner)
    inputs = [*map(ms.Tensor, arrays(np.float64).values())]
    calls = [getattr(ours, f"call_{place}") for place in range(len(CALLS))]

    def network(*values):  # type: ignore[no-untyped-def]
        results = []
        for call in calls:
            results.append(call(*values))
        return results

    for result, function, call in zip(ms.jit(network)(*inputs), calls, CALLS, strict=True):
        wanted = function(*inputs)
        assert result.dtype == wanted.dtype, call
        np.testing.assert_allclose(result.asnumpy(), wanted.asnumpy(), rtol=1e-12, atol=1e-15, err_msg=call)


def test_no_function_is_left_out() -> None:
    assert {name for call in CALLS for name in re.findall(r"(\w+)\(", call)} == set(ARRAY_FUNCTIONS)


FORMULAS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "x.T": lambda x: x.T,
    "x.mT @ x": lambda x: x.T @ x,
    "x[..., ::2][None, 1:]": lambda x: x[..., ::2][None, 1:],
    "reshape(x, [x.shape[0] * x.shape[1], 1]) / x.numel": lambda x: x.reshape(-1, 1) / x.size,
    "x if x.ndim == 2 and not flag else -x": lambda x: x,
    "-x // 0.3 + x % 0.3": lambda x: -x // 0.3 + x % 0.3,
    "x ** 2 + 2 ** x": lambda x: x**2 + 2**x,
    "where(x >= 0.5, sum(x, axis=-1, keepdims=True), x)": lambda x: np.where(x >= 0.5, x.sum(-1, keepdims=True), x),
    "zeros(x.shape, x.dtype) + x.shape[0]": lambda x: np.zeros_like(x) + 2,
    "aten::leaky_relu(x - 0.5, 0.1)": lambda x: np.where(x > 0.5, x - 0.5, 0.1 * (x - 0.5)),
}


PROBE = """
#include <opbridge/kernel.h>
void probe(ob::In<double> x, ob::In<double> t, ob::Out<double> out, bool flag) {
  for (int64_t i = 0; i < t.numel(); ++i) out[i] = t[i];
}
OB_KERNEL(probe)
"""


@pytest.mark.filterwarnings("ignore::opbridge.frameworks.torch.adapter.RedefinitionWarning")
@pytest.mark.cases(10)
@pytest.mark.parametrize("formula", FORMULAS)
def test_formulas(run: Callable[..., Any], formula: str) -> None:
    op = ob.inline(
        PROBE,
        schema="ms_formula::probe(Tensor x, Tensor t, *, bool flag=False) -> Tensor",
        out="t",
        derivatives={"t": formula},
    )
    probe = op.mindspore

    def network(x, t):  # type: ignore[no-untyped-def]
        return probe(x, t).sum()

    x = np.random.default_rng(0).uniform(0.2, 0.9, (2, 3))
    wanted = FORMULAS[formula](x)
    gradient = run(ms.grad(network, 1), ms.Tensor(x), ms.Tensor(np.zeros_like(wanted)))
    np.testing.assert_allclose(gradient.asnumpy(), wanted, rtol=1e-12)
