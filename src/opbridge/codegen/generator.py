"""Run code generation once: declarations in, texts by file name out."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import astuple, dataclass, replace
from pathlib import Path
from types import MappingProxyType

from opbridge.base.errors import InputError, ManifestError
from opbridge.build.cache import Cache, KeyBuilder
from opbridge.build.cache.filesystem import files_below
from opbridge.build.sources.store import with_files
from opbridge.codegen.backend import Backend, BackendOperator
from opbridge.codegen.eject.files import ejected_backend
from opbridge.codegen.error_causes import by_cause
from opbridge.codegen.inputs import Inputs
from opbridge.codegen.inputs.installed import installed_functions
from opbridge.codegen.outputs.aliasing import aliasing
from opbridge.codegen.outputs.autograd import autograd
from opbridge.codegen.outputs.autograd_nodes import why_not
from opbridge.codegen.outputs.custom_functions import custom_functions
from opbridge.codegen.outputs.opapi_kernels import launched_kernels
from opbridge.codegen.outputs.other_frameworks import other_frameworks
from opbridge.codegen.outputs.package import package
from opbridge.codegen.outputs.python_api import python_api
from opbridge.codegen.outputs.registration import registration
from opbridge.codegen.unboxed_types import Signature
from opbridge.waist.manifest import ManifestErrors

_OUTPUTS = (registration, launched_kernels, custom_functions, autograd, aliasing, python_api, other_frameworks, package)
Output = Callable[[Backend], dict[str, str]]
_PACKAGE = Path(__file__).parent.parent


def sources(backend: Backend, more: Mapping[str, str] = MappingProxyType({})) -> dict[str, str]:
    """Return every file for a backend, by its name below the output folder.

    `more` are additional files, which replace generated ones of the same name.

    Raises:
        ManifestErrors: All errors of all operators.
    """
    errors = [error for operator in backend.operators for error in _wrong_in(operator)]
    files: dict[str, str] = {}
    for output in _OUTPUTS if not errors else ():
        made, refused = _attempt(output, backend)
        files |= made
        errors += refused
    if errors:
        raise ManifestErrors(", ".join(dict.fromkeys(error.where.file for error in errors if error.where)), errors)
    return {**files, **more}


def _wrong_in(operator: BackendOperator) -> list[InputError]:
    try:
        Signature.of(operator, symint=True)
    except InputError as error:
        return [ManifestError(f"{operator.schema.full_name}: {error.message}", operator.where, error.hint)]
    refused = why_not(operator, operator.derivative) if operator.derivative else None
    return [refused] if refused else []


def _attempt(output: Output, backend: Backend) -> tuple[dict[str, str], list[InputError]]:
    """Return the files of an output and its errors; a refused operator is left out, to find the next error."""
    errors: list[InputError] = []
    while True:
        try:
            return output(backend), errors
        except InputError as error:
            errors.append(error)
            left = without(backend, [error])
            if left == backend:
                return {}, errors
            backend = left


def without(backend: Backend, errors: Iterable[InputError]) -> Backend:
    """Return the backend without the operators and derivatives that errors are about."""
    places = {error.where for error in errors if error.where is not None}
    operators = (
        replace(operator, derivative=None) if operator.derivative and operator.derivative.where in places else operator
        for operator in backend.operators
        if operator.where not in places
    )
    return replace(backend, operators=tuple(operators))


def sources_of_what_is_right(
    backend: Backend, more: Mapping[str, str] = MappingProxyType({})
) -> tuple[Backend, dict[str, str], list[InputError]]:
    """Return the backend without faulty operators, its files, and the errors of what was left out."""
    left: list[InputError] = []
    while True:
        try:
            return backend, sources(backend, more), left
        except ManifestErrors as found:
            rest = without(backend, found.errors)
            if rest == backend:
                raise
            left += found.errors
            backend = rest


@dataclass(frozen=True)
class Generated:
    """The generated files, with reports about what was left out."""

    files: dict[str, str]
    unknown_fields: tuple[str, ...]
    """A line for each field that was left out."""
    left_out: tuple[str, ...]
    """A line for each cause for which operators or derivatives were left out."""


def generate(inputs: Inputs, cache: Cache) -> Generated:
    """Return the sources, from the cache if the same was requested before."""
    wish = inputs.wish
    key = KeyBuilder("codegen").add("code", _code_stamp()).add("pytorch", _stamp(installed_functions()))
    key.add("wish", json.dumps(astuple(wish)))
    for source in inputs.sources:
        key.add("path", str(source.path)).add("source", source.data)
    text = cache.fetch_value(key.key(), lambda: json.dumps(astuple(from_scratch(inputs)[1])).encode())
    made = json.loads(text)
    return Generated(made[0], tuple(made[1]), tuple(made[2]))


def ejected(inputs: Inputs) -> tuple[Backend, Generated]:
    """Return the operators of an ops.yaml and all files that they need without opbridge."""
    manifest, cache = inputs.manifest(), Cache()
    manifest = replace(manifest, ops=tuple(with_files(op, cache) for op in manifest.ops))
    backend, more = ejected_backend(manifest, inputs.wish.cpp_namespace)
    return backend, Generated(sources(backend, more), (), ())


def from_scratch(inputs: Inputs) -> tuple[Backend, Generated]:
    """Return the declared backend, and its sources without using the cache."""
    backend, left = inputs.read_backend()
    if not inputs.wish.keep_going:
        return backend, Generated(sources(backend), inputs.unknown_fields(), by_cause(left))
    backend, files, more = sources_of_what_is_right(backend)
    return backend, Generated(files, inputs.unknown_fields(), by_cause([*left, *more]))


def _code_stamp() -> str:
    """Return a text that changes with the generating code, so that changes to opbridge never meet stale sources."""
    folders = (_PACKAGE / "codegen", _PACKAGE / "waist" / "manifest", _PACKAGE / "waist" / "schema")
    files = [file for folder in folders for file in files_below(folder)]
    return "\n".join(_stamp(file) for file in files if file.suffix in (".py", ".h"))


def _stamp(path: Path | None) -> str:
    if path is None:
        return ""
    status = os.stat(path)
    return f"{path} {status.st_size} {status.st_mtime_ns}"
