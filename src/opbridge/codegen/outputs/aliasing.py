"""Generate the alias information for the backend's own operators that write to tensors or return views.

    ADInplaceOrView.cpp     increments the versions of written tensors, and records the base of a view
    Functionalization.cpp   replaces a write by a new tensor, and makes a view one that writes pass through

PyTorch already has both for its own operators.
"""

from __future__ import annotations

from collections.abc import Iterator
from textwrap import indent

from opbridge.codegen.backend import Backend, BackendOperator
from opbridge.codegen.outputs.generated_sources import HEADER, found_handle, in_namespace, includes
from opbridge.codegen.unboxed_types import Signature, quoted, wrapped
from opbridge.waist.schema import Argument, Schema

_COUNTED = "torch::autograd::autogradNotImplementedInplaceOrViewFallback"
_NAMED = "using torch::autograd::as_view;\nusing torch::autograd::CreationMeta;\n"
_MADE_BY = """\
  const auto made_by = c10::InferenceMode::is_enabled() ? CreationMeta::INFERENCE_MODE
                       : c10::GradMode::is_enabled()     ? CreationMeta::DEFAULT
                                                        : CreationMeta::NO_GRAD_MODE;
"""
_ENTER = "at::functionalization::impl::from_functional_tensor"


def aliasing(backend: Backend) -> dict[str, str]:
    """Return the files for operators that write or return views."""
    files = {}
    sharing = [operator for operator in backend.custom if operator.schema.mutable_arguments or _base(operator.schema)]
    if sharing:
        files["ADInplaceOrView.cpp"] = _versions_and_views(sharing)
    by_name = {operator.schema.full_name: operator for operator in backend.custom}
    functional = [(operator, _function(operator, by_name)) for operator in sharing]
    wrapped_ = [(operator, text) for operator, text in functional if text]
    if wrapped_:
        files["Functionalization.cpp"] = _functionalization(wrapped_)
    return files


def _versions_and_views(operators: list[BackendOperator]) -> str:
    views = [(operator, base) for operator in operators if (base := _base(operator.schema))]
    lines = {each.name: f"  m.impl({quoted(each.name)}, {_COUNTED}());\n" for each in operators}
    lines |= {each.name: f"  m.impl({quoted(each.name)}, TORCH_FN({_name(each)}_view));\n" for each, _ in views}
    headers = ["<torch/csrc/autograd/autograd_not_implemented_fallback.h>", "<torch/library.h>"]
    if views:
        headers = ["<ATen/core/dispatch/Dispatcher.h>", "<torch/csrc/autograd/VariableTypeUtils.h>", *headers]
    parts = [HEADER + includes(*headers)]
    parts += [in_namespace("", [_NAMED, *(_noted_view(*view) for view in views)])] if views else []
    return "\n".join([*parts, _blocks(operators, "ADInplaceOrView", lines)])


def _noted_view(operator: BackendOperator, base: Argument) -> str:
    """Return the function that records a view: PyTorch's fallback does too, but not for symbolic sizes."""
    signature = Signature.of(operator, symint=True)
    below = wrapped("return op.redispatch(", ["keys & c10::after_ADInplaceOrView_keyset", *signature.names], ");")
    return (
        f"// {operator.schema}\n{signature.head(f'{_name(operator)}_view', 'c10::DispatchKeySet keys')} {{\n"
        f"  static const auto op = {found_handle(operator, signature)};\n"
        f"  const auto view = [&] {{\n    const at::AutoDispatchBelowADInplaceOrView below;\n"
        f"{indent(below, '    ')}\n  }}();\n{_MADE_BY}"
        f"  const bool differentiable = true;\n"
        f"  return as_view({base.name}, view, differentiable, differentiable, nullptr, nullptr, made_by);\n}}\n"
    )


def _functionalization(operators: list[tuple[BackendOperator, str]]) -> str:
    headers = ["<ATen/ATen.h>", "<ATen/FunctionalTensorWrapper.h>", "<ATen/core/dispatch/Dispatcher.h>"]
    lines = {
        each.name: f"  m.impl({quoted(each.name)}, TORCH_FN({_name(each)}_functional));\n" for each, _ in operators
    }
    body = in_namespace("", [text for _, text in operators])
    blocks = _blocks([operator for operator, _ in operators], "Functionalize", lines)
    return "\n".join([HEADER + includes(*headers, "<torch/library.h>"), body, blocks])


def _blocks(operators: list[BackendOperator], key: str, lines: dict[str, str]) -> str:
    namespaces = dict.fromkeys(operator.schema.namespace for operator in operators)
    return "\n".join(
        f"TORCH_LIBRARY_IMPL({namespace}, {key}, m) {{\n"
        + "".join(lines[operator.name] for operator in operators if operator.schema.namespace == namespace)
        + "}\n"
        for namespace in namespaces
    )


def _name(operator: BackendOperator) -> str:
    return f"{operator.schema.namespace}_{operator.identifier}"


def _base(schema: Schema) -> Argument | None:
    """Return the tensor of which the operator's only result is a view."""
    if schema.mutable_arguments or len(schema.returns) != 1 or str(schema.returns[0].type) != "Tensor":
        return None
    argument = schema.aliased_argument(schema.returns[0])
    return argument if argument is not None and str(argument.type) == "Tensor" else None


