"""ops.yaml as a whole: what it means, every error with its place, and printing as the inverse of reading."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from manifests import FORMS, TEXT, documents
from subprocesses import succeed

import opbridge
from opbridge.base.errors import OpbridgeError
from opbridge.waist.manifest import KernelRef, Manifest, ManifestErrors, OpSpec, Sample, TensorSample, json_schema
from opbridge.waist.manifest.field_kinds import ByForm, Kind, ListOf, Record, Table, Text
from opbridge.waist.manifest.fields import OPERATOR
from opbridge.waist.manifest.yaml_printer import to_yaml

EXAMPLE = """\
namespace: mylib
ops:
  - func: scaled_add(Tensor x, Tensor y, *, float alpha=1.0) -> Tensor
    out: x                                   # like x
    kernels: {cpu: scaled_add.cpp, cuda: scaled_add.cu:launch, npu: add.so:npu}
    derivatives: {x: grad, y: grad * alpha}
    batch: elementwise
    shard: "i, i -> i"
    flops: 2 * x.numel
    samples:
      - {x: {shape: [2, 3]}, y: {data: [[1, 2, 3], [4, 5, 6]], dtype: float32}, alpha: 1e-5}
  - func: matmul(Tensor x, Tensor y) -> Tensor
    out: {shape: [x.shape[0], y.shape[1]], dtype: promote(x, y)}
    kernels: {cpu: matmul.cpp}
  - func: split(Tensor x) -> (Tensor low, Tensor high)
    out: [x, {shape: x.shape, dtype: int64}]
    kernels: {cpu: split.cpp}
  - func: fill_(Tensor(a!) x, *, int value) -> Tensor(a!)
    kernels: {cpu: fill.cpp}
"""

MINIMAL = "namespace: m\nops:\n  - func: f(Tensor x) -> Tensor\n    out: x\n    kernels: {cpu: f.cpp}\n"


def test_reads_the_design_example() -> None:
    manifest = Manifest.parse(EXAMPLE)
    scaled_add, matmul, split, fill = manifest.ops
    assert [op.schema.qualified_name for op in manifest.ops] == [
        "mylib::scaled_add",
        "mylib::matmul",
        "mylib::split",
        "mylib::fill_",
    ]
    assert scaled_add.kernels == (
        KernelRef("cpu", path="scaled_add.cpp", symbol="scaled_add"),
        KernelRef("cuda", path="scaled_add.cu", symbol="launch"),
        KernelRef("npu", path="add.so", symbol="npu"),
    )
    assert scaled_add.kernel("cpu") == scaled_add.kernels[0]
    assert scaled_add.kernel("cuda-twin") is None
    assert scaled_add.samples == (
        Sample(
            (
                ("x", TensorSample(shape=(2, 3))),
                ("y", TensorSample(shape=(2, 3), data=((1, 2, 3), (4, 5, 6)))),
                ("alpha", 1e-5),
            )
        ),
    )
    assert str(scaled_add.where) == "ops.yaml:3:11"
    assert "out" not in fill.fields()
    assert len(split.fields()["out"]) == 2
    assert matmul.fields()["out"] == {"shape": "[x.shape[0], y.shape[1]]", "dtype": "promote(x, y)"}


def test_printing_is_canonical_yaml_that_reads_back() -> None:
    manifest = Manifest.parse(EXAMPLE)
    assert Manifest.parse(str(manifest)) == manifest
    assert str(Manifest.parse(str(manifest))) == str(manifest)
    assert yaml.safe_load(str(manifest))["ops"][0]["derivatives"] == {"x": "grad", "y": "grad * alpha"}


def test_code_builds_the_same_operator() -> None:
    built = OpSpec.create(
        "mylib::scaled_add(Tensor x, Tensor y, *, float alpha=1.0) -> Tensor",
        out="x",
        kernels={"cpu": "scaled_add.cpp", "cuda": "scaled_add.cu:launch", "npu": "add.so:npu"},
        derivatives={"x": "grad", "y": "grad * alpha"},
        batch="elementwise",
        shard="i, i -> i",
        flops="2 * x.numel",
        samples=[{"x": {"shape": [2, 3]}, "y": {"data": [[1, 2, 3], [4, 5, 6]]}, "alpha": 1e-5}],
    )
    assert built == Manifest.parse(EXAMPLE).ops[0]


def test_formulas_call_operators_declared_later() -> None:
    text = (
        "namespace: m\nops:\n"
        "  - {func: f(Tensor x) -> Tensor, out: x, kernels: {cpu: f.cpp}, derivatives: {x: f_grad(grad, x)}}\n"
        "  - {func: 'f_grad(Tensor grad, Tensor x) -> Tensor', out: x, kernels: {cpu: f.cpp:f_grad}}\n"
    )
    assert len(Manifest.parse(text).ops) == 2


def test_all_errors_of_a_file_come_together() -> None:
    text = """\
