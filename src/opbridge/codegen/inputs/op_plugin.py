"""Read the dialect of torch_npu: op_plugin_functions.yaml, npu_native_functions.yaml and deprecated.yaml.

The first declares operators in sections, each entry for a range of PyTorch versions. The second names additional
kernels of the backend. The third lists the operators that users should stop calling.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace

from opbridge.base.errors import InputError, Location, ManifestError, did_you_mean
from opbridge.codegen.backend import ATEN, BackendKernel, BackendOperator, TargetBackend, kernel_name
from opbridge.codegen.inputs import gen_opapi
from opbridge.codegen.inputs.dialect_reader import OrNothing, Path_, Source, mappings, names_in
from opbridge.codegen.inputs.native_functions import Lookup, dispatch_of, kernel, kernels_of, with_aliases_of
from opbridge.codegen.inputs.versions import Versions
from opbridge.waist.manifest.field_kinds import ByForm, Field, ListOf, Record, Table, Text
from opbridge.waist.schema import Schema

_NAME = Text("a name")
_FLAG = Text("true or false", ("boolean",))
_VERSIONS = ByForm(Text("versions"), sequence=ListOf(Text("a version"), "a range of versions"))
_NAMES = ByForm(Text("names"), sequence=ListOf(_NAME, "a list of names"))

ENTRY = Record(
    "an operator",
    (
        Field("func", Text("a schema"), "The operator's schema, without a namespace.", True),
        Field("acl_op", _VERSIONS, "Versions with a kernel on the older of CANN's interfaces."),
        Field("op_api", _VERSIONS, "Versions with a kernel on the newer one, aclnn."),
        Field("sparse", _VERSIONS, "Versions with a kernel for sparse tensors."),
        Field("exposed", _VERSIONS, "Versions whose Python package offers the operator by name."),
        Field("internal_format_opapi", _VERSIONS, "Versions whose aclnn kernel takes the device's own formats."),
        Field("gen_opapi", gen_opapi.KIND,
              "How a kernel is made: outputs with `size`, `dtype` and `name`; `exec`; `new_params`; "
              "or `structured_inherit`."),
        Field("dispatch", OrNothing(Table(_NAME, "a mapping from keys to kernels")), "Kernels for other keys."),
        Field("structured", _NAME, "The kernel of this out variant runs the other variants."),
        Field("structured_delegate", _NAME, "The out variant whose kernel runs this operator."),
        Field("structured_inherits", _NAME, "A class that its meta function derives from."),
        Field("tags", _NAMES, "What PyTorch's passes may assume, such as `nondeterministic_seeded`."),
        Field("device_check", _NAME, "`NoCheck`: tensors may be on different devices."),
        Field("device_guard", _FLAG, "Whether the wrapper makes the tensors' device current."),
        Field("use_const_ref_for_mutable_tensors", _FLAG, "Outputs are const at::Tensor& in C++."),
        Field("wrap_impl", _NAME, "The kernel's name, where it is not the usual one."),
        Field("impl_name", _NAME, "The same, in newer files."),
        Field("impl_ns", _NAME, "The C++ namespace of the kernel, where it is not the usual one."),
    ),
)  # fmt: skip
_SECTIONS = ("official", "custom", "autograd", "symint", "quant")
_ENTRIES = OrNothing(ListOf(ENTRY, "a list of operators"))

OP_PLUGIN = Record(
    "a file of op-plugin's",
    (
        Field("all_version", ListOf(Text("a version"), "a list of versions"), "Every version, oldest first.", True),
        Field("official", _ENTRIES, "Operators of PyTorch's."),
        Field("custom", _ENTRIES, "The backend's own operators."),
        Field("autograd", _ENTRIES, "Operators with a hand-written kernel for the backend's autograd key."),
        Field("symint", _ENTRIES, "Operators, of any section, whose kernel takes SymInts."),
        Field("quant", _ENTRIES, "Operators with a kernel for quantized tensors."),
    ),
)

_NAMED = OrNothing(ListOf(ByForm(Text("an operator"), ENTRY), "a list of operators"))
_BACKEND_SECTIONS = ("full_codegen", "supported", "autograd", "custom", "custom_autograd", "symint", "quant", "sparse")
BACKEND = Record(
    "a backend",
    (
        Field("backend", _NAME, "The backend's name; in small letters it is its namespace.", True),
        Field("cpp_namespace", _NAME, "The C++ namespace of its kernels.", True),
        Field("supported", _NAMED, "Operators of PyTorch's, by name."),
        Field("full_codegen", _NAMED, "The same, whose nodes a lazy backend generates: their kernels are its own too."),
        Field("ir_gen", _NAMED, "Operators that a lazy backend generates nodes for, and no kernels."),
        Field("autograd", _NAMED, "Operators of PyTorch's with a kernel for the backend's autograd key."),
        Field("custom", _NAMED, "The backend's own operators."),
        Field("custom_autograd", _NAMED, "The backend's own operators with a kernel for its autograd key."),
        Field("symint", _NAMED, "Operators whose kernel takes SymInts."),
        Field("quant", _NAMED, "Operators with a kernel for quantized tensors."),
        Field("sparse", _NAMED, "Operators with a kernel for sparse tensors."),
    ),
)

DEPRECATED = Record(
    "a list of deprecations",
    (
        Field(
            "deprecated",
            ListOf(
                Record(
                    "a deprecation",
                    (
                        Field("name", _NAME, "Name and overload of the operator.", True),
                        Field("replace", Text("a text"), "What to call instead."),
                    ),
                ),
                "a list of deprecations",
            ),
            "The operators that users are to stop calling.",
            True,
        ),
    ),
)


@dataclass(frozen=True, slots=True)
class PluginEntry:
    """One entry of a section, for the chosen version."""

    schema: Schema
    """The schema without a namespace: the section, or PyTorch, determines whose operator it is."""
    section: str
    where: Location
    fields: Mapping[str, object]
    generated: gen_opapi.Description | None
    is_sparse: bool
    is_exposed: bool
    guards_device: bool
    const_outputs: bool

    @property
    def checks_devices(self) -> bool:
        """Whether tensors must be on one device."""
        return self.fields.get("device_check") != "NoCheck"

    def function(self, target: TargetBackend, *, symint: bool) -> str:
        """Return the qualified name of the kernel."""
        name = self.fields.get("wrap_impl") or self.fields.get("impl_name") or kernel_name(self.schema, symint=symint)
        return f"{self.fields.get('impl_ns') or target.cpp_namespace}::{name}"


@dataclass
class _Merged:
    """Everything that several entries declare about one operator."""

    entry: PluginEntry
    sections: dict[str, PluginEntry] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PluginFile:
    """The contents of op_plugin_functions.yaml, for one version of PyTorch."""

    entries: tuple[PluginEntry, ...]
    names: frozenset[str]
    """The names of the operators of every version."""

    @classmethod
    def read(cls, source: Source, wanted: str | None) -> PluginFile:
        """Read a file for one PyTorch version; errors are recorded in the source."""
        file = source.read(OP_PLUGIN)
        fields = file if isinstance(file, dict) else {}
        known = names_in(fields.get("all_version"))
        versions = source.attempt(Versions.of, known, wanted, source.at("all_version"))
        if versions is None:
            return cls((), frozenset())
        places = [(section, index, entry) for section in _SECTIONS for index, entry in mappings(fields.get(section))]
        found = [_entry(source, versions, (section, index), entry) for section, index, entry in places]
        names = frozenset(str(entry.get("func", "")).partition("(")[0] for _, _, entry in places)
        return cls(tuple(entry for entry in found if entry is not None), names)


def _entry(source: Source, versions: Versions, path: Path_, fields: dict[str, object]) -> PluginEntry | None:
    func = fields.get("func")
    if not isinstance(func, str):
        return None
    where = source.at(*path, "func")
    schema = source.schema(func, where)

    def selects(name: str) -> bool:
        given = fields.get(name)
        selected = given is not None and source.attempt(versions.select, given, source.at(*path, name))
        if selected is None:
            source.spoil(func)
        return selected is True

    chosen = {name: selects(name) for name in ("acl_op", "op_api", "sparse", "exposed", "internal_format_opapi")}
    kernels = [name for name in ("acl_op", "op_api", "sparse") if name in fields]
    if schema is None or (kernels and not any(chosen[name] for name in kernels)):
        return None
    return PluginEntry(
        schema,
        str(path[0]),
        where,
        fields,
        gen_opapi.description(source, path, fields.get("gen_opapi")),
        is_sparse=chosen["sparse"],
        is_exposed=chosen["exposed"],
        guards_device=source.flag(fields, "device_guard", path, default=True),
        const_outputs=source.flag(fields, "use_const_ref_for_mutable_tensors", path),
    )


def operators(
    source: Source, found: Iterable[PluginEntry], target: TargetBackend, aten: Lookup
) -> list[BackendOperator]:
    """Return one operator for all entries that name it: `symint` and `quant` entries add to one elsewhere."""
    merged: dict[str, _Merged] = {}
    for entry in found:
        known = merged.setdefault(entry.schema.full_name, _Merged(entry))
        earlier = known.sections.get(entry.section)
        if earlier is not None:
            message = f"{entry.schema.full_name} is declared twice in `{entry.section}` for one version"
            source.refuse(message, entry.where, f"first at {earlier.where}")
        elif str(entry.schema) != str(known.entry.schema):
            message = f"{entry.schema.full_name} is declared with two schemas"
            source.refuse(message, entry.where, f"the other is {known.entry.schema}, at {known.entry.where}")
        known.sections.setdefault(entry.section, entry)
    described = {
        name: (entry.schema, entry.generated)
        for name, known in merged.items()
        for entry in known.sections.values()
        if entry.generated is not None
    }
    made = {name: source.attempt(_operator, source, known, target, aten, described) for name, known in merged.items()}
    for name, operator in made.items():
        if operator is None:
            source.spoil(name)
    return [operator for operator in made.values() if operator is not None]


def _operator(
    source: Source, merged: _Merged, target: TargetBackend, aten: Lookup, described: Mapping[str, gen_opapi.Described]
) -> BackendOperator:
    entry, sections = merged.entry, merged.sections
    name = entry.schema.full_name
    native = aten().get(f"{ATEN}::{name}") if "custom" not in sections else None
    is_official = "official" in sections or native is not None
    schema = entry.schema.with_namespace(ATEN if is_official else target.namespace)
    schema = schema if native is None else with_aliases_of(native.schema, schema)
    symint = "symint" in sections
    dense = sections.get("symint") or sections.get("official") or sections.get("custom")
    elsewhere = dispatch_of(dense.fields) if dense else {}
    kernels: list[BackendKernel] = list(kernels_of(elsewhere, target, own=not is_official))
    keys = {"autograd": f"Autograd{target.key}", "quant": f"Quantized{target.key}"}
    kernels += [
        BackendKernel(key, sections[section].function(target, symint=False))
        for section, key in keys.items()
        if section in sections
    ]
    generated = next((part.generated for part in sections.values() if part.generated), None)
    if dense is not None and generated is not None and not elsewhere:
        # The function that it calls takes numbers, whatever the schema declares.
        made = gen_opapi.launch(source, entry.schema, generated, described)
        kernels.append(BackendKernel(target.key, dense.function(target, symint=False), launch=made))
    elif dense is not None and not elsewhere:
        kernels.append(BackendKernel(target.key, dense.function(target, symint=symint), symint))
    if entry.is_sparse:
        kernels.append(BackendKernel(f"Sparse{target.key}", f"{entry.function(target, symint=False)}_sparse"))
    return BackendOperator(
        schema,
        tuple(kernels),
        entry.where,
        exposed=any(part.is_exposed for part in sections.values()),
        guards_device=entry.guards_device,
        checks_devices=entry.checks_devices and (native is None or native.checks_devices),
        takes_tensor_refs=native is not None and native.operator().takes_tensor_refs,
        const_outputs=entry.const_outputs or (native is not None and native.const_outputs),
    )


@dataclass(frozen=True, slots=True)
class NamedBackend:
    """The contents of npu_native_functions.yaml: the backend's name and its additional kernels."""

    name: str
    cpp_namespace: str
    fields: Mapping[str, object]


