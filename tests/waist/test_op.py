"""What a user holds: an operator, and a library of them."""

from __future__ import annotations

import ast
import copy
import inspect
import pickle
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import opbridge as ob
import opbridge.waist.op
from opbridge.base.errors import CallError, ManifestError, NoSuchFrameworkError, OpbridgeError, SchemaError
from opbridge.frameworks import FRAMEWORKS

KERNELS = """
#include <opbridge/kernel.h>

template <class T>
void shift(ob::In<T> x, ob::Out<T> out, double by, ob::Ints steps) {
  for (int64_t i = 0; i < x.numel(); ++i) out[i] = x[i] + T(by) + T(steps[0]);
}
OB_KERNEL(shift, float, double)

void shift_int(ob::In<int64_t> x, ob::Out<int64_t> out, int64_t by) {
  for (int64_t i = 0; i < x.numel(); ++i) out[i] = x[i] + by;
}
OB_KERNEL(shift_int)
"""

MANIFEST = """
namespace: test_op
ops:
  - func: shift(Tensor x, float by=1.0, *, int[1] steps=0) -> Tensor
    out: x
    kernels: {cpu: kernels.cpp}
  - func: shift.int(Tensor x, int by) -> Tensor
    out: x
    kernels: {cpu: "kernels.cpp:shift_int"}
  - func: only.integers(Tensor x, int by) -> Tensor
    out: x
    kernels: {cpu: "kernels.cpp:shift_int"}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("library")
    (folder / "kernels.cpp").write_text(KERNELS)
    (folder / "ops.yaml").write_text(MANIFEST)
    return folder


@pytest.fixture(scope="module")
def lib(folder: Path) -> ob.OpLibrary:
    library = ob.load(folder / "ops.yaml")
    assert isinstance(library, ob.OpLibrary)
    return library


def test_an_operator_shows_its_signature(lib: ob.OpLibrary) -> None:
    assert (
        str(inspect.signature(lib.shift)) == "(x: 'Tensor', by: 'float' = 1.0, *, steps: 'int[1]' = (0,)) -> 'Tensor'"
    )
    assert repr(lib.shift) == "<Op test_op::shift(Tensor x, float by=1.0, *, int[1] steps=0) -> Tensor>"
    assert lib.shift.__doc__ == "test_op::shift(Tensor x, float by=1.0, *, int[1] steps=0) -> Tensor"


def test_an_operator_is_called_with_arrays(lib: ob.OpLibrary) -> None:
    assert lib.shift(np.zeros(2)).tolist() == [1, 1]
    assert lib.shift(np.zeros(2, np.float32), 2, steps=[3]).tolist() == [5, 5]


def test_overloads_are_found_by_their_full_name(lib: ob.OpLibrary) -> None:
    assert lib["shift.int"](np.zeros(2, np.int64), 7).tolist() == [7, 7]
    assert lib.only is lib["only.integers"], "a name with one overload needs no more"
    assert len(lib) == len(list(lib)) == 3
    assert "shift.int" in lib
    assert "nothing" not in lib
    assert {"shift", "load"} - set(dir(lib)) == {"load"}
    assert len(dir(lib)) == len(set(dir(lib))), "also what was asked for once"
    assert len(dir(lib.shift)) == len(set(dir(lib.shift)))


def test_an_unknown_operator_is_guessed_at(lib: ob.OpLibrary) -> None:
    with pytest.raises(CallError, match="library 'test_op' has no operator 'shfit'; did you mean 'shift'"):
        lib["shfit"]
    assert not hasattr(lib, "shfit"), "what asks politely gets an AttributeError"
    with pytest.raises(AttributeError):
        lib.__wrapped__  # noqa: B018 - as inspect and mock do


def test_copies_are_the_operator_itself(lib: ob.OpLibrary) -> None:
    assert copy.copy(lib.shift) is lib.shift
    assert copy.deepcopy({"op": lib.shift})["op"] is lib.shift
    assert pickle.loads(pickle.dumps(lib.shift)) is lib.shift


def test_loading_again_changes_the_operator_for_all_who_hold_it(folder: Path) -> None:
    def load(factor: int) -> ob.Op:
        source = f"""
            #include <opbridge/kernel.h>
            void scale(ob::In<double> x, ob::Out<double> out) {{ out[0] = {factor} * x[0]; }}
            OB_KERNEL(scale)
        """
        return ob.inline(source, schema="test_op::scale(Tensor x) -> Tensor", out="x")

    first = load(2)
    assert first(np.ones(1)) == 2
    second = load(3)
    assert second is first
    assert first(np.ones(1)) == 3
    assert first.numpy(np.ones(1)) == 3


@pytest.mark.parametrize(
    ("load", "error", "says"),
    [
        (lambda: ob.load("nowhere.yaml"), ManifestError, "no such file: .*nowhere.yaml"),
        (lambda: ob.load("kernels.cpp"), CallError, r"needs a schema, such as schema=\"mylib::kernels"),
        (lambda: ob.load("ops.yaml", schema="f(Tensor x) -> Tensor"), CallError, "schema belongs in the manifest"),
        (lambda: ob.load("kernels.cpp", schema="f(Tensor x) -> Tensor", out="x"), SchemaError, "needs a namespace"),
        (lambda: ob.load("none.cpp", schema="n::f(Tensor x) -> Tensor", out="x"), ManifestError, "no such file"),
        (lambda: ob.load("f.cpp", schema="n::f(Tensor x) -> Tensor", out="x", device="gpu"), OpbridgeError, "'gpu'"),
        (lambda: ob.aot("custom_add", schema="n::f(Tensor x) -> Tensor"), CallError, "custom_add.so:CustomAdd"),
        (lambda: ob.inline("int x", schema="n::f(Tensor x) -> Tensor", out="x"), OpbridgeError, "f.cpp:1"),
    ],
)
def test_what_cannot_be_loaded_says_why(load: Callable[[], object], error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says) as raised:
        load()
    assert isinstance(raised.value, OpbridgeError)


def test_a_call_without_tensors_says_what_was_expected(lib: ob.OpLibrary) -> None:
    with pytest.raises(CallError, match=r"expected tensors of one framework .* got int, float") as raised:
        lib.shift(1, 2.0)
    assert "op.torch, op.numpy, op.mindspore, op.jax" in str(raised.value)


def test_it_has_a_view_for_every_row_of_the_table(lib: ob.OpLibrary) -> None:
    assert {*FRAMEWORKS} <= {*dir(lib.shift)}
    assert lib.shift.numpy is lib.shift.numpy


def test_what_editors_are_told_of_its_views_is_the_table() -> None:
    (op,) = (node for node in ast.parse(inspect.getsource(opbridge.waist.op)).body if getattr(node, "name", "") == "Op")
    assert isinstance(op, ast.ClassDef)
    (branch,) = (node for node in op.body if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING")
    assert [node.name for node in branch.body if isinstance(node, ast.FunctionDef)] == [*FRAMEWORKS]


def test_a_framework_there_is_none_of_is_a_missing_attribute(lib: ob.OpLibrary) -> None:
    assert not hasattr(lib.shift, "onnx")
    with pytest.raises(NoSuchFrameworkError, match="no framework 'mindsprore'; did you mean 'mindspore'"):
        lib.shift.mindsprore(1)
