"""Every function at NaN, infinities and zeros of both signs: on the CPU with vectors of two widths, and in the twins.

test_differences.py, which takes minutes, holds gradients and other types too.
"""

from __future__ import annotations

import pytest
import torch
from tests.helpers.formula_differences import differences_of_values, pairs
from tests.helpers.formula_edges import ELEMENTS, is_known
from tests.helpers.formula_library import formula_library

from opbridge.waist.formulas.ascend_functions import REFUSED

_EACH = 18
"""Outputs of one kernel: on a GPU it has at most 24 tensors."""
_INSTRUCTIONS = {"avx2": "x86-64-v3", "avx512": "x86-64-v4"}


def _groups(device: str) -> list[list[str]]:
    names = [name for name in ELEMENTS if device != "ascend-twin" or name not in REFUSED]
    return [names[start : start + _EACH] for start in range(0, len(names), _EACH)]


def _found(device: str, namespace: str) -> list[str]:
    """What differs, by one compilation."""
    groups, inputs = _groups(device), pairs(torch.float32)
    texts = {
        f"{namespace}::f{place}(Tensor x, Tensor y) -> ({', '.join(['Tensor'] * len(names))})": ", ".join(
            ELEMENTS[name] for name in names
        )
        for place, names in enumerate(groups)
    }
    lib = formula_library(texts, "float", device, has_gradients=False)
    values = {
        name: value
        for place, names in enumerate(groups)
        for name, value in zip(names, lib[f"f{place}"](*inputs), strict=True)
    }
    return [
        str(difference)
        for name, value in values.items()
        for difference in differences_of_values(ELEMENTS[name], value, inputs, 2e-5)
        if not is_known(name, difference)
    ]


@pytest.mark.parametrize("width", _INSTRUCTIONS)
def test_on_a_cpu_with_vectors_of_either_width(width: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if width.upper() not in (best := torch.backends.cpu.get_cpu_capability(), best.replace("AVX512", "AVX2")):
        pytest.skip(f"this processor has no {width}")
    monkeypatch.setenv("OPBRIDGE_MARCH", _INSTRUCTIONS[width])
    assert _found("cpu", f"edges_{width}") == []


@pytest.mark.cases(1)
@pytest.mark.parametrize("device", ["cuda-twin", "ascend-twin"])
def test_in_a_twin(device: str) -> None:
    assert _found(device, f"edges_{device.replace('-', '_')}") == []
