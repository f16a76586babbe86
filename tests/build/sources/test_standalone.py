"""Libraries of `opbridge compile` and `opbridge build -o` under MindSpore alone: opbridge is not imported there."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from forked_python import PYTHON

from opbridge.build.sources.standalone import StandaloneKernel, generate, kernels_of_source, why_not_inferred
from opbridge.cli import main
from opbridge.waist.manifest import OpSpec

SOURCE = Path(__file__).parent / "standalone_kernels.cpp"
MANIFEST = """
namespace: alone
ops:
  - func: scaled_add(Tensor x, Tensor y, *, float alpha=2.5) -> Tensor
    out: broadcast(x, y)
    derivatives: {x: grad, y: grad * alpha}
    kernels: {cpu: standalone_kernels.cpp}
  - func: >-
      describe(Tensor x, *, bool flag=True, int number=7, Scalar scalar=1.5, str text='four', float? maybe=None,
      int[2] ints=3, float[] floats=[0.25, 1], bool[] bools=[False], ScalarType type=half) -> Tensor
    out: {shape: [10], dtype: float64}
    kernels: {cpu: standalone_kernels.cpp}
  - func: split(Tensor x, *, int n=1) -> (Tensor head, Tensor tail)
    out: [{shape: [n], dtype: x.dtype}, {shape: [x.shape[0] - n], dtype: float64}]
    kernels: {cpu: standalone_kernels.cpp}
  - func: join(Tensor[] xs) -> Tensor
    out: {shape: [sum(xs[0].shape)], dtype: float32}
    kernels: {cpu: standalone_kernels.cpp}
