"""A library of operators as its author declared it, in `ops.yaml` or in code."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import starmap
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from opbridge.base.errors import InputError, Location, ManifestError
from opbridge.base.names import is_identifier, is_special
from opbridge.waist.manifest.field_kinds import Reader
from opbridge.waist.manifest.fields import MANIFEST, OPERATOR
from opbridge.waist.manifest.kernel_origins import KernelRef
from opbridge.waist.manifest.samples import Sample
from opbridge.waist.manifest.yaml_printer import to_yaml
from opbridge.waist.rules import Rules
from opbridge.waist.rules.operator_rules import RULES, RuleFields, brought, check_keywords
from opbridge.waist.rules.value_kinds import Locate, no_location
from opbridge.waist.schema import Schema

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from opbridge.waist.formulas import FormulaOperators
    from opbridge.waist.manifest.yaml_reader import Document

_SPECIAL = "Python keeps names that begin and end with '__' for itself"
_TAKEN_NAMESPACES = ("aten", "prim", "prims")
_ERRORS_SHOWN = 20
_NO_RULES = {field.name for field in OPERATOR.fields} - {*RULES}

T = TypeVar("T")


class ManifestErrors(ManifestError):
    """All errors in one manifest."""

    def __init__(self, file: str, errors: Sequence[InputError]) -> None:
        first = errors[0]
        super().__init__(first.message, first.where, first.hint)
        self.errors = tuple(errors)
        if len(errors) > 1:
            shown = [str(error) for error in errors[:_ERRORS_SHOWN]]
            more = [f"and {len(errors) - len(shown)} more"] if len(errors) > len(shown) else []
            self.args = ("\n".join([f"{file} has {len(errors)} errors", *shown, *more]),)


@dataclass(frozen=True)
class OpSpec:
    """The declaration of an operator."""

    schema: Schema
    rules: Rules
    kernels: tuple[KernelRef, ...]
    samples: tuple[Sample, ...] = ()
    where: Location | None = field(default=None, compare=False)
    root: Path | None = field(default=None, compare=False)
    """The folder that kernel paths are relative to; None means the current folder."""
    formula: str | None = None
    said: frozenset[str] = frozenset(RULES)
    """The rules that the author wrote; all others are derived from the formula."""
    is_derived: bool = False
    """Whether it is the backward generated from another operator's formula, which no manifest declares."""

    @classmethod
    def of_formula(
        cls, schema: str | Schema, formula: str, *, device: str | None = None, **rules: Unpack[RuleFields]
    ) -> tuple[OpSpec, ...]:
        """Return the operator of a formula, followed by its backward if it has one.

        Kernels are generated for `device`, or for all devices.
        """
        check_keywords(rules)
        parsed = Schema.parse(schema) if isinstance(schema, str) else schema
        _check_unspecial(parsed, None)
        samples = tuple(rules.pop("samples", ()))
        given = {name: value for name, value in rules.items() if value is not None}
        entry = _DeclaredOperator(parsed, {"formula": formula, "samples": samples, **given})
        return entry.derived(entry.generated(device))

    @classmethod
    def create(
        cls,
        schema: str | Schema,
        *,
        kernels: Mapping[str, str],
        operators: Mapping[str, Schema] | None = None,
        root: Path | None = None,
        **rules: Unpack[RuleFields],
    ) -> OpSpec:
        """Return the operator that an equivalent manifest entry declares; errors have no place in a file."""
        check_keywords(rules)
        parsed = Schema.parse(schema) if isinstance(schema, str) else schema
        _check_unspecial(parsed, None)
        samples = rules.pop("samples", ())
        entry = _DeclaredOperator(parsed, {name: value for name, value in rules.items() if value is not None})
        refs = tuple(entry.kernel(device, text) for device, text in kernels.items())
        return cls(
            parsed,
            entry.rules(operators or {}, refs),
            refs,
            tuple(entry.sample(index, values) for index, values in enumerate(samples)),
            root=root,
        )

    def without_formula(self, root: Path) -> OpSpec:
        """Return the operator with its kernels as files in a folder and with all rules explicit."""
        kernels = tuple(replace(kernel, source=None) for kernel in self.kernels)
        said = frozenset(RULES)
        return replace(self, kernels=kernels, root=root, formula=None, said=said, is_derived=False)

    def kernel(self, device: str) -> KernelRef | None:
        """Return the kernel for a device, or None."""
        return next((kernel for kernel in self.kernels if kernel.device == device), None)

    def file(self, kernel: KernelRef) -> Path:
        """Return the path of a kernel's file.

        Raises:
            ManifestError: There is no such file.
        """
        if kernel.path is None:
            raise ValueError(f"{kernel} is an operator, not a file")
        path = (self.root or Path()) / kernel.path
        if not os.path.isfile(path):
            from opbridge.waist.manifest.yaml_reader import missing_file

            raise missing_file(path, kernel.where)
        return path

    def fields(self) -> dict[str, object]:
        """Return the fields of a manifest entry for this operator."""
        kernels = {kernel.device: kernel.text(self.schema.name) for kernel in self.kernels if kernel.source is None}
        samples = [sample.fields() for sample in self.samples]
        rules = {name: value for name, value in self.rules.fields().items() if name in self.said}
        fields = {"func": str(self.schema), "formula": self.formula, "samples": samples or None, **rules}
        fields["kernels"] = kernels or None
        names = (field.name for field in OPERATOR.fields)
        return {name: fields[name] for name in names if fields.get(name) is not None}


