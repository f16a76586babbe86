"""Output b: a typed C++ function for each of the backend's own operators.

`<namespace>::ops::f` enters the dispatcher at the same point as a call from Python. `<namespace>::redispatch::f`
continues with the dispatch keys that the caller has not handled yet.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby

from opbridge.base.errors import ManifestError
from opbridge.codegen.backend import Backend, BackendOperator, kernel_name
from opbridge.codegen.outputs.generated_sources import (
    HEADER,
    TENSOR_HEADERS,
    found_handle,
    in_namespace,
    includes,
    shard_name,
    shards,
)
from opbridge.codegen.unboxed_types import Signature, wrapped

_KEYS = "c10::DispatchKeySet dispatch_keys"


def custom_functions(backend: Backend) -> dict[str, str]:
    """Return the files; none if the backend has no operators of its own."""
    if not backend.custom:
        return {}
    _refuse_ambiguous(backend.custom)
    files = {"CustomFunctions.h": _header(backend.custom)}
    groups = shards(backend.custom)
    for index, group in enumerate(groups):
        files[shard_name("CustomFunctions", index, len(groups))] = _source(group)
    return files


def _refuse_ambiguous(operators: Iterable[BackendOperator]) -> None:
    """Raise ManifestError for overloads that differ in PyTorch and are one function in C++."""
    seen: dict[tuple[str, ...], BackendOperator] = {}
    for operator in operators:
        types = (parameter.type for parameter in _signature(operator).parameters)
        first = seen.setdefault((operator.schema.qualified_name, *types), operator)
        if first is not operator:
            message = f"{operator.schema.full_name} and {first.schema.full_name} take the same arguments in C++"
            raise ManifestError(message, operator.where, f"the other is at {first.where}; rename one of them")


def _signature(operator: BackendOperator) -> Signature:
    return Signature.of(operator, symint=True)


def _header(operators: Iterable[BackendOperator]) -> str:
    parts = []
    for namespace, group in _by_namespace(operators):
        calls = [
            f"// {each.schema}\n{_signature(each).head(kernel_name(each.schema), defaults=True)};\n" for each in group
        ]
        again = [f"{_signature(each).head(kernel_name(each.schema), _KEYS)};\n" for each in group]
        parts += [in_namespace(f"{namespace}::ops", calls), in_namespace(f"{namespace}::redispatch", again)]
    headers = includes(*TENSOR_HEADERS, "<c10/core/DispatchKeySet.h>")
    return f"{HEADER}#pragma once\n\n{headers}\n" + "\n".join(parts)


def _source(operators: Iterable[BackendOperator]) -> str:
    parts = []
    for namespace, group in _by_namespace(operators):
        parts.append(in_namespace("", [_handle(each) for each in group]))
        parts.append(in_namespace(f"{namespace}::ops", [_call(each) for each in group]))
        parts.append(in_namespace(f"{namespace}::redispatch", [_redispatch(each) for each in group]))
    headers = includes('"CustomFunctions.h"') + "\n" + includes("<ATen/core/dispatch/Dispatcher.h>")
    return f"{HEADER}{headers}\n" + "\n".join(parts)


def _by_namespace(operators: Iterable[BackendOperator]) -> list[tuple[str, list[BackendOperator]]]:
    groups = groupby(operators, key=lambda operator: operator.schema.namespace or "")
    return [(namespace, list(group)) for namespace, group in groups]


def _handle_name(operator: BackendOperator) -> str:
    return f"find_{operator.schema.namespace}_{operator.identifier}"


def _handle(operator: BackendOperator) -> str:
    """Return the function that looks up the operator once, for both functions."""
    look_up = f"static const auto op = {found_handle(operator, _signature(operator))};"
    return f"const auto& {_handle_name(operator)}() {{\n  {look_up}\n  return op;\n}}\n"


def _call(operator: BackendOperator) -> str:
    signature = _signature(operator)
    body = wrapped(f"return {_handle_name(operator)}().call(", signature.names, ");", indent="  ")
    return f"{signature.head(kernel_name(operator.schema))} {{\n{body}\n}}\n"


def _redispatch(operator: BackendOperator) -> str:
    signature = _signature(operator)
    names = ["dispatch_keys", *signature.names]
    body = wrapped(f"return {_handle_name(operator)}().redispatch(", names, ");", indent="  ")
    return f"{signature.head(kernel_name(operator.schema), _KEYS)} {{\n{body}\n}}\n"