def backend(source: Source) -> NamedBackend:
    """Read npu_native_functions.yaml."""
    file = source.read(BACKEND)
    fields = file if isinstance(file, dict) else {}
    return NamedBackend(str(fields.get("backend", "")), str(fields.get("cpp_namespace", "")), fields)


def named_operators(
    source: Source, named: NamedBackend, target: TargetBackend, aten: Lookup, elsewhere: Mapping[str, BackendOperator]
) -> list[BackendOperator]:
    """Return the operators of npu_native_functions.yaml; those declared elsewhere need only a name there."""
    target = replace(target, cpp_namespace=named.cpp_namespace or target.cpp_namespace)
    keys = {
        "autograd": f"Autograd{target.key}",
        "custom_autograd": f"Autograd{target.key}",
        "quant": f"Quantized{target.key}",
        "sparse": f"Sparse{target.key}",
    }
    symint = {_text(item).partition("(")[0] for item in _items(named.fields.get("symint"))}
    own = {operator.name: operator for operator in elsewhere.values() if operator.is_custom}
    own |= {operator.name: operator for operator in _written_out(source, named, target, aten)}
    found: dict[str, BackendOperator] = {}
    for section in _BACKEND_SECTIONS:
        for index, item in enumerate(_items(named.fields.get(section))):
            where = source.at(section, index)
            key = keys.get(section, target.key)
            if key == target.key and _text(item) in own:
                continue  # Its declaration has its kernel.
            base = source.attempt(_declared, item, where, section, target, aten, own)
            if base is None:
                continue
            name = base.schema.full_name
            base = found.setdefault(name, base)
            if section == "symint":
                continue
            takes_symint = name.partition("::")[2] in symint
            function = _kernel_of(item) or kernel_name(base.schema, symint=takes_symint)
            elsewhere_named = kernels_of(_dispatch(item), target, own=base.is_custom)
            for made in elsewhere_named or (kernel(key, function, target),):
                if base.kernel(made.key) is not None:
                    source.refuse(f"{name} is named twice for {made.key}", where)
                else:
                    base = found[name] = replace(base, kernels=(*base.kernels, made))
    return list(found.values())


