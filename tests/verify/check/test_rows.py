"""Every row: right operators pass it, and an operator that is wrong in one way fails it with a sentence that helps."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from chosen_checks import rows_of

import opbridge as ob
from opbridge.base.errors import InputError
from opbridge.verify.check import CHECKS, Row, Status, check
from opbridge.verify.check.results import INPUTS
from opbridge.waist.op import OpLibrary

ROOT = Path(__file__).parents[3]
FOLDER = Path(__file__).parent / "correct"
RIGHT = ("softplus", "affine", "product", "product_in_parts", "root", "add_", "pick", "ramp", "sum_all")
FINDS_INPUTS = "shapes"
"""Any check: each begins with inputs that the operator accepts."""
pytestmark = pytest.mark.usefixtures("forked")

BROKEN = [
    ("one_too_many", "numpy", "bounds", "writes behind its output"),
    ("one_too_few", "numpy", "bounds", "leaves 1 element of its output unwritten, the first at place 11"),
    ("first_row", "numpy", "bounds", "leaves 8 elements of its output unwritten"),
    ("scribbles", "numpy", "aliasing", "changes its input x"),
    ("counts", "numpy", "determinism", "the same call gives"),
    ("crowded", "numpy", "threads", "called from 8 threads at once it gives"),
    ("leaks", "numpy", "memory", "112 bytes are leaked by every call"),
    ("forgets_strides", "numpy", "strides", "when x is transposed"),
    ("coarse_in_half", "numpy", "dtypes", "in float16 it gives 0 instead of"),
    ("wrong_dtype", "numpy", "inputs", "refuses all inputs that were tried"),
    ("wrong_formula", "torch", "gradients", "the formula is wrong: by x["),
    ("inexact_formula", "torch", "gradients", "too inexact for float32: the gradient by x is off by"),
    ("coarse_square", "torch", "gradients", "the formula fits, the precision does not"),
    ("not_elementwise", "numpy", "shard", "correct `shard` of its declaration: it is not elementwise"),
    ("wrong_shard", "numpy", "shard", "divided along 'c' (dimension 1 of x) it gives"),
    ("wrong_reduction", "numpy", "shard", "divided along 'k' (dimension 1 of x) it gives"),
    ("wrong_names", "numpy", "shard", "divided along 'j' (dimension 1 of x) it refuses a part: "),
    ("gram", "numpy", "shard", "divided along 'b' (dimension 0 of x) it gives parts that do not fit together"),
    ("wrong_batch", "torch", "vmap", "correct `batch` of its declaration"),
]


@pytest.fixture(scope="module")
def rows(operators: OpLibrary, forked: None) -> dict[tuple[str, str, str], Row]:
    """The row of each broken operator, from one process a framework, and one that nothing else's memory is in."""
    chosen = [(operators[name], where, FINDS_INPUTS if what == INPUTS else what) for name, where, what, _ in BROKEN]
    checked = [*rows_of(chosen[:1]), *rows_of(chosen[1:])]
    return {(row.operator.removeprefix("checked::"), row.framework, row.check): row for row in checked}


@pytest.mark.parametrize(("name", "framework", "what", "words"), BROKEN, ids=[name for name, *_ in BROKEN])
def test_a_broken_operator_fails_its_row(
    rows: dict[tuple[str, str, str], Row], name: str, framework: str, what: str, words: str
) -> None:
    row = rows[name, framework, what]
    assert row.status is Status.FAILED
    assert words in row.message


def one_more(x: np.ndarray) -> np.ndarray:
    return x + 1


def test_where_memory_is_hurt_what_else_fails_is_not_advised_alone(operators: OpLibrary) -> None:
    memory, values = check(operators.one_too_few, frameworks=["numpy"], reference=one_more, checks=["bounds", "values"])
    assert (memory.check, memory.status) == ("bounds", Status.FAILED)
    assert values.message.endswith("; fix what `bounds` reports first: it may be the cause")
    alone = check(operators.one_too_few, frameworks=["numpy"], reference=one_more, checks=["values"])
    assert "mend" not in alone[0].message


@pytest.mark.cases(2)
@pytest.mark.parametrize("framework", ["numpy", "torch", "mindspore", "jax"])
def test_right_operators_pass_all_rows(operators: OpLibrary, framework: str) -> None:
    found = check([operators[name] for name in RIGHT], frameworks=[framework])
    assert [str(row) for row in found if row.failed] == []
    passed = {row.check for row in found if row.status is Status.PASSED}
    everywhere = {"dtypes", "shapes", "aliasing", "determinism", "memory", "shard"}
    own = {
        "numpy": {"manners", "bounds", "reads", "precision", "specials", "strides", "threads"},
        "torch": {"values", "gradients", "opcheck", "strides", "threads", "vmap"},
        "mindspore": {"values", "gradients"},
        "jax": {"values", "gradients", "threads", "vmap"},
    }
    assert passed == everywhere | own[framework]
    assert passed <= set(CHECKS)


