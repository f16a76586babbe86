"""derivatives.yaml: formulas for gradients, in PyTorch's dialect (a list) and in torch_npu's (with versions)."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

from opbridge.codegen.inputs.reading import Source, mappings, names_in
from opbridge.codegen.inputs.versions import Versions
from opbridge.codegen.model import ATEN, ONLY_IN_PYTORCH, Derivative, Formula, Operator, Target
from opbridge.errors import Location, ManifestError, did_you_mean
from opbridge.manifest.kinds import ByForm, Field, ListOf, Record, Table, Text
from opbridge.schema import Schema

_FORMULAS = Table(Text("a formula"), "a mapping from arguments to formulas")
_VALUES = ByForm(
    Text("a formula"),
    mapping=Table(_FORMULAS, "a mapping from keys to formulas"),
    sequence=ListOf(Text("a value"), "a list"),
)
_ENTRIES = ListOf(Table(_VALUES, "a mapping from arguments to formulas"), "a list of derivatives")
_WITH_VERSIONS = Record(
    "a file of derivatives",
    (
        Field("all_version", ListOf(Text("a version"), "a list of versions"), "Every version, oldest first.", True),
        Field("backward", _ENTRIES, "The derivatives.", True),
    ),
)

_NOT_FORMULAS = ("name", "output_differentiability", "version")
_NOT_DIFFERENTIABLE = "non_differentiable"
_NAME = re.compile(r"(?<![\w.:>])(?P<name>[A-Za-z_]\w*)\b(?!\s*(?:\(|::|<))")
_NO_NAMES = re.compile(r'"(?:[^"\\]|\\.)*"|/\*.*?\*/', re.DOTALL)
"""Texts and comments."""
_CONSTANT = re.compile(r"k?[A-Z]")
"""Begins a type or a constant."""
_ALWAYS_KNOWN = frozenset(
    {"grad", "grads", "grad_input_mask", "result", "true", "false", "nullptr", "not", "int64_t", *ONLY_IN_PYTORCH}
)


@dataclass(frozen=True, slots=True)
class DerivativeEntry:
    """One entry, for the chosen version."""

    schema: Schema
    where: Location
    derivative: Derivative


def entries(source: Source, wanted: str | None) -> list[DerivativeEntry]:
    """The derivatives of a file, for one version where it has several."""
    if source.is_list:
        read = [source.attempt(_entry, source, (index,), fields) for index, fields in mappings(source.read(_ENTRIES))]
        return [entry for entry in read if entry is not None]
    file = source.read(_WITH_VERSIONS)
    fields_ = file if isinstance(file, dict) else {}
    known = names_in(fields_.get("all_version"))
    versions = source.attempt(Versions.of, known, wanted, source.at("all_version"))
    if versions is None:
        return []
    found = []
    for index, fields in mappings(fields_.get("backward")):
        path = ("backward", index)
        chosen = fields.get("version", "all_version")
        if source.attempt(versions.select, chosen, source.at(*path, "version")):
            found.append(source.attempt(_entry, source, path, fields))
    return [entry for entry in found if entry is not None]


def _entry(source: Source, path: tuple[str | int, ...], fields: dict[str, object]) -> DerivativeEntry:
    where = source.at(*path, "name")
    name = fields.get("name")
    if not isinstance(name, str):
        raise ManifestError(
            "`name` is missing from a derivative", source.at(*path), "it is the operator's whole schema"
        )
    schema = Schema.parse(name, where=where)
    outputs = names_in(fields.get("output_differentiability")) or ("true",) * len(schema.returns)
    if len(outputs) != len(schema.returns):
        message = f"{schema.full_name} has {len(schema.returns)} outputs, and {len(outputs)} are described"
        raise ManifestError(message, source.at(*path, "output_differentiability"))
    by_key = fields.get("dispatch")
    given = fields | dict(by_key.get("Default") or {}) if isinstance(by_key, dict) else fields
    forward = {"result", *(f"result{index}" for index in range(len(outputs))), *_names(schema)}
    formulas = [
        _formula(schema, key, text, source.at(*path, key))
        for key, text in given.items()
        if isinstance(text, str) and text != _NOT_DIFFERENTIABLE and not forward.issuperset(names_in(key))
        if key not in _NOT_FORMULAS
    ]
    # Other than true and false there are conditions on a dtype, which PyTorch looks at in every output itself.
    differentiable = tuple(output.lower() != "false" for output in outputs)
    return DerivativeEntry(schema, where, Derivative(tuple(formulas), differentiable))


def _formula(schema: Schema, key: str, text: str, where: Location) -> Formula:
    tensors = [argument.name for argument in schema.tensor_arguments]
    names = names_in(key)
    for name in names:
        if name not in tensors:
            hint = did_you_mean(name, tensors) or f"its tensors: {', '.join(tensors)}"
            raise ManifestError(f"{schema.full_name} has no tensor '{name}' to differentiate by", where, hint)
    known = _ALWAYS_KNOWN | _names(schema) | {argument.name for argument in schema.arguments}
    known |= {f"result{index}" for index in range(len(schema.returns))}
    known |= {f"grad_{name}" for name in _names(schema)}
    used = [match["name"] for match in _NAME.finditer(_NO_NAMES.sub('""', text))]
    for name in [] if _has_variables(text) else used:
        if name not in known and not _CONSTANT.match(name):
            raise ManifestError(f"the formula names '{name}', which is not known", where, did_you_mean(name, known))
    return Formula(names, text, frozenset(used))


def _names(schema: Schema) -> set[str]:
    return {return_.name for return_ in schema.returns if return_.name}


def _has_variables(text: str) -> bool:
    """Whether a formula holds a lambda, whose variables it names itself."""
    return ";" in text


def with_derivatives(
    source: Source, found: Iterable[DerivativeEntry], operators: Iterable[Operator], target: Target
) -> list[Operator]:
    """The operators with their derivatives."""
    by_name = {operator.schema.full_name: operator for operator in operators}
    seen: dict[str, Location] = {}
    for entry in found:
        candidates = [entry.schema.full_name] if entry.schema.namespace else [
            f"{namespace}::{entry.schema.full_name}" for namespace in (target.namespace, ATEN)
        ]  # fmt: skip
        name = next((each for each in candidates if each in by_name), None)
        if name is None:
            near = did_you_mean(candidates[0], by_name)
            source.refuse(f"{entry.schema.full_name} has a derivative and is not declared", entry.where, near)
        elif name in seen:
            source.refuse(f"{name} has two derivatives", entry.where, f"the other is at {seen[name]}")
        else:
            seen[name] = entry.where
            by_name[name] = replace(by_name[name], derivative=entry.derivative)
            source.attempt(_check, by_name[name], entry, target)
    return list(by_name.values())


def _check(operator: Operator, entry: DerivativeEntry, target: Target) -> None:
    name = operator.schema.full_name
    unqualified = str(operator.schema).partition("::")[2]
    if str(entry.schema).removeprefix(f"{operator.schema.namespace}::") != unqualified:
        raise ManifestError(f"{name} is declared with another schema", entry.where, f"it is {unqualified}")
    if operator.kernel(f"Autograd{target.key}") is not None:
        hint = "leave out one of them"
        raise ManifestError(f"{name} has a derivative and a kernel for Autograd{target.key}", entry.where, hint)