namespace: m
extra: 1
ops:
  - func: f(Tensor x, tensor y) -> Tensor
    out: x
    kernels: {gpu: f.cu}
  - func: g(Tensor x) -> Tensor
    out: z
    kernel: {cpu: g.cpp}
  - func: h(Tensor x) -> Tensor
    out: x
    kernels: {cpu: ../h.cpp, cuda: [h.cu]}
    samples: [{y: 1}]
"""
    with pytest.raises(ManifestErrors) as caught:
        Manifest.parse(text)
    places = [f"{error.where.line}:{error.where.column}" for error in caught.value.errors if error.where]
    assert places == ["2:1", "4:23", "8:10", "9:5", "12:20", "12:36", "13:19"]
    assert str(caught.value).startswith("ops.yaml has 7 errors\nops.yaml:2:1: unknown key 'extra'")
    assert caught.value.exit_code == 2


def test_a_message_stays_readable_whatever_the_file() -> None:
    with pytest.raises(ManifestErrors) as caught:
        Manifest.parse("namespace: m\nops: [" + "1, " * 1000 + "]")
    assert len(caught.value.errors) == 1000
    assert str(caught.value).endswith("\nand 980 more")
    assert len(str(caught.value)) < 2000


@pytest.mark.parametrize(
    ("old", "new", "place", "words"),
    [
        ("namespace: m\n", "", "1:1", "`namespace` is missing"),
        ("namespace: m", "namespace:", "1:11", "expected a name, got nothing"),
        ("namespace: m", "namespace: aten", "1:12", "belongs to PyTorch"),
        ("namespace: m", "namespace: my-lib", "1:12", "'my-lib' cannot be a namespace"),
        ("namespace: m", "namespace: m\nnamespace: n", "2:1", "'namespace' is given twice"),
        ("namespace: m", "namespaces: m", "1:1", "did you mean 'namespace'?"),
        ("f(Tensor x)", "n::f(Tensor x)", "3:11", "n::f is not in the namespace m"),
        ("    out: x", "    out: x\n    out: x", "5:5", "first at ops.yaml:4:5"),
        ("    kernels: {cpu: f.cpp}\n", "", "3:5", "`kernels` is missing"),
        ("kernels: {cpu: f.cpp}", "kernels: {}", "5:14", "an empty one"),
        ("kernels: {cpu: f.cpp}", "kernels: f.cpp", "5:14", "expected a mapping from device to kernel"),
        ("kernels: {cpu: f.cpp}", "kernels: {cpu: f.cpp, cpu: g.cpp}", "5:27", "given twice"),
        ("kernels: {cpu: f.cpp}", "kernels: {cpu: {file: f.cpp}}", "5:20", "got a mapping"),
        ("kernels: {cpu: f.cpp}", "kernels: {cpu: /f.cpp}", "5:20", "absolute"),
        ("func: f(Tensor x) -> Tensor", "func: [f]", "3:11", "expected a schema"),
        ("out: x", "out: {shap: x.shape}", "4:11", "did you mean 'shape'?"),
        ("out: x", "out: ", "4:9", "got nothing"),
        ("    out: x\n", "", "3:", "out"),
        ("out: x", "out: x\n    samples: {}", "5:14", "expected a list of samples"),
        ("out: x", "out: x\n    ? [a]\n    : 1", "5:7", "expected a name as key"),
        ("ops:\n", "ops:\n  - 3\n", "3:5", "expected an operator, got '3'"),
        ("ops:", "ops: none\nrest:", "2:6", "expected a list of operators"),
    ],
)
def test_refusals(old: str, new: str, place: str, words: str) -> None:
    assert old in MINIMAL
    with pytest.raises(ManifestErrors) as caught:
        Manifest.parse(MINIMAL.replace(old, new))
    assert any(str(error.where).startswith(f"ops.yaml:{place}") for error in caught.value.errors)
    assert words in str(caught.value)


def test_an_operator_is_declared_once() -> None:
    entry = MINIMAL.partition("ops:\n")[2]
    with pytest.raises(ManifestErrors, match="m::f is declared twice") as caught:
        Manifest.parse(MINIMAL + entry)
    assert caught.value.errors[0].hint == "first at ops.yaml:3:11"
    assert len(Manifest.parse(MINIMAL + entry.replace("f(Tensor x)", "f.other(Tensor x)")).ops) == 2


def test_load_knows_its_folder(tmp_path: Path) -> None:
    (tmp_path / "ops.yaml").write_text(MINIMAL)
    manifest = Manifest.load(tmp_path / "ops.yaml")
    (op,) = manifest.ops
    with pytest.raises(OpbridgeError, match=r"ops\.yaml:5:20: no such file: .*f\.cpp"):
        op.file(op.kernels[0])
    (tmp_path / "f.cpp").touch()
    assert op.file(op.kernels[0]) == tmp_path / "f.cpp"
    assert manifest.path == tmp_path / "ops.yaml"


def test_load_keeps_kernels_in_the_folder_unless_told(tmp_path: Path) -> None:
    path = tmp_path / "ops.yaml"
    path.write_text(MINIMAL.replace("f.cpp", "../f.cpp"))
    with pytest.raises(ManifestErrors, match="allow_outside=True"):
        Manifest.load(path)
    assert Manifest.load(path, allow_outside=True).ops[0].kernels[0].path == "../f.cpp"


def test_files_that_are_no_manifest(tmp_path: Path) -> None:
    (tmp_path / "ops.yaml").write_bytes(b"namespace: m\nops: \xff\xfe")
    with pytest.raises(OpbridgeError, match=r"ops.yaml:2:6: byte 0xff is not UTF-8"):
        Manifest.load(tmp_path / "ops.yaml")
    with pytest.raises(OpbridgeError, match=r"no such file.*\n.*did you mean 'ops.yaml'"):
        Manifest.load(tmp_path / "opps.yaml")
    with pytest.raises(OpbridgeError, match="is a folder"):
        Manifest.load(tmp_path)
    with (tmp_path / "big.yaml").open("wb") as file:
        file.truncate((64 << 20) + 1)
    with pytest.raises(OpbridgeError, match="over 64 MB"):
        Manifest.load(tmp_path / "big.yaml")


def test_yaml_is_imported_only_when_a_manifest_is_read() -> None:
    assert succeed("import sys, opbridge.waist.manifest; print('yaml' in sys.modules)") == "False\n"


# --- the JSON schema for editors


def test_the_json_schema_in_the_tree_is_up_to_date() -> None:
    file = Path(opbridge.__file__).with_name("manifest.schema.json")
    mend = "import json, opbridge.waist.manifest as m; print(json.dumps(m.json_schema(), indent=2))"
    assert json.loads(file.read_text()) == json_schema(), f"run: python -c '{mend}' > src/opbridge/{file.name}"


def test_the_json_schema_accepts_what_the_parser_prints() -> None:
    jsonschema.Draft202012Validator.check_schema(json_schema())
    jsonschema.validate(yaml.safe_load(str(Manifest.parse(EXAMPLE))), json_schema())


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("namespace: m\n", ""),
        ("namespace:", "namespaces:"),
        ("kernels: {cpu: f.cpp}", "kernels: {gpu: f.cpp}"),
        ("kernels: {cpu: f.cpp}", "kernels: f.cpp"),
        ("kernels: {cpu: f.cpp}", "kernels: {}"),
        ("out: x", "out: {shap: x}"),
        ("out: x", "out: x\n    samples: [{x: {shape: [a]}}]"),
        ("out: x", "out: x\n    batch: [elementwise]"),
    ],
)
def test_the_json_schema_refuses_what_the_parser_refuses(old: str, new: str) -> None:
    text = MINIMAL.replace(old, new)
    with pytest.raises(OpbridgeError):
        Manifest.parse(text)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(yaml.safe_load(text), json_schema())


# --- many inputs

EDITOR = jsonschema.Draft202012Validator(json_schema())


@settings(deadline=None, max_examples=50)
@given(documents())
def test_every_form_of_every_field_prints_and_reads_back(document: dict[str, Any]) -> None:
    manifest = Manifest.parse(to_yaml(document))
    assert Manifest.parse(str(manifest)) == manifest
    assert str(Manifest.parse(str(manifest))) == str(manifest)
    assert Manifest.parse(in_flow_style(document)) == manifest
    EDITOR.validate(yaml.safe_load(str(manifest)))


def in_flow_style(value: object) -> str:
    """JSON, which is YAML but for the numbers that are none or endless."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(key)}: {in_flow_style(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(in_flow_style, value)) + "]"
    text = json.dumps(value)
    return text.replace("Infinity", ".inf").replace("NaN", ".nan") if isinstance(value, float) else text


