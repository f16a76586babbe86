"""The Python files of a wheel: that they are Python, whatever the schemas, and that a type checker reads them right."""

from __future__ import annotations

import ast
import inspect
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opbridge.authoring.wheel.python_code import documentation, function_names, module, stub
from opbridge.waist.manifest import Manifest, OpSpec

TEXT = """\
namespace: m
ops:
  - func: scaled_add(Tensor x, Tensor y, *, float alpha=1.0) -> Tensor
    out: x
    kernels: {cpu: k.cpp, cuda: k.cu}
    derivatives: {x: grad, y: grad * alpha}
    batch: elementwise
  - func: scaled_add.out(Tensor x, Tensor y, *, float alpha=1.0, Tensor(a!) out) -> Tensor(a!)
    kernels: {cpu: "k.cpp:scaled_add_out"}
  - func: largest(Tensor x) -> (Tensor value, Tensor place)
    out: [{shape: "x.shape[:-1]", dtype: x.dtype}, {shape: "x.shape[:-1]", dtype: int64}]
    kernels: {cpu: k.cpp}
  - func: relu(Tensor x) -> Tensor
    kernels: {cpu: "aten::relu"}
  - func: count_up(int n, *, float start=0.0) -> Tensor
    out: {shape: [n], dtype: float64}
    kernels: {cpu: k.cpp}
  - func: note(Tensor[] xs, Tensor? y=None, int[2] size=1, ScalarType? type=None) -> ()
    kernels: {cpu: k.cpp}
"""


@pytest.fixture(scope="module")
def ops() -> Sequence[OpSpec]:
    return Manifest.parse(TEXT).ops


@pytest.mark.parametrize(
    ("index", "expected"),
    [
        (0, "The result is like x.\nIt has a gradient for x and y.\nUnder vmap: elementwise.\nRuns on cpu and cuda."),
        (1, "It writes to out.\nIt has no gradient.\nRuns on cpu."),
        (
            2,
            "Of the results, value is of shape x.shape[:-1] and dtype x.dtype; "
            "place is of shape x.shape[:-1] and dtype int64.\nIt has no gradient.\nRuns on cpu.",
        ),
        (3, "It is PyTorch's aten::relu, with its gradient and on its devices."),
        (5, "It has no gradient.\nRuns on cpu."),
    ],
)
def test_the_documentation_says_what_the_rules_say(ops: Sequence[OpSpec], index: int, expected: str) -> None:
    assert documentation(ops[index]) == f"{ops[index].schema}\n\n{expected}"


@pytest.mark.parametrize(
    ("name", "signature"),
    [
        ("scaled_add", "(self, x: _Tensor, y: _Tensor, *, alpha: float=1.0) -> _Tensor"),
        ("scaled_add_out", "(self, x: _Tensor, y: _Tensor, *, alpha: float=1.0, out: _Tensor) -> _Tensor"),
        ("largest", "(self, x: _Tensor) -> tuple[_Tensor, _Tensor]"),
        ("count_up", "(self, n: int, *, start: float=0.0) -> Any"),
        (
            "note",
            "(self, xs: Sequence[_Tensor], y: _Tensor | None=None, size: int | Sequence[int]=..., "
            "type: Any | None=None) -> None",
        ),
    ],
)
def test_the_types(ops: Sequence[OpSpec], name: str, signature: str) -> None:
    tree = ast.parse(stub("m", function_names(ops)))
    (declared,) = (node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == f"_{name}")
    (call,) = declared.body
    assert isinstance(call, ast.FunctionDef)
    assert call.returns is not None
    assert f"({ast.unparse(call.args)}) -> {ast.unparse(call.returns)}" == signature


def test_names_that_python_or_the_files_have_taken() -> None:
    names = ("lambda", "Any", "_library", "match")
    text = "".join(f"  - {{func: {name}(Tensor x) -> Tensor, kernels: {{cpu: 'aten::relu'}}}}\n" for name in names)
    found = function_names(Manifest.parse(f"namespace: m\nops:\n{text}").ops)
    assert list(found) == ["lambda_", "Any_", "_library_", "match"]


