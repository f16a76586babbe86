"""A project as a folder for others: an ops.yaml for all frameworks, and aclnn's two phases for C++ programs."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import opbridge as ob
from opbridge.base.errors import KernelError, UnsupportedError
from opbridge.twins import ascend
from opbridge.twins.ascend.projects import Attribute, Definition, Operator, Parameter, read_project
from opbridge.twins.ascend.projects.definition import BY_CODE
from opbridge.twins.ascend.projects.exported_project import HEADERS, LIBRARIES, write
from opbridge.twins.ascend.projects.infer_shape_process import Question
from opbridge.twins.ascend.projects.shapes import formula
from opbridge.twins.ascend.projects.signature import Signature
from opbridge.waist.rules import Rules, evaluate_out
from opbridge.waist.schema import Schema

FLOAT = (BY_CODE[0],)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    project = read_project(Path(__file__).parent / "scaled_sum")
    folder = tmp_path_factory.mktemp("written")
    written = list(write(project, [Operator(project, project.definitions[0])], folder, "summing"))
    assert written == [f"{HEADERS}/aclnn_scaled_sum.h", f"{LIBRARIES}/libcust_opapi.so", "ops.yaml"]
    return folder


def test_the_manifest_says_what_the_project_does(folder: Path) -> None:
    assert (folder / "ops.yaml").read_text() == (
        "namespace: summing\n"
        "ops:\n"
        "  - func: scaled_sum(Tensor x, Tensor? y, *, float factor=1.5) -> Tensor\n"
        "    out: x\n"
        "    kernels: {ascend-twin: op_api/lib/libcust_opapi.so:opbridge_scaled_sum}\n"
    )


@pytest.mark.parametrize("framework", ["numpy", "torch", "jax", "mindspore"])
def test_every_framework_calls_it(folder: Path, framework: str) -> None:
    x, y = np.arange(1000, dtype=np.float32), np.ones(1000, np.float32)
    z = ob.load(folder / "ops.yaml").scaled_sum(_tensor(framework, x), _tensor(framework, y), factor=0.5)
    np.testing.assert_array_equal(z.asnumpy() if framework == "mindspore" else np.asarray(z), x * 0.5 + y)


def _tensor(framework: str, array: Any) -> Any:
    if framework == "torch":
        return pytest.importorskip("torch").from_numpy(array)
    if framework == "jax":
        return pytest.importorskip("jax.numpy").asarray(array)
    return pytest.importorskip("mindspore").Tensor(array) if framework == "mindspore" else array


def test_the_element_types_choose_the_kernel(folder: Path) -> None:
    scaled_sum = ob.load(folder / "ops.yaml").scaled_sum
    x = np.arange(5, dtype=np.float16)
    np.testing.assert_array_equal(scaled_sum(x, None), x * np.float16(1.5))
    with pytest.raises(KernelError, match="not defined for these elements: x double, y None, z double"):
        scaled_sum(x.astype(float), None)
    with pytest.raises(KernelError, match="ScaledSum refuses these tensors and attributes"):
        scaled_sum(np.array(1, np.float32), None)


def test_a_program_calls_it_in_two_phases(folder: Path, tmp_path: Path) -> None:
    program = tmp_path / "caller"
    libraries = folder / LIBRARIES
    subprocess.run(
        ["c++", "-std=c++17", f"-I{ascend.INCLUDE}", f"-I{folder / HEADERS}", Path(__file__).with_name("caller.cpp"),
         f"-L{libraries}", "-lcust_opapi", libraries / ascend.LIBRARY, f"-Wl,-rpath,{libraries}", "-o", program],
        check=True,
    )  # fmt: skip
    ran = subprocess.run([program], capture_output=True, text=True)
    assert ran.stdout.splitlines() == [
        "plan 0",
        "run 0",
        "10 10.5 11 11.5 12 12.5 ",
        "no input 161001",
        "gaps 161002",
        "elements 161002",
        "tiling 561002",
        "workspace 161002",
        "executor 161001",
    ]
    assert "aclnnScaledSumGetWorkspaceSize: x is null" in ran.stderr
    assert "x has gaps; the twin takes tensors without, so copy it first" in ran.stderr
    assert "aclnnScaledSum: ScaledSum needs a workspace of 16777216 bytes, and was given 0" in ran.stderr


def _definition(*, inputs: str = "x y", outputs: str = "z", attributes: str = "n") -> Definition:
    return Definition(
        "Some",
        tuple(Parameter(name, FLOAT) for name in inputs.split()),
        tuple(Parameter(name, FLOAT) for name in outputs.split()),
        tuple(Attribute(name, "int", "1") for name in attributes.split()),
        (),
        None,
    )


SHAPES = [
    "[x.shape[0], y.shape[1]]",
    "[x.shape[0], n, 3]",
    "[x.shape[0] * x.shape[1], 2 * y.shape[0]]",
    "[x.shape[0] + y.shape[0], x.shape[1] - 1]",
    "[x.shape[0] * n]",
    "x.shape[:-1] + [n]",
    "[n] + x.shape[1:]",
    "[y.shape[-1]]",
]


@pytest.mark.parametrize("rule", SHAPES)
def test_the_rule_of_a_shape_is_found_from_answers(rule: str) -> None:
    schema = Schema.parse("some(Tensor x, Tensor y, int n) -> Tensor")
    rules = Rules.parse({"out": {"shape": rule, "dtype": "float32"}}, schema)
    cases = []
    sizes_of = np.random.default_rng(0).choice(900, (4, 9), replace=False) + 100
    for rank, (n, *sizes) in zip((2, 3, 4, 4), sizes_of.tolist(), strict=True):
        shapes = (tuple(sizes[:rank]), tuple(sizes[4 : 4 + rank]))
        given = {name: np.broadcast_to(np.float32(0), shape) for name, shape in zip("xy", shapes, strict=True)}
        ((shape, _),) = evaluate_out(rules.out, schema, {**given, "n": n})
        cases.append((Question(shapes, {"n": n}), shape))
    assert formula(_definition(), cases) == rule


def test_what_no_rule_explains_has_none() -> None:
    cases = [(Question(((5, 7), (11, 13)), {"n": 3}), (83,)), (Question(((17, 19), (23, 29)), {"n": 31}), (1009,))]
    assert formula(_definition(), cases) is None


def test_outputs_without_a_rule_are_given_by_the_caller() -> None:
    definition = _definition(inputs="x lambda", outputs="x size rest")
    assert Signature(definition, {"rest": "x"}).schema() == (
        "some(Tensor(a!) x, Tensor lambda_, Tensor(b!) size, *, int n=1) -> (Tensor(a!), Tensor(b!), Tensor)"
    )


def test_lists_of_tensors_are_refused() -> None:
    some = Definition("Some", (Parameter("xs", FLOAT, is_list=True),), (), (), (), None)
    with pytest.raises(UnsupportedError, match="Some: 'xs' is a list of tensors of any length"):
        Signature(some, {})