"""
DESCRIBE = ["flag", "number", "scalar", "text", "maybe", "ints", "floats", "bools", "type"]

PLAIN_MINDSPORE = Path(__file__).parent / "plain_mindspore.py"


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("standalone")
    shutil.copy(SOURCE, folder)
    (folder / "ops.yaml").write_text(MANIFEST)
    assert main(["compile", str(folder / SOURCE.name), str(folder / "compiled.so")]) == 0
    assert main(["build", str(folder / "ops.yaml"), "-o", str(folder / "built")]) == 0
    return folder


@pytest.fixture
def run(project: Path, tmp_path: Path) -> Any:
    """Runs steps in MindSpore, in both modes, which must agree; a step's answer is its outputs or what was raised."""

    def steps_in_mindspore(library: str, *steps: dict[str, Any]) -> list[Any]:
        done = subprocess.run(
            [PYTHON, PLAIN_MINDSPORE, json.dumps([str(project / library), steps])],
            cwd=tmp_path,
            env=os.environ | {"GLOG_v": "4", "PATH": "/usr/bin:/bin"},
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        eager, graph = json.loads(done.stdout.splitlines()[-1])
        assert eager == graph
        return eager

    return steps_in_mindspore


def f32(*values: Any) -> tuple[list[Any], str]:
    return list(values), "float32"


COMPILED = "compiled.so"
BUILT = "built/standalone_kernels_cpu.so"


def step(function: str, *inputs: Any, **options: Any) -> dict[str, Any]:
    attributes = options.pop("attributes", {})
    return {"function": function, "inputs": inputs, "attributes": attributes, **options}


def test_a_compiled_source_reads_attributes_by_name(run: Any) -> None:
    like = ([3], "float32")
    x = f32(1, 2, 3)
    given = {"flag": False, "number": -4, "scalar": 2, "text": "", "maybe": 0.5, "ints": [9], "floats": [2.5]}
    given |= {"bools": [1, 0], "type": "float64"}
    doubled, whole, missing, mistyped, failing, described = run(
        COMPILED,
        step("scaled_add", x, x, attributes={"alpha": 2.0}, like=like),
        step("scaled_add", x, x, attributes={"alpha": 2}, like=like),
        step("scaled_add", x, x, like=like),
        step("scaled_add", x, x, attributes={"alpha": "two"}, like=like),
        step("scaled_add", f32(1), (["1"], "int32"), attributes={"alpha": 1.0}, like=like),
        step("describe", ([True], "bool"), attributes=given, like=([10], "float64")),
    )
    assert doubled == whole == [[[3, 6, 9], "Float32"]]
    assert missing.endswith(
        "scaled_add: attribute 'alpha' is missing; give the operator one with add_prim_attr or in its reg_info"
    )
    assert "scaled_add: attribute 'alpha' is not a float, which the kernel takes there" in mistyped
    assert "scaled_add: input 2 (params[1]) is int32 but input 1 (params[0]) is float32" in failing
    assert described == [[[1, 0, -4, 2, 0, 0.5, 9, 2.5, 1, 12], "Float64"]]


def test_a_built_manifest_brings_defaults_and_output_rules(run: Any) -> None:
    x = f32([1, 2], [3, 4])
    added, described, parts, unequal, mistyped, failing = run(
        BUILT,
        step("scaled_add", x, x),
        step("describe", ([False], "bool")),
        step("split", f32(1, 2, 3), attributes={"n": 2}, several=True),
        step("scaled_add", x, f32([1, 2, 3]), attributes={"alpha": 1.0}),
        step("split", f32(1, 2, 3), attributes={"n": 1.5}, several=True),
        step("split", f32(1, 2, 3), attributes={"n": 0}, several=True),
    )
    assert added == [[[[3.5, 7], [10.5, 14]], "Float32"]]
    assert described == [[[0, 1, 7, 1.5, 4, -1, 3, 0.25, 0, 9], "Float64"]]
    assert parts == [[[1, 2], "Float32"], [[3], "Float64"]]
    assert "alone::scaled_add: shapes [2, 2] and [1, 3] do not broadcast" in unequal
    assert "alone::split: attribute 'n' is not an int, which the kernel takes there" in mistyped
    assert "split: n is 0" in failing


def test_sizes_that_a_graph_does_not_know_yet(run: Any) -> None:
    x = f32([1, 2], [3, 4])
    answers = run(
        BUILT,
        step("scaled_add", x, x, attributes={"alpha": 1.0}, sizes=[None, 2]),
        step("scaled_add", x, x, attributes={"alpha": 1.0}, sizes=None),
        step("split", f32(1, 2, 3), attributes={"n": 1}, several=True, sizes=[None]),
    )
    assert answers[0] == answers[1] == [[[[2, 4], [6, 8]], "Float32"]]
    assert answers[2] == [[[1], "Float32"], [[2, 3], "Float64"]]


def test_attributes_are_found_in_the_text_of_a_source() -> None:
    found = {kernel.symbol: kernel.attributes for kernel in kernels_of_source(SOURCE)}
    assert found == {"scaled_add": ("alpha",), "describe": tuple(DESCRIBE), "split": ("n",), "join": ()}


def test_a_source_without_kernels_of_ours_stays_as_it_is(tmp_path: Path) -> None:
    source = tmp_path / "bare.cpp"
    source.write_text('extern "C" int f(int, void**, int*, void*, const char**, void*, void*) { return 0; }\n')
    assert kernels_of_source(source) == []
    source.write_text("// OB_KERNEL(one)\n#define MINE(f) OB_KERNEL(f, float)\nMINE(two)\n")
    assert kernels_of_source(source) == []


def test_the_generated_source_is_the_same_each_time() -> None:
    text = generate([StandaloneKernel("f", ("a", "b")), StandaloneKernel("g", ())])
    assert text.splitlines() == [
        "#include <standalone/attributes.h>",
        'static const opbridge::standalone::Attribute f_attributes[] = {{"a"}, {"b"}};',
        "OB_MINDSPORE_INIT(f, f_attributes, 2)",
        'static const opbridge::standalone::Attribute g_attributes[] = {{""}};',
        "OB_MINDSPORE_INIT(g, g_attributes, 0)",
    ]


@pytest.mark.parametrize(
    ("schema", "out", "reason"),
    [
        ("t::f(Tensor x) -> Tensor", "x", ""),
        ("t::f(Tensor(a!) x) -> Tensor(a!)", None, "it writes to its arguments"),
        ("t::f(Tensor(a!) x) -> ()", None, "it writes to its arguments"),
        ("t::f(Tensor[] xs) -> Tensor", "xs[0]", "MindSpore does not say which tensors of 'xs' a call has"),
        ("t::f(Tensor x, Tensor? y) -> Tensor", "x", "MindSpore does not say which tensors of 'y' a call has"),
    ],
)
def test_where_mindspore_has_to_be_told_the_outputs(schema: str, out: str | None, reason: str) -> None:
    assert why_not_inferred(OpSpec.create(schema, kernels={"cpu": "f.cpp"}, out=out)) == reason