@dataclass(frozen=True)
class Manifest:
    """A library of operators."""

    namespace: str
    ops: tuple[OpSpec, ...]
    path: Path | None = field(default=None, compare=False)

    @classmethod
    def load(cls, path: str | Path, *, allow_outside: bool = False) -> Manifest:
        """Read a manifest file; its kernels must be in its folder unless `allow_outside`.

        Raises:
            ManifestErrors: The manifest has errors.
            ManifestError: The file cannot be read.
        """
        from opbridge.waist.manifest.yaml_reader import read_bytes

        path = Path(path)
        return cls.decode(read_bytes(path), path, allow_outside=allow_outside)

    @classmethod
    def decode(cls, data: bytes, path: Path, *, allow_outside: bool = False) -> Manifest:
        """Read a manifest from the bytes of the file at `path`."""
        from opbridge.waist.manifest.yaml_reader import decode

        manifest = cls._read(decode(data, path), str(path), path.parent, allow_outside)
        return replace(manifest, path=path)

    @classmethod
    def parse(cls, text: str, *, file: str = "ops.yaml", root: Path | None = None) -> Manifest:
        """Read a manifest from its text; `root` is the folder of its kernels."""
        return cls._read(text, file, root, allow_outside=False)

    @staticmethod
    def _read(text: str, file: str, root: Path | None, allow_outside: bool) -> Manifest:
        from opbridge.waist.manifest.yaml_reader import Document

        try:
            document = Document(text, file)
        except ManifestError as error:
            raise ManifestErrors(file, [error]) from None
        return _ManifestReader(document, root, allow_outside).manifest()

    def __str__(self) -> str:
        """Return canonical YAML, which parses to an equal manifest."""
        entries = []
        for op in self.ops:
            if op.is_derived:
                continue
            fields = op.fields()
            fields["func"] = str(fields["func"]).removeprefix(f"{self.namespace}::")
            entries.append(fields)
        return to_yaml({"namespace": self.namespace, "ops": entries})