def _written_out(source: Source, named: NamedBackend, target: TargetBackend, aten: Lookup) -> Iterable[BackendOperator]:
    """Yield the backend's own operators, for which the file has the whole schema."""
    for section in _BACKEND_SECTIONS:
        for item in _items(named.fields.get(section)):
            if "(" in _text(item):
                with suppress(InputError):  # The error is reported where the item is read.
                    yield _declared(item, source.at(section), section, target, aten, {})


def _dispatch(item: object) -> dict[str, str]:
    return dispatch_of(item) if isinstance(item, dict) else {}


def _items(value: object) -> list[object]:
    return [item for item in value if item is not None] if isinstance(value, list) else []


def _text(item: object) -> str:
    return str(item.get("func", "")) if isinstance(item, dict) else str(item)


def _kernel_of(item: object) -> str:
    return str(item.get("wrap_impl") or item.get("impl_name") or "") if isinstance(item, dict) else ""


def _declared(
    item: object,
    where: Location,
    section: str,
    target: TargetBackend,
    aten: Lookup,
    own: Mapping[str, BackendOperator],
) -> BackendOperator:
    text = _text(item)
    if "(" in text:
        schema = Schema.parse(text, where=where)
        official = aten().get(f"{ATEN}::{schema.full_name}") if not section.startswith("custom") else None
        if official is not None:
            return official.operator()
        return BackendOperator(schema.with_namespace(target.namespace), (), where)
    if text in own:
        return replace(own[text], kernels=(), where=where)
    official = aten().get(f"{ATEN}::{text}")
    if official is None:
        near = did_you_mean(f"{ATEN}::{text}", aten()).replace(f"{ATEN}::", "")
        hint = near or "write its whole schema if it is the backend's own"
        raise ManifestError(f"PyTorch has no operator {text}", where, hint)
    return replace(official, where=where).operator()


def deprecations(
    source: Source, operators: Iterable[BackendOperator], other_names: frozenset[str]
) -> list[BackendOperator]:
    """Return the operators with their deprecations; `other_names` may be absent from the operators."""
    file = source.read(DEPRECATED)
    by_name = {operator.name: operator for operator in operators}
    for index, fields in mappings(file.get("deprecated") if isinstance(file, dict) else None):
        name = str(fields.get("name", ""))
        if name in by_name:
            by_name[name] = replace(by_name[name], deprecated=str(fields.get("replace") or ""))
        elif name and name not in other_names:
            where = source.at("deprecated", index, "name")
            source.refuse(f"{name} is deprecated and not declared", where, did_you_mean(name, by_name))
    return list(by_name.values())