def test_every_form_of_every_field_is_drawn() -> None:
    assert {field.name: forms(field.kind) for field in OPERATOR.fields} == {
        name: set(drawn) for name, drawn in FORMS.items()
    }


def forms(kind: Kind) -> set[str]:
    match kind:
        case ByForm():
            return {form for one in (kind.scalar, kind.mapping, kind.sequence) if one for form in forms(one)}
        case Text():
            return {"value"}
        case Table() | Record():
            return {"mapping"}
        case ListOf():
            return {"list"}
    raise AssertionError(f"draw the forms of {kind}")


PIECES = st.sampled_from(
    ["{", "}", "[", "]", ": ", "- ", "\n", "  ", '"', "'", "#", " #", ",", "*", "&", "!", "|", "?"]
)


@given(st.data())
def test_only_opbridge_errors_escape_from_damaged_manifests(data: st.DataObject) -> None:
    text = EXAMPLE
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(text)))
        text = text[:start] + data.draw(PIECES | TEXT) + text[start + data.draw(st.integers(0, 30)) :]
    with contextlib.suppress(OpbridgeError):
        Manifest.parse(text)


@settings(deadline=None)
@given(st.lists(PIECES | st.characters(), max_size=80).map("".join))
def test_only_opbridge_errors_escape_from_random_text(text: str) -> None:
    with contextlib.suppress(OpbridgeError):
        Manifest.parse(text)
