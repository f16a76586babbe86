"""Read the dialect of PyTorch's native_functions.yaml: a list of functions, each with its kernel for every key."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

from opbridge.base.errors import Location, ManifestError, did_you_mean
from opbridge.base.names import is_identifier
from opbridge.codegen.backend import ATEN, COMPOSITE_KEYS, BackendKernel, BackendOperator, TargetBackend, kernel_name
from opbridge.codegen.inputs.dialect_reader import OrNothing, Path_, Source, mappings, names_in, placed, texts
from opbridge.waist.manifest.field_kinds import ByForm, Field, ListOf, Record, Table, Text
from opbridge.waist.schema import Alias, Argument, Return, Schema

_NAME = Text("a name")
_FLAG = Text("true or false", ("boolean",))
_NAMES = ByForm(Text("names"), sequence=ListOf(_NAME, "a list of names"))

FUNCTION = Record(
    "a function",
    (
        Field("func", Text("a schema"), "Its schema; PyTorch's own where no `namespace::` stands before.", True),
        Field("variants", _NAMES, "`function`, `method` or both: how PyTorch's own Python offers it."),
        Field(
            "dispatch",
            OrNothing(Table(_NAME, "a mapping from keys to kernels")),
            "Its kernels, by one or more dispatch keys.",
        ),
        Field("device_guard", _FLAG, "Whether the wrapper makes the tensors' device current."),
        Field("device_check", _NAME, "`NoCheck`: tensors may be on different devices."),
        Field("structured", _FLAG, "An out variant whose kernel the other variants share."),
        Field("structured_delegate", _NAME, "The structured out variant whose kernel runs this function."),
        Field("structured_inherits", _NAME, "A PyTorch class that its meta function derives from."),
        Field("precomputed", ListOf(Text("a line"), "a list"), "Values its meta function hands to its kernel."),
        Field("ufunc_inner_loop", Table(Text("a ufunc"), "a mapping"), "A loop that PyTorch generates."),
        Field("autogen", _NAMES, "Variants that are made from this function."),
        Field("tags", _NAMES, "What PyTorch's passes may assume, such as `pointwise`."),
        Field("python_module", _NAME, "The module of torch that holds it."),
        Field("category_override", _NAME, "How PyTorch's own generator treats it."),
        Field("cpp_no_default_args", _NAMES, "Arguments without defaults in PyTorch's C++ interface."),
        Field("manual_cpp_binding", _FLAG, "PyTorch's C++ interface to it is hand-written."),
        Field("manual_kernel_registration", _FLAG, "Its kernels are registered by hand: nothing is generated."),
        Field("use_const_ref_for_mutable_tensors", _FLAG, "Outputs are const at::Tensor& in C++."),
        Field("deprecated", _FLAG, "PyTorch is about to remove it."),
    ),
)
FUNCTIONS = ListOf(FUNCTION, "a list of functions")


@dataclass(frozen=True, slots=True)
class NativeFunction:
    """One entry, with the facts that code generation for a backend needs."""

    schema: Schema
    """The schema with its namespace, which is that of PyTorch if none was written."""
    where: Location
    dispatch: Mapping[str, str]
    """One kernel per key; `CPU, CUDA: f` gives two."""
    delegate: str | None
    """The structured out variant that runs it, such as `add.out`."""
    structured: bool
    """Whether it is such an out variant."""
    autogen: tuple[str, ...]
    """Names of the variants to make from it."""
    guards_device: bool
    checks_devices: bool
    const_outputs: bool
    is_manual: bool
    """Whether its kernels are registered by hand."""

    def operator(self, kernels: Iterable[BackendKernel] = ()) -> BackendOperator:
        """Return the operator of the function, with the given kernels."""
        return BackendOperator(
            self.schema,
            tuple(kernels),
            self.where,
            guards_device=self.guards_device,
            checks_devices=self.checks_devices,
            takes_tensor_refs=self.structured or self.delegate is not None,
            const_outputs=self.const_outputs,
        )


Catalogue = Mapping[str, NativeFunction]
"""Functions by full name: namespace, name and overload."""


def functions(source: Source) -> dict[str, NativeFunction]:
    """Read every function that a file declares."""
    found: dict[str, NativeFunction] = {}
    for index, fields in mappings(source.read(FUNCTIONS)):
        function = _function(source, index, fields)
        if function is None:
            continue
        name = function.schema.full_name
        if name in found:
            source.refuse(f"{name} is declared twice", function.where, f"first at {found[name].where}")
        else:
            found[name] = function
    return found


def _function(source: Source, index: int, fields: dict[str, object]) -> NativeFunction | None:
    func = fields.get("func")
    if not isinstance(func, str):
        return None
    where = source.at(index, "func")
    schema = source.schema(func, where)
    if schema is None:
        return None
    path: Path_ = (index,)
    delegate = fields.get("structured_delegate")
    return NativeFunction(
        schema if schema.namespace else schema.with_namespace(ATEN),
        where,
        dispatch_of(fields),
        str(delegate) if delegate else None,
        source.flag(fields, "structured", path),
        names_in(fields.get("autogen")),
        guards_device=source.flag(fields, "device_guard", path, default=True),
        checks_devices=fields.get("device_check") != "NoCheck",
        const_outputs=source.flag(fields, "use_const_ref_for_mutable_tensors", path),
        is_manual=source.flag(fields, "manual_kernel_registration", path),
    )


def dispatch_of(fields: Mapping[str, object]) -> dict[str, str]:
    """Return the kernels of an entry by single keys."""
    pairs = texts(fields.get("dispatch")).items()
    return {key: function for keys, function in pairs for key in names_in(keys)}


def operators(source: Source, declared: Catalogue, target: TargetBackend) -> list[BackendOperator]:
    """Return the operators for which the target has a kernel, and those that are the file's own."""
    found: list[BackendOperator] = []
    for function in declared.values():
        if function.is_manual:
            continue
        operator = source.attempt(_operator, function, declared, target)
        if operator is None:
            continue
        found.append(operator)
        if operator.is_custom:
            made = [source.attempt(_autogenerated, function, operator, name) for name in function.autogen]
            found += [each for each in made if each is not None]
    return [operator for operator in found if operator.kernels or operator.is_custom]


