"""Sample inputs against the schema of their operator."""

from __future__ import annotations

import pytest

from opbridge.base.errors import ManifestError
from opbridge.waist.manifest import Sample, TensorSample
from opbridge.waist.schema import Schema

SCHEMA = Schema.parse(
    "f(Tensor x, Tensor? bias, Tensor[] rest, int[2] pad, *, float a=1.0, Scalar s=1, str mode='none', "
    "bool flag=False, ScalarType? dtype=None, int n=0) -> Tensor"
)
LEAST: dict[str, object] = {"x": {"shape": [2, 3]}, "bias": None, "rest": [], "pad": [1, 2]}


def test_reads_every_type() -> None:
    values = {
        **LEAST,
        "bias": {"data": [[1, 2], [3, 4]], "dtype": "int64"},
        "rest": [{"shape": [], "fill": 0}, {"shape": [1], "dtype": "float16", "low": -1, "high": 1.5}],
        "a": 2,
        "s": 3,
        "mode": "mean",
        "flag": True,
        "dtype": "int8",
        "n": -5,
    }
    assert dict(Sample.parse(values, SCHEMA).arguments) == {
        "x": TensorSample("float32", (2, 3)),
        "bias": TensorSample("int64", (2, 2), data=((1, 2), (3, 4))),
        "rest": (TensorSample(shape=(), fill=0.0), TensorSample("float16", (1,), low=-1.0, high=1.5)),
        "pad": (1, 2),
        "a": 2.0,
        "s": 3,
        "mode": "mean",
        "flag": True,
        "dtype": "int8",
        "n": -5,
    }


def test_fields_give_back_what_parse_takes() -> None:
    sample = Sample.parse({**LEAST, "bias": {"data": [[True], [False]], "dtype": "bool"}, "a": float("nan")}, SCHEMA)
    assert Sample.parse(sample.fields(), SCHEMA) == sample


@pytest.mark.parametrize(
    ("change", "place", "words"),
    [
        ({"flagg": True}, "flagg", "did you mean 'flag'?"),
        ({"x": [1, 2]}, "x", "expected a tensor"),
        ({"x": {"shap": [1]}}, "x/shap", "did you mean 'shape'?"),
        ({"x": {"dtype": "float32"}}, "x", "`shape` or `data`"),
        ({"x": {"shape": 3}}, "x/shape", "expected a list of sizes"),
        ({"x": {"shape": [2, -1]}}, "x/shape/1", "expected a size of 0 or more, got -1"),
        ({"x": {"shape": [True]}}, "x/shape/0", "expected a size"),
        ({"x": {"shape": [2], "dtype": "float"}}, "x/dtype", "did you mean 'float"),
        ({"x": {"shape": [2], "dtype": []}}, "x/dtype", "unknown dtype"),
        ({"x": {"data": [[1, 2], [3]]}}, "x/data/1", "rows differ in shape: [2] and [1]"),
        ({"x": {"data": ["a"]}}, "x/data/0", "expected a number, got 'a'"),
        ({"x": {"data": 1, "fill": 2}}, "x", "remove the other keys"),
        ({"x": {"shape": [1], "fill": 2, "low": 1}}, "x", "remove `low` and `high`"),
        ({"rest": {"shape": [1]}}, "rest", "expected a list for Tensor[], got a mapping"),
        ({"pad": [1, 2, 3]}, "pad", "expected 2 values"),
        ({"pad": [1, 2.5]}, "pad/1", "expected an int, got 2.5"),
        ({"n": 1 << 63}, "n", "does not fit in 64 bits"),
        ({"n": True}, "n", "expected an int, got True"),
        ({"n": None}, "n", "expected an int, got nothing"),
        ({"a": "1"}, "a", "expected a float, got '1'"),
        ({"a": 10**400}, "a", "does not fit in a float"),
        ({"mode": 1}, "mode", "expected a string"),
        ({"flag": 1}, "flag", "expected true or false"),
        ({"dtype": "flot32"}, "dtype", "did you mean 'float32'?"),
    ],
)
def test_refusals(change: dict[str, object], place: str, words: str) -> None:
    visited: list[str] = []

    def locate(path: tuple[str | int, ...]) -> None:
        visited.append("/".join(map(str, path)))

    with pytest.raises(ManifestError) as caught:
        Sample.parse({**LEAST, **change}, SCHEMA, locate)
    assert words in str(caught.value)
    assert visited[-1] == place


def test_an_argument_without_default_needs_a_value() -> None:
    with pytest.raises(ManifestError, match="no value for x, rest"):
        Sample.parse({"bias": None, "pad": [1, 1]}, SCHEMA)


@pytest.mark.parametrize("values", [None, [1], "x", 3])
def test_a_sample_is_a_mapping(values: object) -> None:
    with pytest.raises(ManifestError, match="expected a mapping"):
        Sample.parse(values, SCHEMA)
