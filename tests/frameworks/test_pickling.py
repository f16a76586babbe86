"""Views go where pickles and copies go, whatever type a framework has for them."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from subprocesses import opened

import opbridge as ob
from opbridge.frameworks import FRAMEWORKS, Framework, installed

SOURCE = """
#include <opbridge/kernel.h>
void twice(ob::In<float> x, ob::Out<float> out) { for (int64_t i = 0; i < x.numel(); ++i) out[i] = 2 * x[i]; }
OB_KERNEL(twice)
"""
Form = Callable[[], ob.Op]
FORMS: dict[str, Form] = {
    "a kernel": lambda: ob.inline(SOURCE, schema="pickled::twice(Tensor x) -> Tensor", out="x"),
    "an overload": lambda: ob.inline(SOURCE, schema="pickled::twice.of(Tensor x) -> Tensor", out="x"),
    "of PyTorch": lambda: ob.aten("leaky_relu"),
    "an overload of PyTorch": lambda: ob.aten("add.Tensor"),
}


MANIFEST = """
namespace: pickled_library
ops:
  - func: twice(Tensor x) -> Tensor
    out: x
    kernels: {cpu: twice.cpp}
"""


@pytest.fixture
def library(tmp_path: Path) -> ob.OpLibrary:
    (tmp_path / "twice.cpp").write_text(SOURCE)
    (tmp_path / "ops.yaml").write_text(MANIFEST)
    loaded = ob.load(tmp_path / "ops.yaml")
    assert isinstance(loaded, ob.OpLibrary)
    return loaded


def viewed(form: str, row: Framework) -> tuple[ob.Op, Any]:
    if not installed(row) or ("PyTorch" in form and not (row.runs_aten and installed(FRAMEWORKS["torch"]))):
        pytest.skip(f"{row.name} has no such operator here")
    op = FORMS[form]()
    return op, getattr(op, row.name)


@pytest.mark.parametrize("row", FRAMEWORKS.values(), ids=FRAMEWORKS)
@pytest.mark.parametrize("form", FORMS)
def test_a_pickled_view_is_the_view(form: str, row: Framework) -> None:
    op, view = viewed(form, row)
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        assert pickle.loads(pickle.dumps(view, protocol)) is view
    assert pickle.loads(pickle.dumps([view, op, view])) == [view, op, view]


@pytest.mark.parametrize("row", FRAMEWORKS.values(), ids=FRAMEWORKS)
@pytest.mark.parametrize("form", FORMS)
def test_a_view_is_copied(form: str, row: Framework) -> None:
    _, view = viewed(form, row)
    for made in (copy.copy(view), copy.deepcopy(view)):
        assert type(made) is type(view)
        # A network's copy has a Cell of its own, for its own casts and hooks.
        assert made is view or row.name == "mindspore"


def test_a_library_is_pickled_and_copied(library: ob.OpLibrary) -> None:
    again = pickle.loads(pickle.dumps(library))
    assert list(again) == list(library)
    assert again.twice is library.twice
    assert copy.copy(library) is copy.deepcopy([library])[0] is library


def test_another_process_opens_a_pickled_library(library: ob.OpLibrary) -> None:
    assert opened(library, "import numpy; print(thing.twice(numpy.ones(2, 'f')).tolist())") == "[2.0, 2.0]\n"


def test_another_process_opens_a_pickled_view() -> None:
    view = FORMS["a kernel"]().numpy
    assert opened(view, "import numpy; print(thing(numpy.ones(2, 'f')).tolist())") == "[2.0, 2.0]\n"


def test_a_view_of_what_was_defined_again_is_that_of_the_new_definition() -> None:
    old = FORMS["a kernel"]().numpy
    op = ob.inline(SOURCE + "\n", schema="pickled::twice(Tensor x) -> Tensor", out="x")
    assert op.numpy is not old
    assert pickle.loads(pickle.dumps(old)) is op.numpy


def test_a_copy_of_a_cell_keeps_its_casts() -> None:
    ms = pytest.importorskip("mindspore")
    op = FORMS["a kernel"]()
    cell = copy.copy(op.mindspore).to_float(ms.float32)
    again = pickle.loads(pickle.dumps(cell))
    assert again is not op.mindspore
    half = ms.Tensor(np.ones(2, np.float16))
    assert again(half).dtype == cell(half).dtype == ms.float32


def test_what_is_not_ours_is_pickled_as_pytorch_does() -> None:
    torch = pytest.importorskip("torch")
    view = FORMS["an overload of PyTorch"]().torch
    with pytest.raises(RuntimeError, match="not pickleable"):
        pickle.dumps(torch.ops.aten.mul.Tensor)
    assert pickle.loads(pickle.dumps(view)) is view