@dataclass(frozen=True)
class _DeclaredOperator:
    """One operator while it is read: its schema is parsed, and its fields have only been checked for form."""

    schema: Schema
    fields: Mapping[str, object]
    locate: Locate = no_location

    def at(self, *path: str | int) -> Location | None:
        return self.locate(path)

    def rules(self, operators: Mapping[str, Schema], kernels: Sequence[KernelRef]) -> Rules:
        fields = {name: value for name, value in self.fields.items() if name not in _NO_RULES}
        framework_says = any(kernel.operator for kernel in kernels)
        if framework_says:
            self.check_operator(kernels)
        kernel_may_say = any(kernel.may_say_outputs(self.schema.name) for kernel in kernels)
        return Rules.parse(
            fields,
            self.schema,
            operators=operators,
            locate=self.locate,
            kernel_may_say=kernel_may_say,
            framework_says=framework_says,
        )

    def check_operator(self, kernels: Sequence[KernelRef]) -> None:
        """Check a kernel that is an operator of a framework.

        The same operator must serve all devices. An `aten::` operator has every rule but `flops` and `launch`. For
        other operators, PyTorch reports their rules when they are loaded.
        """
        named = next(kernel for kernel in kernels if kernel.operator)
        other = next((kernel for kernel in kernels if kernel.operator != named.operator), None)
        if other is not None:
            raise ManifestError(
                f"{self.schema.full_name}: {named} for {named.device} and {other} for {other.device} do not mix",
                self.at("kernels", other.device),
                f"{named} runs on every device PyTorch has it for; name it for all, or give every device a file",
            )
        if named.is_pytorchs_own:
            for rule in RULES.values():
                if rule.is_brought and rule.name in self.fields:
                    raise brought(self.schema.full_name, str(named), rule.name, self.at(rule.name))

    def kernel(self, device: str, text: str) -> KernelRef:
        where = self.at("kernels", device)
        return KernelRef.parse(device, text, default_symbol=self.schema.name, where=where)

    def generated(self, device: str | None = None) -> FormulaOperators:
        """Return the operators generated from the formula."""
        from opbridge.waist.formulas import formula_operators  # imported here because most operators have none

        wants_backward = not self.fields.keys() & {"derivatives", "backward"}
        return formula_operators(str(self.fields["formula"]), self.schema, self.at("formula"), wants_backward, device)

    def derived(
        self,
        generated: FormulaOperators,
        operators: Mapping[str, Schema] | None = None,
        kernels: Sequence[KernelRef] = (),
        root: Path | None = None,
    ) -> tuple[OpSpec, ...]:
        """Return the operator of a formula, followed by its backward if it has one."""
        schemas = {**(operators or {}), **{item.schema.full_name: item.schema for item in generated.all}}
        said = frozenset(name for name in RULES if self.fields.get(name) is not None)
        found = []
        for item in generated.all:
            is_derived = item is not generated.forward
            entry = self if is_derived else replace(self, fields=_merged(item.rules, self.fields))
            entry = _DeclaredOperator(item.schema, item.rules) if is_derived else entry
            own = tuple(kernels) if not is_derived else ()
            taken = {kernel.device for kernel in own}
            refs = [
                KernelRef(device, item.file(device), item.symbol, source=item.source(device))
                for device in generated.devices
                if device not in taken
            ]
            samples = () if is_derived else tuple(starmap(self.sample, enumerate(_items(self.fields.get("samples")))))
            rules = entry.rules(schemas, (*own, *refs))
            if said and not is_derived:
                from opbridge.waist.formulas.declared_rules import check_said

                check_said(str(self.fields["formula"]), rules, said, item, {name: self.at(name) for name in said})
            found.append(
                OpSpec(
                    item.schema,
                    rules,
                    (*own, *refs),
                    samples,
                    self.at("func"),
                    root,
                    None if is_derived else str(self.fields["formula"]),
                    frozenset() if is_derived else said,
                    is_derived,
                )
            )
        return tuple(found)

    def sample(self, index: int, values: object) -> Sample:
        return Sample.parse(values, self.schema, lambda path: self.at("samples", index, *path))


def _merged(follows: Mapping[str, object], said: Mapping[str, object]) -> dict[str, object]:
    """Return the rules of a formula, and what an author wrote in their place.

    For a reduction, `batch: elementwise` only allows leading batches; the pattern also says which samples fit.
    """
    keeps = said.get("batch") == "elementwise" and follows["batch"] != "loop"
    return {**follows, **said, **({"batch": follows["batch"]} if keeps else {})}


