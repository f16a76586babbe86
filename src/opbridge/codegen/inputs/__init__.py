"""Read the files of every dialect into one backend; the keys at the start of a file determine its dialect."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from opbridge.base.errors import InputError, Location, ManifestError, did_you_mean
from opbridge.base.names import is_cpp_name, is_special
from opbridge.codegen.backend import (
    ATEN,
    BACKEND_KEYS,
    Backend,
    BackendKernel,
    BackendOperator,
    TargetBackend,
    kernel_name,
)
from opbridge.codegen.inputs import derivatives, native_functions, op_plugin
from opbridge.codegen.inputs.dialect_reader import Source
from opbridge.codegen.inputs.installed import installed_functions
from opbridge.waist.manifest import Manifest, ManifestErrors
from opbridge.waist.manifest.yaml_reader import read_bytes

_SIGNS = {
    "ops.yaml": ("ops", "namespace"),
    "op_plugin": ("all_version", "official", "custom"),
    "backend": ("backend", "cpp_namespace", "supported"),
    "deprecated": ("deprecated",),
}
"""Keys that identify a dialect whose file is a mapping."""

_FORMS = (
    "expected opbridge's ops.yaml (`namespace:`, `ops:`), PyTorch's native_functions.yaml (`- func: …`), "
    "torch_npu's op_plugin_functions.yaml (`all_version:`), npu_native_functions.yaml (`backend:`) "
    "deprecated.yaml (`deprecated:`), or derivatives.yaml of either"
)


@dataclass(frozen=True)
class Wish:
    """The options of a run, where the files do not determine them."""

    key: str = "PrivateUse1"
    namespace: str | None = None
    cpp_namespace: str | None = None
    torch_version: str | None = None
    strict: bool = False
    """Treat unknown fields as errors."""
    keep_going: bool = False
    """Leave out entries with errors."""


@dataclass(frozen=True)
class Inputs:
    """Everything that determines the result, before it is interpreted."""

    sources: tuple[Source, ...]
    wish: Wish

    @classmethod
    def read(cls, paths: Sequence[Path], wish: Wish) -> Inputs:
        """Read the files; raise ManifestErrors for all that cannot be read."""
        sources, errors = [], []
        for path in paths:
            try:
                sources.append(Source(path, read_bytes(path), wish.strict))
            except InputError as error:
                errors.append(error)
        if errors:
            raise ManifestErrors(", ".join(map(str, paths)), errors)
        return cls(tuple(sources), wish)

    def backend(self) -> Backend:
        """Return everything that the files declare; raise the errors of all files in one exception."""
        return self.read_backend()[0]

    def read_backend(self) -> tuple[Backend, tuple[InputError, ...]]:
        """Return the backend, and the errors of the entries that were left out.

        These are the entries that `keep_going` skips, and derivatives of operators that a missing file may declare.
        """
        left: list[InputError] = []
        while True:
            try:
                reading = _Reading(self)
                backend = reading.backend()
                return backend, (*reading.left_out, *left)
            except ManifestErrors as errors:
                if not self.wish.keep_going or not self._leave_out(errors):
                    raise
                left += errors.errors

    def _leave_out(self, errors: ManifestErrors) -> bool:
        files = {error.where.file if error.where else "" for error in errors.errors}
        by_file = {str(source.path): source for source in self.sources}
        return files <= by_file.keys() and all(
            by_file[file].leave_out([error for error in errors.errors if error.where and error.where.file == file])
            for file in files
        )

    def unknown_fields(self) -> tuple[str, ...]:
        """Return one line for each unknown field that was left out."""
        return tuple(
            f"{places[0]}: '{name}' is not known and left out, {len(places)} times"
            for source in self.sources
            for name, places in source.unknown_fields().items()
        )

    @property
    def is_manifest(self) -> bool:
        """Whether the only input is one ops.yaml, which includes its kernels."""
        return len(self.sources) == 1 and _dialect(self.sources[0]) == "ops.yaml"

    def manifest(self) -> Manifest:
        """Return the manifest of that ops.yaml."""
        source = self.sources[0]
        return Manifest.decode(source.data, source.path)


class _Reading:
    def __init__(self, inputs: Inputs) -> None:
        self.wish = inputs.wish
        self.sources = inputs.sources
        self.by_dialect: dict[str, list[Source]] = {}
        for source in inputs.sources:
            dialect = source.attempt(_dialect, source)
            if dialect is not None:
                self.by_dialect.setdefault(dialect, []).append(source)
        self.left_out: list[InputError] = []
        self._aten: native_functions.Catalogue | None = None

    def backend(self) -> Backend:
        declared = {source: native_functions.functions(source) for source in self.of("native")}
        self._given = {name: function for functions in declared.values() for name, function in functions.items()}
        plugins = {
            source: op_plugin.PluginFile.read(source, self.wish.torch_version) for source in self.of("op_plugin")
        }
        backends = {source: op_plugin.backend(source) for source in self.of("backend")}
        manifests = {source: self.manifest(source) for source in self.of("ops.yaml")}
        target = self.target([*backends.values()], [*manifests.values()])
        found: list[tuple[Source, Iterable[BackendOperator]]] = []
        for source, functions in declared.items():
            found.append((source, native_functions.operators(source, functions, target)))
        for source, plugin in plugins.items():
            found.append((source, op_plugin.operators(source, plugin.entries, target, self.aten)))
        elsewhere = {operator.schema.full_name: operator for _, some in found for operator in some}
        for source, named in backends.items():
            found.append((source, op_plugin.named_operators(source, named, target, self.aten, elsewhere)))
        for source, manifest in manifests.items():
            found.append((source, _of_manifest(manifest, target)))
        operators = self.merged(found)
        spoiled = frozenset(name for source in self.sources for name in source.spoiled)
        names = spoiled.union(*(plugin.names for plugin in plugins.values()))
        for source in self.of("deprecated"):
            operators = op_plugin.deprecations(source, operators, names)
        for source in self.of("derivatives"):
            entries = derivatives.entries(source, self.wish.torch_version)
            entries, others = self.declared(source, entries, operators, target)
            self.left_out += others
            operators = derivatives.with_derivatives(source, entries, operators, target, self.aten, spoiled)
        self.stop_on_errors()
        if not operators:
            where = ", ".join(str(source.path) for source in self.sources)
            message = f"{where}: no operator is declared for {target.key}"
            raise InputError(message, hint=self.other_keys() or "name its kernels for this key")
        return Backend.of(target, operators)

    def of(self, dialect: str) -> list[Source]:
        return self.by_dialect.get(dialect, [])

    def aten(self) -> native_functions.Catalogue:
        """Return PyTorch's own functions: from the inputs if they have any, else from the installed PyTorch."""
        if self._aten is None:
            given = {name: each for name, each in self._given.items() if name.startswith(f"{ATEN}::")}
            self._aten = given or _installed_catalogue()
        return self._aten

    def manifest(self, source: Source) -> Manifest:
        try:
            return Manifest.decode(source.data, source.path)
        except ManifestErrors as errors:
            source.reader.errors.extend(errors.errors)
            return Manifest("", ())

    @property
    def lacks_backend(self) -> bool:
        """Whether torch_npu's list of operators is given without the file that completes it."""
        return bool(self.of("op_plugin")) and not self.of("backend")

    def declared(
        self,
        source: Source,
        entries: list[derivatives.DerivativeEntry],
        operators: Iterable[BackendOperator],
        target: TargetBackend,
    ) -> tuple[list[derivatives.DerivativeEntry], list[InputError]]:
        """Return the entries to use, and an error for each whose operator only a missing file can declare."""
        if not self.lacks_backend or source.is_list:
            return entries, []
        known = {operator.schema.full_name for operator in operators}
        kept = [each for each in entries if any(map(known.__contains__, derivatives.candidates(each, target)))]
        aten = self.aten() if len(kept) < len(entries) else {}
        others = [each for each in entries if each not in kept]
        spoiled = {name for each in self.sources for name in each.spoiled}
        missing = [
            each
            for each in others
            if aten.keys().isdisjoint(derivatives.candidates(each, target))
            and each.schema.full_name.rpartition("::")[2] not in spoiled
        ]
        return [each for each in entries if each not in missing], [_undeclared(each) for each in missing]

    def target(self, backends: Sequence[op_plugin.NamedBackend], manifests: Sequence[Manifest]) -> TargetBackend:
        own = {function.schema.namespace or "" for function in self._given.values()} - {ATEN}
        said = [named.name.lower() for named in backends] + [manifest.namespace for manifest in manifests] + sorted(own)
        said += ["npu"] if self.lacks_backend else []
        namespace = self.wish.namespace or (said[0] if said else "")
        if not is_cpp_name(namespace) or "::" in namespace or is_special(namespace) or namespace == ATEN:
            self.stop_on_errors()  # Such errors may be the reason that the files name none.
            got = f"got '{namespace}'" if namespace else "the files name none"
            raise InputError(f"expected a namespace for the backend's own operators, {got}", hint="--namespace NAME")
        return TargetBackend(namespace, self.wish.key, self.wish.cpp_namespace or f"{namespace}::native")

    def merged(self, found: Iterable[tuple[Source, Iterable[BackendOperator]]]) -> list[BackendOperator]:
        """Merge operators: files may name kernels for different keys, but not two for one key."""
        operators: dict[str, BackendOperator] = {}
        for source, some in found:
            for operator in some:
                name = operator.schema.full_name
                known = operators.get(name)
                if known is None:
                    operators[name] = operator
                    continue
                kernels = [kernel for kernel in operator.kernels if known.kernel(kernel.key) is None]
                if not kernels or str(known.schema) != str(operator.schema):
                    source.refuse(f"{name} is declared twice", operator.where, f"first at {known.where}")
                else:
                    operators[name] = replace(known, kernels=(*known.kernels, *kernels))
        return list(operators.values())

    def other_keys(self) -> str:
        named = {key for function in self._given.values() for key in function.dispatch}
        keys = [key for key in BACKEND_KEYS if key in named]
        return f"kernels are named for {', '.join(keys)}: choose one by --key, or name some of your own" if keys else ""

    def stop_on_errors(self) -> None:
        errors = [error for source in self.sources for error in sorted(source.reader.errors, key=_place)]
        if errors:
            files = ", ".join(str(source.path) for source in self.sources if source.reader.errors)
            raise ManifestErrors(files, errors)