def _function(operator: BackendOperator, by_name: dict[str, BackendOperator]) -> str:
    base = _base(operator.schema)
    signature = Signature.of(operator, symint=True)
    if base is not None:
        body = _view(operator, base, signature)
    elif _writes_and_returns(operator.schema):
        body = _write(operator, signature, _counterpart(operator, by_name))
    else:
        # When PyTorch compiles, it functionalizes operators without results itself.
        return ""
    lines = indent("\n".join(body), "  ")
    return f"// {operator.schema}\n{signature.head(f'{_name(operator)}_functional')} {{\n{lines}\n}}\n"


def _writes_and_returns(schema: Schema) -> bool:
    """Return whether the operator returns exactly the tensors that it writes to, in that order."""
    written = [argument.name for argument in schema.mutable_arguments]
    returned = [each.name if each else "" for each in map(schema.aliased_argument, schema.returns)]
    return bool(written) and written == returned and all(str(each.type) == "Tensor" for each in schema.returns)


def _counterpart(operator: BackendOperator, by_name: dict[str, BackendOperator]) -> BackendOperator | None:
    """Return the operator that returns the tensors this one writes: `f` for `f_` and `f.out`; None if there is none."""
    schema = operator.schema
    outputs = {argument.name for argument in schema.out_arguments}
    inputs = [(str(each.type), each.name) for each in schema.arguments if each.name not in outputs]
    base = f"{schema.namespace}::{schema.name if outputs else schema.name.removesuffix('_')}"
    for other in by_name.values():
        given = [(str(each.type), each.name) for each in other.schema.arguments]
        is_new = all(return_.alias is None for return_ in other.schema.returns)
        if other.schema.qualified_name == base and given == inputs and is_new and not other.schema.mutable_arguments:
            return other if len(other.schema.returns) == len(schema.returns) else None
    return None


def _inner(signature: Signature) -> Iterator[str]:
    """Yield the lines that unwrap functional tensors."""
    for parameter in signature.parameters:
        if parameter.argument.is_tensor:
            yield f"at::functionalization::impl::sync({parameter.name});"
            checked = "" if parameter.argument.type.is_list else ", /*assert_functional=*/false"
            yield f"const auto inner_{parameter.name} = {_ENTER}({parameter.name}{checked});"


def _names(signature: Signature, **other: str) -> list[str]:
    return [
        other.get(parameter.name) or (f"inner_{parameter.name}" if parameter.argument.is_tensor else parameter.name)
        for parameter in signature.parameters
    ]


def _write(operator: BackendOperator, signature: Signature, counterpart: BackendOperator | None) -> Iterator[str]:
    schema = operator.schema
    written = [argument.name for argument in schema.mutable_arguments]
    outputs = {argument.name for argument in schema.out_arguments}
    functional = [f"at::functionalization::impl::isFunctionalTensor({name})" for name in written]
    yield f"static const auto op = {found_handle(operator, signature)};"
    yield f"if (!{functional[0]}) {{" if len(functional) == 1 else f"if (!({' && '.join(functional)})) {{"
    yield "  const at::AutoDispatchSkipFunctionalize below;"
    yield indent(wrapped("return op.call(", signature.names, ");"), "  ")
    yield "}"
    yield from _inner(signature)
    if counterpart is None:
        # No operator returns what this one writes, so it writes to a copy.
        for name in written:
            yield f"auto new_{name} = inner_{name}.clone();"
        call = wrapped("op.call(", _names(signature, **{name: f"new_{name}" for name in written}), ");")
        yield "{\n  const at::AutoDispatchSkipFunctionalize below;\n" + indent(call, "  ") + "\n}"
    else:
        made = [f"new_{name}" for name in written]
        target = f"auto {made[0]}" if len(made) == 1 else f"auto [{', '.join(made)}]"
        other = Signature.of(counterpart, symint=True)
        names = [name for name, each in zip(_names(signature), signature.names, strict=True) if each not in outputs]
        call = wrapped("return functional.call(", names, ");")
        yield f"static const auto functional = {found_handle(counterpart, other)};"
        yield f"{target} = [&] {{\n  const at::AutoDispatchSkipFunctionalize below;\n{indent(call, '  ')}\n}}();"
    for name in written:
        yield f"at::functionalization::impl::replace_({name}, new_{name});"
        yield f"at::functionalization::impl::commit_update({name});"
        yield f"at::functionalization::impl::sync({name});"
    everything = f"::std::forward_as_tuple({', '.join(written)})"
    yield f"return {written[0] if len(written) == 1 else everything};"


def _view(operator: BackendOperator, base: Argument, signature: Signature) -> Iterator[str]:
    """Yield the lines of a view: PyTorch's invertible `as_strided` describes where its elements are."""
    yield f"static const auto op = {found_handle(operator, signature)};"
    yield from _inner(signature)
    call = wrapped("return op.call(", _names(signature), ");")
    yield f"const auto view = [&] {{\n  const at::AutoDispatchSkipFunctionalize below;\n{indent(call, '  ')}\n}}();"
    yield f"if (!at::functionalization::impl::isFunctionalTensor({base.name})) return view;"
    where = ["view.sym_sizes()", "view.sym_strides()", "view.sym_storage_offset()"]
    yield wrapped("return at::as_strided_symint(", [base.name, *where], ");")