class _ManifestReader:
    """A reader in two rounds: it parses every schema first, because a formula may call any operator of the library."""

    def __init__(self, document: Document, root: Path | None, allow_outside: bool) -> None:
        self.document = document
        self.reader = Reader(document)
        self.root = root
        self.allow_outside = allow_outside
        self.inside: set[str | None] = set()
        """The kernel paths that were already checked."""

    def manifest(self) -> Manifest:
        fields = MANIFEST.read(self.document.root, self.reader)
        namespace = self.namespace(fields.get("namespace"))
        operators = fields.get("ops")
        entries = self.entries(operators, namespace) if isinstance(operators, list) else []
        schemas = {entry.schema.full_name: entry.schema for entry in entries}
        formulas = {
            entry.schema.full_name: self.reader.attempt(self.formula, entry, schemas)
            for entry in entries
            if entry.fields.get("formula") is not None
        }
        ops: list[OpSpec] = []
        for entry in entries:
            ops.extend(self.specs(entry, schemas, formulas))
        if self.reader.errors:
            raise ManifestErrors(self.document.file, sorted(self.reader.errors, key=_place))
        return Manifest(namespace, tuple(ops))

    def formula(self, entry: _DeclaredOperator, schemas: dict[str, Schema]) -> FormulaOperators:
        generated = entry.generated()
        for item in generated.all[1:]:
            if item.schema.full_name in schemas:
                hint = f"rename it, or say `backward: {item.schema.name}` if it is the gradient"
                message = f"{item.schema.full_name} is the name of this formula's gradient, and already declared"
                raise ManifestError(message, entry.at("formula"), hint)
            schemas[item.schema.full_name] = item.schema
        return generated

    def specs(
        self,
        entry: _DeclaredOperator,
        schemas: Mapping[str, Schema],
        formulas: Mapping[str, FormulaOperators | None],
    ) -> tuple[OpSpec, ...]:
        if entry.schema.full_name not in formulas:
            spec = self.spec(entry, schemas)
            return (spec,) if spec else ()
        generated = formulas[entry.schema.full_name]
        kernels = _present(
            [self.reader.attempt(self.kernel, entry, *pair) for pair in _pairs(entry.fields.get("kernels"))]
        )
        if generated is None or not all(_is_whole(entry.fields.get(name, "")) for name in RULES):
            return ()
        return self.reader.attempt(entry.derived, generated, schemas, kernels, self.root) or ()

    def namespace(self, name: object) -> str:
        if not isinstance(name, str):
            return ""
        if is_identifier(name) and not is_special(name) and name not in _TAKEN_NAMESPACES:
            return name
        hint = f"{name} belongs to PyTorch; choose a name of your own" if name in _TAKEN_NAMESPACES else ""
        hint = _SPECIAL if is_special(name) else hint
        where = self.document.location(self.document.root, ("namespace",))
        self.reader.errors.append(ManifestError(f"'{name}' cannot be a namespace; expected a C++ name", where, hint))
        return ""

    def entries(self, operators: list[dict[str, object]], namespace: str) -> list[_DeclaredOperator]:
        entries: dict[str, _DeclaredOperator] = {}
        for index, fields in enumerate(operators):

            def locate(path: tuple[str | int, ...], index: int = index) -> Location:
                return self.document.location(self.document.root, ("ops", index, *path))

            func = fields.get("func")
            schema = self.reader.attempt(self.schema, str(func), namespace, locate(("func",))) if func else None
            if schema is None:
                continue
            if schema.full_name in entries:
                first = entries[schema.full_name].at("func")
                message = f"operator {schema.full_name} is declared twice"
                self.reader.errors.append(ManifestError(message, locate(("func",)), f"first at {first}"))
            else:
                entries[schema.full_name] = _DeclaredOperator(schema, fields, locate)
        return list(entries.values())

    def schema(self, func: str, namespace: str, where: Location) -> Schema:
        schema = Schema.parse(func, where=where)
        if schema.namespace not in (None, namespace):
            hint = f"write `{schema.name}(...)`, or move it to a separate manifest"
            raise ManifestError(f"{schema.qualified_name} is not in the namespace {namespace}", where, hint)
        _check_unspecial(schema, where)
        return schema.with_namespace(namespace) if namespace else schema

    def spec(self, entry: _DeclaredOperator, schemas: Mapping[str, Schema]) -> OpSpec | None:
        rules = None
        found = [self.reader.attempt(self.kernel, entry, *pair) for pair in _pairs(entry.fields.get("kernels"))]
        kernels = _present(found)
        if all(_is_whole(entry.fields.get(name, "")) for name in RULES):
            rules = self.reader.attempt(entry.rules, schemas, kernels)
        samples = [self.reader.attempt(entry.sample, *pair) for pair in enumerate(_items(entry.fields.get("samples")))]
        if rules is None:
            return None
        return OpSpec(entry.schema, rules, kernels, _present(samples), entry.at("func"), self.root)

    def kernel(self, entry: _DeclaredOperator, device: str, text: str) -> KernelRef:
        kernel = entry.kernel(device, text)
        if not self.allow_outside and kernel.path not in self.inside:
            kernel.check_inside(self.root, entry.at("kernels", device))
            self.inside.add(kernel.path)
        return kernel


def _check_unspecial(schema: Schema, where: Location | None) -> None:
    """Check that no name is special: an operator becomes an attribute, and its namespace one of torch.ops."""
    for name in filter(None, (schema.namespace, schema.name)):
        if is_special(name):
            raise ManifestError(f"{schema.qualified_name}: '{name}' cannot be a name here", where, _SPECIAL)


def _is_whole(value: object) -> bool:
    """Return whether every part of a field could be read."""
    if isinstance(value, Mapping):
        return all(map(_is_whole, value.values()))
    if isinstance(value, list):
        return all(map(_is_whole, value))
    return value is not None


def _pairs(value: object) -> list[tuple[str, str]]:
    return [(key, item) for key, item in value.items() if item is not None] if isinstance(value, Mapping) else []


def _items(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _present(items: Iterable[T | None]) -> tuple[T, ...]:
    return tuple(item for item in items if item is not None)


def _place(error: InputError) -> tuple[int, int]:
    return (error.where.line, error.where.column) if error.where else (0, 0)
