"""Read derivatives.yaml, formulas for gradients, in PyTorch's dialect (a list) or torch_npu's (with versions)."""

from __future__ import annotations

import functools
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace

from opbridge.base.errors import Location, ManifestError, did_you_mean
from opbridge.codegen.backend import (
    ATEN,
    ELEMENT_WISE,
    LINEAR,
    ONLY_IN_PYTORCH,
    BackendOperator,
    Derivative,
    Formula,
    Tangent,
    TargetBackend,
)
from opbridge.codegen.expressions import functions_called, is_constant, names_used, unknown_names
from opbridge.codegen.inputs.dialect_reader import Source, mappings, names_in
from opbridge.codegen.inputs.installed import installed_derivatives
from opbridge.codegen.inputs.native_functions import Lookup, with_aliases_of
from opbridge.codegen.inputs.versions import Versions
from opbridge.waist.manifest.field_kinds import ByForm, Field, ListOf, Record, Table, Text
from opbridge.waist.schema import Argument, Schema

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
_ALWAYS_KNOWN = frozenset({"grad", "grads", "grad_input_mask", "result", "retain_variables"} | {*ONLY_IN_PYTORCH})
_OFFERED = frozenset(
    {"handle_r_to_c", "not_implemented", "sum_to", "scalar_tensor"}
    | {"maybe_multiply", "cholesky_backward", "cholesky_jvp"}
)
"""Functions that formulas call and that are not operators: those of AutogradNodes.h and of at:: itself."""


@dataclass(frozen=True, slots=True)
class DerivativeEntry:
    """One entry of the file, for the chosen version."""

    schema: Schema
    where: Location
    derivative: Derivative


def entries(source: Source, wanted: str | None) -> list[DerivativeEntry]:
    """Read the derivatives of a file, for one version if it has several."""
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
    # A number has no gradient, whatever the entry declares.
    tensors = [return_.type.base == "Tensor" for return_ in schema.returns]
    outputs = names_in(fields.get("output_differentiability")) or ("true",) * len(schema.returns)
    if len(outputs) != len(schema.returns):
        message = f"{schema.full_name} has {len(schema.returns)} outputs, and {len(outputs)} are described"
        raise ManifestError(message, source.at(*path, "output_differentiability"))
    by_key = fields.get("dispatch")
    given = fields | dict(by_key.get("Default") or {}) if isinstance(by_key, dict) else fields
    results = {f"result{index}": index for index in range(len(outputs))} | _results(schema)
    formulas: list[Formula] = []
    tangents: list[Tangent] = []
    without: list[str] = []
    for key, text in given.items():
        if not isinstance(text, str) or key in _NOT_FORMULAS:
            continue
        if text == _NOT_DIFFERENTIABLE:
            without += names_in(key)
        elif results.keys() >= {*names_in(key)}:
            places = tuple(results[name] for name in names_in(key))
            tangents += source.attempts(_tangent, schema, places, text, source.at(*path, key))
        else:
            formulas += source.attempts(_formula, schema, key, text, source.at(*path, key))
    # Apart from true and false there are conditions on a dtype, which PyTorch checks itself in every output.
    differentiable = tuple(
        output.lower() != "false" and tensor for output, tensor in zip(outputs, tensors, strict=True)
    )
    derivative = Derivative(tuple(formulas), differentiable, tuple(tangents), tuple(without), where=where)
    return DerivativeEntry(schema, where, derivative)


def _formula(schema: Schema, key: str, text: str, where: Location) -> Formula:
    tensors = [argument.name for argument in schema.tensor_arguments]
    names = names_in(key)
    for name in names:
        if name not in tensors:
            hint = did_you_mean(name, tensors) or f"its tensors: {', '.join(tensors)}"
            raise ManifestError(f"{schema.full_name} has no tensor '{name}' to differentiate by", where, hint)
    known = _ALWAYS_KNOWN | _results(schema).keys() | {argument.name for argument in schema.arguments}
    known |= {f"result{index}" for index in range(len(schema.returns))}
    known |= {f"grad_{return_.name}" for return_ in schema.returns if return_.name}
    return Formula(names, text, _used(text, known, where))


def _tangent(schema: Schema, results: tuple[int, ...], text: str, where: Location) -> Tangent:
    if text in (LINEAR, ELEMENT_WISE):
        return Tangent(results, text, frozenset())
    known = {*_ALWAYS_KNOWN, *_results(schema), *(f"result{index}" for index in range(len(schema.returns)))}
    for argument in schema.arguments:
        known |= {argument.name, *(f"{start}{argument.name}_{end}" for start in ("", "original_") for end in "pt")}
    return Tangent(results, text, _used(text, known, where))


def _used(text: str, known: Collection[str], where: Location) -> frozenset[str]:
    for name in unknown_names(text, known):
        raise ManifestError(f"the formula names '{name}', which is not known", where, did_you_mean(name, known))
    return frozenset(names_used(text))


def _results(schema: Schema) -> dict[str, int]:
    """Return the positions of results by the names that a schema and a formula give them."""
    named = {return_.name: index for index, return_ in enumerate(schema.returns) if return_.name}
    return {"result": 0, **named}


def _has_variables(text: str) -> bool:
    """Return whether a formula contains a lambda, which declares variables itself."""
    return ";" in text


