"""Convert the operators of a manifest to operators of a CPU backend, with the C++ functions that run them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from textwrap import indent

from opbridge.base.errors import Location, ManifestError
from opbridge.codegen.backend import Backend, BackendKernel, BackendOperator, Derivative, TargetBackend, kernel_name
from opbridge.codegen.eject.expressions import Sizes, arguments
from opbridge.codegen.eject.formulas import missing, translated
from opbridge.codegen.outputs.generated_sources import HEADER, in_namespace, includes
from opbridge.codegen.unboxed_types import Signature, quoted
from opbridge.waist.manifest import Manifest, OpSpec
from opbridge.waist.rules.outputs import FromKernel, Like, ShapeDtype
from opbridge.waist.rules.value_kinds import Kind
from opbridge.waist.schema import Argument, OptionalType, Schema

_EVERYWHERE = "CompositeExplicitAutograd"
"""The key of kernels that are called for any tensors, or for none, and report what they cannot take."""


@dataclass(frozen=True)
class Ejected:
    """One operator with the parts of its manifest that become C++."""

    spec: OpSpec
    outputs: tuple[Like | ShapeDtype, ...]
    """The rule of each new output."""
    operator: BackendOperator
    source: str
    """The source of its kernel, as the manifest names it."""
    symbol: str

    @property
    def schema(self) -> Schema:
        """The schema of the operator."""
        return self.operator.schema


def ejected(manifest: Manifest, cpp_namespace: str | None) -> tuple[Backend, tuple[Ejected, ...]]:
    """Return the backend and the operators of a manifest, sorted by name.

    Raises:
        ManifestError: An operator has no CPU kernel in source form, or no complete `out` rule.
    """
    target = TargetBackend(manifest.namespace, "CPU", cpp_namespace or f"{manifest.namespace}::native")
    known = {spec.schema.full_name: spec.schema for spec in manifest.ops}
    found = tuple(_one(spec, target, known) for spec in manifest.ops)
    backend = Backend.of(target, (each.operator for each in found), is_ejected=True)
    return backend, tuple(sorted(found, key=lambda each: each.schema.full_name))


def _one(spec: OpSpec, target: TargetBackend, known: Mapping[str, Schema]) -> Ejected:
    schema, where = spec.schema, spec.where or Location("", 1, 1)
    ref = spec.kernel("cpu")
    name = schema.full_name
    if ref is None:
        have = ", ".join(kernel.device for kernel in spec.kernels)
        hint = f"it has one for {have}; add `cpu: FILE`, or say --key KEY to write the backend's kernels yourself"
        raise ManifestError(f"{name} has no kernel for the CPU, and others are not taken over", where, hint)
    if ref.path is None or ref.is_library:
        what = (
            f"PyTorch's own {ref.operator}" if ref.path is None else f"the library {ref.path}, which is built already"
        )
        hint = "give the source of its kernel" if ref.path else "call that one, or write a kernel"
        raise ManifestError(f"{name} is {what}, which is not taken over", where, hint)
    outputs = tuple(rule for rule in spec.rules.out if not isinstance(rule, FromKernel))
    if len(outputs) < len(spec.rules.out):
        raise ManifestError(f"{name} has no `out` rule: only its kernel knows its outputs", where, "add an `out` rule")
    functions = f"{target.namespace}::meta::{kernel_name(schema)}"
    kernels = [BackendKernel(_EVERYWHERE, f"{target.cpp_namespace}::{kernel_name(schema)}")]
    if schema.tensor_arguments:
        kernels.append(BackendKernel("Meta", functions, symint=True))
    operator = BackendOperator(schema, tuple(kernels), where, derivative=_derivative(spec, known))
    return Ejected(spec, outputs, operator, ref.path, ref.symbol or schema.name)


def _derivative(spec: OpSpec, known: Mapping[str, Schema]) -> Derivative | None:
    """Return the derivative of an operator.

    One without formulas also has a derivative: it reports the lack when a gradient is required.
    """
    schema = spec.schema
    returned = {each.name for each in map(schema.aliased_argument, schema.returns) if each}
    is_silent = any(argument.name not in returned for argument in schema.mutable_arguments)
    has_optional_list = any(map(_is_optional_list, schema.tensor_arguments))
    if not schema.returns or not schema.tensor_arguments or schema.out_arguments or is_silent or has_optional_list:
        return None
    formulas = [translated(derivative, schema, known, spec.where) for derivative in spec.rules.gradients]
    said = {name for formula in formulas for name in formula.arguments}
    formulas += [missing(schema, argument) for argument in schema.tensor_arguments if argument.name not in said]
    return Derivative(tuple(formulas), (True,) * len(schema.returns))


def _is_optional_list(argument: Argument) -> bool:
    return isinstance(argument.type, OptionalType) and argument.type.elem.is_list


def kernels_source(backend: Backend, operators: tuple[Ejected, ...]) -> str:
    """Return Kernels.cpp, which allocates the outputs by the `out` rules and calls the kernels."""
    headers = HEADER + includes('"KernelCall.h"', '"Kernels.h"')
    rules = [text for each in operators for text in _rules(each)]
    calls = [_call(each, backend.target.namespace) for each in operators]
    metas = [_meta(each) for each in operators if each.schema.tensor_arguments]
    parts = [in_namespace("", rules)] if rules else []
    parts.append(in_namespace(backend.target.cpp_namespace, calls))
    parts.append(in_namespace(f"{backend.target.namespace}::meta", metas))
    return "\n".join([headers, *parts])


def library_name(namespace: str, source: str) -> str:
    """Return the name of the library that is built from one kernel source."""
    return f"_{namespace}_{re.sub(r'[^A-Za-z0-9]', '_', source.rpartition('.')[0])}"


def _rule_name(each: Ejected, index: int) -> str:
    return f"{each.operator.identifier}_out{index}"


def _rules(each: Ejected) -> Iterator[str]:
    for index, rule in enumerate(each.outputs):
        if not isinstance(rule, Like):
            parameters = ", ".join(f"const auto& {name}" for name in _used(each, rule))
            whose = quoted(each.schema.full_name)
            yield (
                f"// {each.schema}\n// out: {_spelled(rule)}\n"
                f"inline Like {_rule_name(each, index)}({parameters}) {{\n"
                f"  return named({whose}, [&] {{ return like({{{_described(each, rule)}}}); }});\n}}\n"
            )


def _described(each: Ejected, rule: ShapeDtype) -> str:
    sizes = Sizes(each.schema, arguments(each.schema), each.spec.where)
    return f"{sizes.as_kind(rule.shape, Kind.INTS)}, {sizes.as_kind(rule.dtype, Kind.DTYPE)}"


def _spelled(rule: Like | ShapeDtype) -> str:
    return " ".join(str(rule.field()).replace("'", "").split())


def _used(each: Ejected, rule: ShapeDtype) -> list[str]:
    """Return the arguments that a rule uses."""
    names = set(re.findall(r"[A-Za-z_]\w*", _described(each, rule)))
    return [argument.name for argument in each.schema.arguments if argument.name in names]


def _call(each: Ejected, namespace: str) -> str:
    signature = Signature.of(each.operator, symint=False)
    schema = each.schema
    library = f"{library_name(namespace, each.source)}.so"
    named = ", ".join(map(quoted, (schema.full_name, library, each.symbol)))
    body = [f"static const Kernel kernel({named});"]
    body += _refusals(schema)
    body.append("KernelCall call(kernel);")
    for argument in schema.arguments:
        body.append(f"call.{_handed(argument)};")
    if _pairs_elements(each):
        body.append("call.require_equal_shapes();")
    outputs = [_output(each, index, rule) for index, rule in enumerate(each.outputs)]
    body += [f"auto output{index} = call.output({text});" for index, text in enumerate(outputs)]
    body.append("call.run();")
    body += _returned(schema)
    lines = indent("\n".join(body), "  ")
    return f"// {schema}\n{signature.head(kernel_name(schema))} {{\n{lines}\n}}\n"


def _refusals(schema: Schema) -> list[str]:
    returned = {each.name for each in map(schema.aliased_argument, schema.returns) if each}
    tensors = [argument for argument in schema.tensor_arguments if str(argument.type) == "Tensor"]
    silent = [argument for argument in schema.mutable_arguments if argument.name not in returned]
    return [
        f"refuse_gradient({quoted(schema.full_name)}, {quoted(written.name)}, {tensor.name});"
        for written in silent[:1]
        for tensor in tensors
    ]


def _handed(argument: Argument) -> str:
    name = f"{quoted(argument.name)}, {argument.name}"
    if not argument.is_tensor:
        return f"value({name})"
    is_list = argument.type.is_list or _is_optional_list(argument)
    return f"{'tensors' if is_list else 'tensor'}({name}{', /*is_written=*/true' if argument.mutable else ''})"


def _pairs_elements(each: Ejected) -> bool:
    """Return whether the kernel visits all tensors at once, so that they must have equal shapes."""
    batch = each.spec.rules.batch
    return str(batch) == "elementwise" and all(isinstance(rule, Like) for rule in each.outputs)


def _output(each: Ejected, index: int, rule: Like | ShapeDtype) -> str:
    if isinstance(rule, Like):
        argument = each.schema.argument(rule.argument)
        is_optional = argument.type.is_optional
        return f"given({argument.name}, {quoted(argument.name)})" if is_optional else argument.name
    return f"{_rule_name(each, index)}({', '.join(_used(each, rule))})"


def _returned(schema: Schema) -> list[str]:
    """Return the statement that returns new outputs and written arguments, in the order of the schema."""
    if not schema.returns:
        return []
    names, made = [], 0
    for return_ in schema.returns:
        argument = schema.aliased_argument(return_)
        names.append(argument.name if argument else f"output{made}")
        made += argument is None
    if len(names) == 1:
        return [f"return {names[0]};"]
    return [f"return {{{', '.join(names)}}};"]


def _meta(each: Ejected) -> str:
    signature = Signature.of(each.operator, symint=True)
    body = []
    for index, rule in enumerate(each.outputs):
        text = _output(each, index, rule)
        body.append(f"auto output{index} = on_meta({text});")
    body += _returned(each.schema)
    lines = indent("\n".join(body), "  ")
    return f"{signature.head(kernel_name(each.schema))} {{{f'{chr(10)}{lines}{chr(10)}' if body else ''}}}\n"
