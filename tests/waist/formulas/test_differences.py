"""Every function and reduction of formulas beside PyTorch's own: at edges, of any size and layout, of every type.

What PyTorch has otherwise stands in a table of docs/formula.md, and nothing else may differ.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

import pytest
import torch
from hypothesis import Phase, given, seed, settings
from hypothesis import strategies as st
from tests.helpers.formula_differences import EDGES, differences, documented, inf, nan, pairs
from tests.helpers.formula_edges import ELEMENTS, KNOWN, has_y, is_known
from tests.helpers.formula_library import formula_library, torch_value
from tests.helpers.random_formulas import formula_texts, hold_formulas

import opbridge as ob
from opbridge.waist.formulas.functions import REDUCING
from opbridge.waist.op import OpLibrary

pytestmark = [
    pytest.mark.matrix("test_formulas.py holds a few of them, in double precision"),
    pytest.mark.filterwarnings("ignore:(var|std)..:UserWarning"),
]

TOLERANCES = {torch.float32: 2e-5, torch.float64: 1e-8, torch.float16: 2e-3, torch.bfloat16: 1.6e-2}
AXES = ("-1", "0", "[0, 1]")
PARTS, BATCH = 10, 20
BATCHES = int(os.environ.get("OPBRIDGE_RANDOM_FORMULAS", "1000")) // (PARTS * BATCH)
REDUCED: Mapping[str, str] = {
    **{
        f"{name}_{place}": f"{name}({'x > 0' if name in ('any', 'all') else 'x'}, {axes})"
        for name in REDUCING
        for place, axes in enumerate(AXES)
        if axes[0] != "[" or not name.startswith("arg")
    },
    **{name: f"{name}(x, -1)" for name in ("softmax", "log_softmax", "cumsum")},
    "across": "softmax(x, 0)",
    "kept": "x - max(x, -1, keepdim=True)",
    "corrected": "var(x, -1, correction=1)",
    "spread": "std(x, -1, correction=1)",
    "beside": "mean(x + y, -1)",
    "loss": "mean(square(x - y))",
    "weighted": "sum(x * y, -1)",
}


def _schema(namespace: str, name: str, text: str) -> str:
    return f"{namespace}::{name}({'Tensor x, Tensor y' if has_y(text) else 'Tensor x'}) -> Tensor"


@pytest.fixture(scope="module")
def elements() -> OpLibrary:
    texts = {_schema("each_function", name, text): text for name, text in ELEMENTS.items()}
    return formula_library(texts, "float, double, ob::half, ob::bfloat16")


@pytest.fixture(scope="module")
def reduced() -> OpLibrary:
    texts = {_schema("each_reduction", name, text): text for name, text in REDUCED.items()}
    return formula_library(texts, "float, double, ob::half, ob::bfloat16")


def test_what_differs_is_what_the_documentation_names() -> None:
    assert documented() == {*KNOWN}


@pytest.mark.parametrize("dtype", TOLERANCES)
@pytest.mark.parametrize("name", ELEMENTS)
def test_functions_of_elements_at_edges(elements: OpLibrary, name: str, dtype: torch.dtype) -> None:
    text = ELEMENTS[name]
    line = torch.tensor(EDGES, dtype=torch.float64).to(dtype)
    inputs = pairs(dtype) if has_y(text) else [line]
    # Gradients of narrow types may be computed from a result, which was rounded.
    least = TOLERANCES[dtype] if dtype in (torch.float16, torch.bfloat16) else 1e-40
    found = differences(elements[name], text, inputs, TOLERANCES[dtype], least=least)
    unnamed = [one for one in found if not is_known(name, one)]
    assert not unnamed, f"{len(unnamed)} differences: " + "; ".join(map(str, unnamed[:4]))


ROWS = [[1.0, nan, 3.0], [-inf, -inf, -inf], [inf, inf, 1.0], [inf, -inf, 0.0], [2.0, 2.0, 2.0], [0.0, -0.0, 1.0]]
SHAPES = ((2, 0), (0, 3), (0, 0), (1, 1), (3, 1), (3, 7), (2, 65), (5, 1000))


def _of_shape(shape: tuple[int, ...], dtype: torch.dtype, seed: int = 0) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(shape, dtype=torch.double, generator=generator).to(dtype)


@pytest.mark.parametrize("dtype", TOLERANCES)
@pytest.mark.parametrize("name", REDUCED)
def test_reductions_of_any_size_and_layout(reduced: OpLibrary, name: str, dtype: torch.dtype) -> None:
    text, tolerance = REDUCED[name], 10 * TOLERANCES[dtype]
    for shape in SHAPES:
        for x in (_of_shape(shape, dtype), _of_shape(shape[::-1], dtype).t()):
            inputs = [x, _of_shape((1, shape[1]), dtype, 1)] if has_y(text) else [x]
            _hold(reduced, name, inputs, tolerance)
    rows = torch.tensor(ROWS, dtype=torch.double).to(dtype)
    _hold(reduced, name, [rows, _of_shape((1, 3), dtype)] if has_y(text) else [rows], tolerance)


def _hold(lib: OpLibrary, name: str, inputs: list[torch.Tensor], tolerance: float) -> None:
    text, x = REDUCED[name], inputs[0]
    if x.numel() == 0 and _is_refused(text, inputs):
        with pytest.raises(ob.errors.KernelError, match="takes an axis that has elements"):
            lib[name](*inputs)
    elif x.numel() == 0 and ("softmax" in text or "logsumexp" in text):
        torch.testing.assert_close(lib[name](x), torch_value(text, {"x": x}))  # the second derivative is refused
    else:
        found = list(differences(lib[name], text, inputs, tolerance, least=tolerance))
        if x.dtype in (torch.float16, torch.bfloat16):
            found = [one for one in found if " in that of " not in one.what]  # which a framework rounds step by step
        assert not found, f"{[tuple(each.shape) for each in inputs]}: " + "; ".join(map(str, found[:4]))


def _is_refused(text: str, inputs: list[torch.Tensor]) -> bool:
    """Whether PyTorch does so."""
    try:
        torch_value(text, dict(zip("xy", inputs, strict=False)))
    except (IndexError, RuntimeError):
        return True
    return False


@pytest.mark.parametrize(
    "name",
    [name for name, text in REDUCED.items() if "-1)" in text and "y" not in text and text[:3] not in ("var", "std")],
)
def test_a_number_is_reduced_along_its_only_axis(reduced: OpLibrary, name: str) -> None:
    _hold(reduced, name, [torch.tensor(2.0)], 1e-5)


def test_integers_are_refused(elements: OpLibrary) -> None:
    with pytest.raises(ob.errors.OpbridgeError):
        elements["sin"](torch.arange(3))


@pytest.mark.parametrize("part", range(PARTS))
def test_random_formulas(part: int) -> None:
    """Compare formulas that nobody wrote: 1,000, or as many as OPBRIDGE_RANDOM_FORMULAS says."""

    @seed(part)
    @settings(max_examples=BATCHES, derandomize=False, deadline=None, database=None, phases=(Phase.generate,))
    @given(st.lists(formula_texts(), min_size=BATCH, max_size=BATCH, unique=True))
    def hold(texts: list[str]) -> None:
        hold_formulas(texts, f"random_formulas_{part}")

    hold()