def _undeclared(entry: derivatives.DerivativeEntry) -> ManifestError:
    message = (
        f"{entry.schema.full_name} has a derivative, and only npu_native_functions.yaml, which is not given, could"
    )
    return ManifestError(f"{message} declare it", entry.where)


def _dialect(source: Source) -> str:
    keys = source.keys
    if source.is_list and "func" in keys:
        return "native"
    if "backward" in keys or (source.is_list and "name" in keys):
        return "derivatives"
    best = max(_SIGNS, key=lambda dialect: len(keys & set(_SIGNS[dialect])))
    if not source.is_list and keys & set(_SIGNS[best]):
        return best
    known = ["func", *(key for signs in _SIGNS.values() for key in signs)]
    near = next(filter(None, (did_you_mean(key, known) for key in sorted(keys))), "")
    raise ManifestError("this is not a file of declarations", source.at(), f"{near}\n  {_FORMS}" if near else _FORMS)


def _of_manifest(manifest: Manifest, target: TargetBackend) -> list[BackendOperator]:
    """Return the operators of an ops.yaml, whose kernels are C++ functions named by PyTorch's convention."""
    return [
        BackendOperator(
            spec.schema,
            (BackendKernel(target.key, f"{target.cpp_namespace}::{kernel_name(spec.schema)}"),),
            spec.where or Location(str(manifest.path), 1, 1),
        )
        for spec in manifest.ops
    ]


@functools.lru_cache(maxsize=1)
def _installed_catalogue() -> native_functions.Catalogue:
    path = installed_functions()
    if path is None:
        hint = "give PyTorch's native_functions.yaml as one more file, or install PyTorch"
        raise InputError("the list of PyTorch's operators is needed here and not found", hint=hint)
    return native_functions.functions(Source(path, path.read_bytes()))


def _place(error: InputError) -> tuple[int, int]:
    return (error.where.line, error.where.column) if error.where else (0, 0)
