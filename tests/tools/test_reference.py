"""tools/reference.py writes the Python reference: every public function with its parameters and an example."""

from __future__ import annotations

import inspect
import re
import sys
from pathlib import Path

import pytest
from subprocesses import succeed

import opbridge as ob

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tools"))
import reference  # noqa: E402

NAMES = [name for functions in reference.FUNCTIONS.values() for name in functions]
CHEAP = ("ob.formula", "ob.load", "ob.inline")
WITH_FRAMEWORKS = ("ob.aten", "ob.autograd", "ob.module", "ob.convert")
KERNEL = """
#include <opbridge/kernel.h>
template <class T>
void scaled_add(ob::In<T> x, ob::In<T> y, ob::Out<T> out, double alpha) {
  for (int64_t i = 0; i < out.numel(); ++i) out[i] = x[i] + T(alpha) * y[i];
}
OB_KERNEL(scaled_add, float, double)
"""
MANIFEST = """
namespace: referenced
ops:
  - func: scaled_add(Tensor x, Tensor y, *, float alpha=1.0) -> Tensor
    out: x
    kernels: {cpu: scaled_add.cpp}
"""


def sections_of(name: str) -> dict[str, str]:
    return reference.sections(inspect.getdoc(reference.named(name)) or "")[1]


def test_every_public_function_is_in_a_group() -> None:
    public = {f"ob.{name}" for name in ob.__all__ if inspect.isfunction(getattr(ob, name))}
    assert public <= set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_a_function_explains_its_parameters_and_its_result(name: str) -> None:
    found = sections_of(name)
    assert found["Returns"]
    explained = re.findall(r"^(\w+): ", found["Args"], re.MULTILINE)
    parameters = list(inspect.signature(reference.named(name)).parameters)
    if name == "ob.extension":
        # The others are PyTorch's.
        assert set(explained) <= set(parameters)
    else:
        assert explained == parameters
    assert (ROOT / "docs" / f"{guide_of(name)}.md").exists()


def guide_of(name: str) -> str:
    return next(functions[name] for functions in reference.FUNCTIONS.values() if name in functions)


def test_defaults_have_their_quotes() -> None:
    assert 'device: str = "cpu"' in reference.signature("inline", ob.inline)


@pytest.mark.parametrize(
    "names",
    [CHEAP, pytest.param(WITH_FRAMEWORKS, marks=pytest.mark.matrix("tests/test_docs.py runs the guides of these"))],
)
def test_examples_print_what_they_say(names: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "scaled_add.cpp").write_text(KERNEL)
    (tmp_path / "ops.yaml").write_text(MANIFEST)
    imports = "import numpy as np\nimport opbridge as ob\n" + ("import torch\n" if names is WITH_FRAMEWORKS else "")
    program = imports + "\n".join(sections_of(name)["Example"] for name in names)
    printed = succeed(program, cwd=tmp_path)
    values = re.findall(r"^print\(.*\)  # (.*)$", program, re.MULTILINE)
    assert len(values) == len(names)
    assert all(value in printed for value in values)