@pytest.mark.parametrize("manifest", ["tests/frameworks/sharded/ops.yaml", "examples/transformer/ops.yaml"])
def test_rules_for_all_kinds_of_arguments_are_true(manifest: str) -> None:
    operators = [op for op in ob.load(ROOT / manifest) if op.spec.rules.shard is not None]
    found = check(operators, frameworks=["numpy"], checks=["shard"])
    assert [(row.operator, row.status) for row in found] == [(op.name, Status.PASSED) for op in operators]


def test_an_operator_of_pytorchs_keeps_the_integers_of_its_samples(tmp_path: Path) -> None:
    (tmp_path / "ops.yaml").write_text(
        "namespace: checkedaten\nops:\n"
        "  - func: lookup(Tensor weight, Tensor indices, SymInt padding_idx=-1, bool scale_grad_by_freq=False,"
        " bool sparse=False) -> Tensor\n"
        "    kernels: {cpu: aten::embedding}\n"
        "    samples: [{weight: {shape: [5, 4]}, indices: {data: [0, 3, 1], dtype: int64}}]\n"
    )
    found = check(ob.load(tmp_path / "ops.yaml"), frameworks=["jax"], checks=["values", "gradients", "dtypes"])
    assert [(row.check, row.status) for row in found] == [
        ("values", Status.PASSED),
        ("gradients", Status.PASSED),
        ("dtypes", Status.PASSED),
    ]


def test_each_element_type_of_the_kernel_is_named(operators: OpLibrary) -> None:
    (row,) = check(operators.affine, frameworks=["numpy"], checks=["dtypes"])
    assert row.message == "float32, float64, float16, bfloat16"
    assert row.dtypes == tuple((name, Status.PASSED) for name in row.message.split(", "))


def test_a_refused_shape_is_told_and_no_failure(operators: OpLibrary) -> None:
    (row,) = check(operators.rejects_nothing, frameworks=["numpy"], checks=["shapes"])
    assert row.status is Status.PASSED
    assert "refused: no elements" in row.message


def test_an_axis_that_pytorch_lacks_is_told_and_no_failure() -> None:
    (row,) = check(ob.load(FOLDER / "aten.yaml")["cumsum"], frameworks=["torch"], checks=["shapes"])
    assert row.status is Status.PASSED
    assert "refused: no dimensions (Dimension out of range" in row.message


def test_inputs_that_nobody_can_guess_are_asked_for(operators: OpLibrary) -> None:
    (row,) = check(operators.unguessable, frameworks=["numpy"])
    assert (row.check, row.status) == ("inputs", Status.SKIPPED)
    assert "`samples: [{mode: ...}]`" in row.message


def identity(x: object) -> object:
    return x


@pytest.mark.parametrize(
    ("reference", "right", "shown"),
    [("aten::square", True, "aten::square"), (identity, False, "test_rows.py:identity"), ("cpu", True, "for cpu")],
    ids=["aten", "function", "device"],
)
def test_values_are_held_against_a_reference(
    operators: OpLibrary, reference: str | Callable[..., object], right: bool, shown: str
) -> None:
    (row,) = check(operators.wrong_formula, frameworks=["numpy"], checks=["values"], reference=reference)
    assert row.failed is not right
    assert shown in row.message


def smooth(x: Any) -> Any:
    return np.log1p(np.exp(x))


def with_a_kink(x: Any) -> Any:
    """The same for real numbers; for complex ones it is another function."""
    return np.log1p(np.exp(np.real(x)))


@pytest.mark.parametrize(("reference", "is_exact"), [(smooth, True), (with_a_kink, False)])
def test_a_function_of_complex_numbers_measures_exactly(
    operators: OpLibrary, reference: Callable[..., object], is_exact: bool
) -> None:
    (row,) = check(operators.softplus, frameworks=["torch"], checks=["gradients"], reference=reference)
    assert row.status is Status.PASSED
    assert ("right by complex step" in row.message) is is_exact


def test_each_operator_of_a_library_has_its_own_reference(operators: OpLibrary) -> None:
    several = [operators.softplus, operators.wrong_formula]
    references = {"softplus": "aten::softplus", "wrong_formula": np.abs}
    rows = check(several, frameworks=["numpy"], checks=["values"], reference=references)
    assert [row.status for row in rows] == [Status.PASSED, Status.FAILED]
    with pytest.raises(InputError, match=r"no operator 'softpluss'\s+did you mean 'softplus'"):
        check(several, frameworks=["numpy"], reference={"softpluss": np.abs})


def test_what_had_nothing_to_compare_is_no_pass(operators: OpLibrary) -> None:
    rows = check(operators.sum_all, frameworks=["numpy"], checks=["values", "precision"])
    assert (rows[0].check, rows[0].status) == ("values", Status.UNCHECKED)
    assert "nothing to compare with; name a reference" in rows[0].message


def test_what_no_framework_can_be_given_is_said_once(operators: OpLibrary) -> None:
    rows = check(operators.wrong_dtype, frameworks=["numpy", "torch"], checks=["values", "strides"])
    assert [row.check for row in rows] == ["inputs", "inputs"]
    said, again = sorted((row.message for row in rows), key=len, reverse=True)
    assert said.startswith("refuses all inputs that were tried")
    assert again in ("as in numpy", "as in torch")