def _operator(function: NativeFunction, declared: Catalogue, target: TargetBackend) -> BackendOperator:
    with placed(function.where):
        kernels = kernels_of(function.dispatch, target, own=function.schema.namespace != ATEN)
    if function.delegate is None:
        if not function.dispatch and not kernels and function.schema.namespace != ATEN:
            kernels = (kernel(COMPOSITE_KEYS[0], kernel_name(function.schema), target),)
        return function.operator(kernels)
    full_name = f"{function.schema.namespace}::{function.delegate}"
    delegate = declared.get(full_name)
    if delegate is None:
        structured = [other.schema.full_name for other in declared.values() if other.structured]
        near = did_you_mean(full_name, structured).replace(f"{function.schema.namespace}::", "")
        message = f"{function.schema.full_name} delegates to {function.delegate}, which is not declared"
        raise ManifestError(message, function.where, near or "declare the out variant in the same file")
    if not delegate.structured:
        hint = f"put `structured: True` on {function.delegate}"
        raise ManifestError(f"{full_name} is a delegate and not structured", delegate.where, hint)
    # Sharing applies to dense tensors; for others the function names its own kernels.
    dense = (each for each in kernels_of(delegate.dispatch, target, own=False) if each.key == target.key)
    shared = [replace(each, shared=True) for each in dense]
    others = [each for each in kernels if not shared or each.key != target.key]
    return replace(function.operator([*shared, *others]), derived_from=delegate.schema)


def _autogenerated(function: NativeFunction, operator: BackendOperator, name: str) -> BackendOperator:
    """Return the out variant of a function that returns new tensors."""
    base, _, overload = name.partition(".")
    if overload and not is_identifier(overload):
        raise ManifestError(f"'{overload}' cannot be the name of an overload", function.where)
    schema = function.schema
    returns_new = bool(schema.returns) and all(
        str(return_.type) == "Tensor" and return_.alias is None for return_ in schema.returns
    )
    if base != schema.name or not returns_new or schema.mutable_arguments or "out" not in overload:
        message = f"cannot make {name} from {schema.full_name}"
        raise ManifestError(message, function.where, "only out variants of functions that return new tensors are made")
    aliases = [Alias((chr(ord("a") + index),), True, ()) for index in range(len(schema.returns))]
    names = ["out"] if len(aliases) == 1 else [f"out{index}" for index in range(len(aliases))]
    outputs = tuple(
        Argument(output, return_.type, alias=alias, kwarg_only=True)
        for output, return_, alias in zip(names, schema.returns, aliases, strict=True)
    )
    returns = tuple(Return(None, return_.type, alias) for return_, alias in zip(schema.returns, aliases, strict=True))
    made = replace(schema, overload=overload, arguments=(*schema.arguments, *outputs), returns=returns)
    shared = tuple(replace(each, shared=True) for each in operator.kernels)
    return replace(operator, schema=made, kernels=shared, derived_from=schema)


def kernels_of(dispatch: Mapping[str, str], target: TargetBackend, *, own: bool) -> tuple[BackendKernel, ...]:
    """Return the kernels for the target; composite kernels of PyTorch's own operators already exist."""
    keys = (*target.family, *COMPOSITE_KEYS) if own else target.family
    return tuple(kernel(key, dispatch[key], target) for key in keys if key in dispatch)


def kernel(key: str, function: str, target: TargetBackend) -> BackendKernel:
    """Return a kernel named as in `dispatch`; by PyTorch's convention, its name shows whether it takes SymInts."""
    qualified = function if "::" in function else f"{target.cpp_namespace}::{function}"
    return BackendKernel(key, qualified, symint="symint" in function)


def with_aliases_of(official: Schema, schema: Schema) -> Schema:
    """Return a schema with PyTorch's aliases: the dispatcher accepts no kernel of other C++ types."""
    pairs = (official.arguments, schema.arguments), (official.returns, schema.returns)
    if any(len(theirs) != len(ours) for theirs, ours in pairs):
        return schema
    arguments = tuple(replace(ours, alias=theirs.alias) for theirs, ours in zip(*pairs[0], strict=True))
    returns = tuple(replace(ours, alias=theirs.alias) for theirs, ours in zip(*pairs[1], strict=True))
    return replace(schema, arguments=arguments, returns=returns)


Lookup = Callable[[], Catalogue]
"""A function that reads PyTorch's own functions on first use: most files declare everything they need."""