def with_derivatives(
    source: Source,
    found: Iterable[DerivativeEntry],
    operators: Iterable[BackendOperator],
    target: TargetBackend,
    aten: Lookup,
    spoiled: Collection[str] = (),
) -> list[BackendOperator]:
    """Return the operators with their derivatives; those of `spoiled` declarations are ignored."""
    by_name = {operator.schema.full_name: operator for operator in operators}
    seen: dict[str, Location] = {}
    pytorchs = _pytorchs_own() if source.is_list else {}
    for entry in found:
        if pytorchs.get(entry.schema.full_name) == _texts(entry.derivative):
            continue
        names = candidates(entry, target)
        name = next((each for each in names if each in by_name), None)
        if name is None and entry.schema.full_name.rpartition("::")[2] in spoiled:
            continue
        if name is None and any(each in aten() for each in names):
            # It has no kernel for the target; PyTorch differentiates what runs in its place.
            continue
        if name is None:
            near = did_you_mean(names[0], by_name)
            source.refuse(f"{entry.schema.full_name} has a derivative and is not declared", entry.where, near)
        elif name in seen:
            source.refuse(f"{name} has two derivatives", entry.where, f"the other is at {seen[name]}")
        else:
            seen[name] = entry.where
            if not source.is_list and not by_name[name].is_custom:
                entry = replace(entry, schema=with_aliases_of(by_name[name].schema, entry.schema))
            renamed = source.attempt(_named_as, by_name[name], entry)
            by_name[name] = replace(by_name[name], derivative=replace(entry.derivative, schema=renamed))
            source.attempt(_check, by_name[name], entry, target)
            source.attempt(_check_calls, by_name[name], entry, by_name, aten)
    return list(by_name.values())


def candidates(entry: DerivativeEntry, target: TargetBackend) -> list[str]:
    """Return the full names that an entry may stand for."""
    if entry.schema.namespace:
        return [entry.schema.full_name]
    return [f"{namespace}::{entry.schema.full_name}" for namespace in (target.namespace, ATEN)]


@functools.lru_cache(maxsize=1)
def _pytorchs_own() -> Mapping[str, frozenset[tuple[tuple[str, ...], str]]]:
    """Return the derivatives of the installed PyTorch by operator: its own nodes already exist."""
    path = installed_derivatives()
    if path is None:
        return {}
    return {
        entry.schema.full_name: _texts(entry.derivative) for entry in entries(Source(path, path.read_bytes()), None)
    }


def _texts(derivative: Derivative) -> frozenset[tuple[tuple[str, ...], str]]:
    tangents = ((tuple(map(str, each.results)), each.text) for each in derivative.tangents)
    return frozenset([*((each.arguments, each.text) for each in derivative.formulas), *tangents])


def _named_as(operator: BackendOperator, entry: DerivativeEntry) -> Schema | None:
    """Return the operator's schema with the derivative's argument names, which PyTorch changes over time.

    Return None if the names are the same, or if the arguments differ in more than names.
    """
    own, other = operator.schema, entry.schema.with_namespace(operator.schema.namespace or ATEN)
    if [argument.name for argument in own.arguments] == [argument.name for argument in other.arguments]:
        return None
    if [_form(argument) for argument in own.arguments] != [_form(argument) for argument in other.arguments]:
        return None
    named = zip(own.arguments, other.arguments, strict=True)
    return replace(own, arguments=tuple(replace(argument, name=by.name) for argument, by in named))


def _form(argument: Argument) -> tuple[str, bool]:
    return str(argument.type), argument.mutable


def _check_calls(operator: BackendOperator, entry: DerivativeEntry, declared: Iterable[str], aten: Lookup) -> None:
    """Refuse functions that only PyTorch's own sources have: the linker would report them far from the formula."""
    derivative = entry.derivative
    own = {full_name.partition("::")[2].partition(".")[0] for full_name in declared}
    for text in [*(each.text for each in derivative.formulas), *(each.text for each in derivative.tangents)]:
        if _has_variables(text):
            continue
        called = functions_called(text) - own - _OFFERED
        unknown = sorted(name for name in called if not is_constant(name))
        offered = {full_name.partition("::")[2].partition(".")[0] for full_name in aten()} if unknown else set()
        missing = [name for name in unknown if name.removesuffix("_symint") not in offered]
        if missing:
            near = did_you_mean(missing[0], {*own, *offered, *_OFFERED})
            hint = near or "formulas call operators of PyTorch's and of the files; declare one that does this"
            name = operator.schema.full_name
            message = f"a formula of {name} calls {', '.join(missing)}, which PyTorch's libraries do not offer"
            raise ManifestError(message, entry.where, hint)


def _check(operator: BackendOperator, entry: DerivativeEntry, target: TargetBackend) -> None:
    name = operator.schema.full_name
    declared = (operator.derivative and operator.derivative.schema) or operator.schema
    unqualified = str(declared).partition("::")[2]
    if str(entry.schema).removeprefix(f"{operator.schema.namespace}::") != unqualified:
        raise ManifestError(f"{name} is declared with another schema", entry.where, f"it is {unqualified}")
    if operator.kernel(f"Autograd{target.key}") is not None:
        hint = "leave out one of them"
        raise ManifestError(f"{name} has a derivative and a kernel for Autograd{target.key}", entry.where, hint)