TYPES = ("Tensor", "Tensor?", "Tensor[]", "Tensor?[]", "int", "float[]", "bool?", "Scalar", "ScalarType", "Device")
ARGUMENT_NAMES = st.sampled_from(("x", "y", "self", "from", "lambda", "Any", "async", "await"))
QUOTED = st.text(st.sampled_from("\\\"'ab\n "), max_size=6)


@st.composite
def schemas(draw: st.DrawFn) -> str:
    names = draw(st.lists(ARGUMENT_NAMES, max_size=4, unique=True))
    arguments = [f"{draw(st.sampled_from(TYPES))} {name}" for name in names]
    if draw(st.booleans()):
        escaped = draw(QUOTED).replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
        arguments.append(f'str text="{escaped}"')
    returns = draw(st.sampled_from(("Tensor", "()", "(Tensor, Tensor)")))
    return f"{draw(st.sampled_from(('f', '_g', 'yield', 'f.out')))}({', '.join(arguments)}) -> {returns}"


@given(schemas())
def test_whatever_the_schema_the_files_are_python(schema: str) -> None:
    op = OpSpec.create(f"m::{schema}", kernels={"cpu": "aten::f"})
    names = function_names([op])
    tree = ast.parse(stub("m", names))
    compile(module("m", "1.0", names), "__init__.py", "exec", dont_inherit=True)
    (declared,) = (node for node in tree.body if isinstance(node, ast.ClassDef))
    (call,) = declared.body
    assert isinstance(call, ast.FunctionDef)
    # The text in the file is the text that was meant, quotes and backslashes included.
    assert ast.get_docstring(call) == inspect.cleandoc(documentation(op))


CLIENT = """
import numpy as np
import torch
from m import count_up, largest, scaled_add

x, y = torch.ones(2), np.ones(2)
reveal_type(scaled_add(x, x, alpha=2))
reveal_type(scaled_add(y, y))
reveal_type(largest(x))
reveal_type(scaled_add.torch)
scaled_add(x)
scaled_add(x, x, 2.0)
count_up("many")
"""


READ_ALL = pytest.mark.matrix("the same without reading opbridge's own sources")


@pytest.mark.parametrize("imports", ["skip", pytest.param("normal", marks=READ_ALL)])
def test_a_type_checker_follows_the_tensors(ops: Sequence[OpSpec], tmp_path: Path, imports: str) -> None:
    names = function_names(ops)
    (tmp_path / "m").mkdir()
    (tmp_path / "m" / "__init__.py").write_text(module("m", "1.0", names))
    (tmp_path / "m" / "__init__.pyi").write_text(stub("m", names))
    (tmp_path / "m" / "py.typed").touch()
    (tmp_path / "client.py").write_text(CLIENT)
    # Stand-ins, as reading the real ones takes a type checker half a minute.
    for package, tensor in (("torch", "Tensor"), ("numpy", "ndarray")):
        (tmp_path / f"{package}.pyi").write_text(f"class {tensor}: ...\ndef ones(size: int) -> {tensor}: ...\n")
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path / "cache")]
    command += [f"--follow-imports={imports}", "client.py", "m", "torch.pyi", "numpy.pyi"]
    said = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True).stdout.splitlines()
    revealed = [line.partition("note: Revealed type is ")[2] for line in said if "Revealed" in line]
    assert revealed == ['"torch.Tensor"', '"numpy.ndarray"', '"tuple[torch.Tensor, torch.Tensor]"', '"Any"']
    errors = [line for line in said if line.startswith("client.py") and "error:" in line]
    assert [line.partition(":")[2].partition(":")[0] for line in errors] == ["11", "12", "13"]
    assert "client.py" in errors[0]
    assert "Missing positional argument" in errors[0]
