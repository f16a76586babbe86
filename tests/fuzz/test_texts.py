"""What users write, changed until it is nothing anybody would write: it is understood or refused, and nothing else."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
from mutations import bounded, edited_texts, fuzzing, words_of

from opbridge.base.errors import OpbridgeError, SchemaError
from opbridge.waist.manifest import Manifest, OpSpec
from opbridge.waist.rules import parse_expression
from opbridge.waist.schema import Schema

ROOT = Path(__file__).parents[2]
FILES = [
    path
    for folder in ("tests/kernels", "tests/authoring/wheel", "examples")
    for path in (ROOT / folder).rglob("ops.yaml")
]
MANIFESTS = [path.read_text(encoding="utf-8") for path in sorted(FILES)]
OPERATORS = [op for text in MANIFESTS for op in Manifest.parse(text).ops]
SCHEMAS = [
    *sorted({str(op.schema) for op in OPERATORS}),
    "mylib::f(Tensor(a!) self, Tensor?[] xs, SymInt[2] size=[1, 2], *, Scalar s=1.5, str mode='a b', bool? b=None, "
    "ScalarType? dtype=None, int[] pads=0) -> (Tensor(a!), Tensor y)",
]
RULES = [(op, field) for op in OPERATORS for field in op.rules.fields()]
WORD = r"\w+|\s+|->|[^\w\s]"
WORDS = words_of(SCHEMAS, WORD)


def texts_in(value: object) -> list[str]:
    if isinstance(value, dict):
        return [text for pair in value.items() for item in pair for text in texts_in(item)]
    if isinstance(value, list):
        return [text for item in value for text in texts_in(item)]
    return [value] if isinstance(value, str) else []


EXPRESSIONS = sorted({text for op, field in RULES for text in texts_in(op.rules.fields()[field])})
PIECES = words_of(EXPRESSIONS, WORD)


@fuzzing
@given(edited_texts(SCHEMAS, WORDS))
def test_schema(text: str) -> None:
    with bounded(), contextlib.suppress(SchemaError):
        schema = Schema.parse(text)
        assert Schema.parse(str(schema)) == schema


@fuzzing
@given(edited_texts(MANIFESTS, words_of(MANIFESTS, WORD)))
def test_manifest(text: str) -> None:
    with bounded(), contextlib.suppress(OpbridgeError):
        manifest = Manifest.parse(text)
        assert Manifest.parse(str(manifest)) == manifest


@fuzzing
@given(edited_texts(EXPRESSIONS, PIECES))
def test_expression(text: str) -> None:
    with bounded(), contextlib.suppress(OpbridgeError):
        expression = parse_expression(text)
        assert parse_expression(str(expression)) == expression


def with_a_text_edited(value: object, edit: st.DataObject) -> object:
    """The value with one of the texts in it changed."""
    if isinstance(value, dict) and value:
        key = edit.draw(st.sampled_from(sorted(value, key=str)))
        return {**value, key: with_a_text_edited(value[key], edit)}
    if isinstance(value, list) and value:
        index = edit.draw(st.integers(0, len(value) - 1))
        return [*value[:index], with_a_text_edited(value[index], edit), *value[index + 1 :]]
    return edit.draw(edited_texts([str(value)], PIECES))


@fuzzing
@given(st.sampled_from(RULES), st.data())
def test_rule(rule: tuple[OpSpec, str], data: st.DataObject) -> None:
    op, field = rule
    rules = op.rules.fields()
    changed = {"func": str(op.schema).partition("::")[2], **rules, field: with_a_text_edited(rules[field], data)}
    changed["kernels"] = {"cpu": "k.cpp"}
    # JSON is YAML, and needs no care with what is in a text.
    text = json.dumps({"namespace": "fuzzed", "ops": [changed]})
    with bounded(), contextlib.suppress(OpbridgeError):
        manifest = Manifest.parse(text)
        assert Manifest.parse(str(manifest)) == manifest
