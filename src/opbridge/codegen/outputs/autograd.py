"""Output d: gradients, from the formulas of derivatives.yaml.

    Autograd_N.cpp    a torch::autograd::Function for each operator with a derivative, registered for the autograd key

A formula runs through the dispatcher like any code, so that it can be differentiated again.  It sees its arguments, the
operator's results and `grad` as local variables, and the functions of at:: and of CustomFunctions.h.
"""

from __future__ import annotations

from collections.abc import Iterator
from textwrap import indent

from opbridge.codegen.cpp import Signature, quoted, wrapped
from opbridge.codegen.model import ONLY_IN_PYTORCH, Backend, Derivative, Formula, Operator
from opbridge.codegen.outputs.common import HEADER, found_handle, in_namespace, includes, shard_name, shards
from opbridge.errors import ManifestError
from opbridge.schema import Argument

_RESTORE = {
    "int": "toInt()",
    "float": "toDouble()",
    "bool": "toBool()",
    "Scalar": "toScalar()",
    "SymInt": "toSymInt()",
    "str": "toStringRef()",
    "ScalarType": "toScalarType()",
    "int[]": "toIntVector()",
    "int?": "toOptional<int64_t>()",
    "float?": "toOptional<double>()",
    "bool?": "toOptional<bool>()",
}
"""How an argument that is no tensor comes back from where a node keeps it."""


def autograd(backend: Backend) -> dict[str, str]:
    differentiable = [operator for operator in backend.operators if operator.derivative is not None]
    groups = shards(differentiable)
    key = f"Autograd{backend.target.key}"
    return {
        shard_name("Autograd", index, len(groups)): _source(group, key, bool(backend.custom))
        for index, group in enumerate(groups)
        if differentiable
    }


def _source(operators: tuple[Operator, ...], key: str, has_custom: bool) -> str:
    parts = []
    registered: dict[str, list[str]] = {}
    for operator in operators:
        if operator.derivative is not None:
            parts.append(_node(operator, operator.derivative))
            parts.append(_function(operator))
            line = f"  m.impl({quoted(operator.name)}, TORCH_FN({_name(operator)}));\n"
            registered.setdefault(operator.schema.namespace or "", []).append(line)
    spaces = sorted(space for space in registered if operators and space != "aten")
    using = "".join(f"using namespace {space}::ops;\n" for space in spaces)
    blocks = [f"TORCH_LIBRARY_IMPL({space}, {key}, m) {{\n{''.join(lines)}}}\n" for space, lines in registered.items()]
    own = HEADER + (includes('"CustomFunctions.h"') if has_custom else "")
    headers = includes("<ATen/ATen.h>", "<torch/csrc/autograd/custom_function.h>", "<torch/library.h>")
    names = "// What formulas name.\nusing namespace at;\n" + using
    return "\n".join([own, headers, in_namespace("", [names, *parts]), *blocks])


def _name(operator: Operator) -> str:
    return f"{operator.schema.namespace}_{operator.identifier}_autograd"


def _node(operator: Operator, derivative: Derivative) -> str:
    _refuse_unsupported(operator, derivative)
    signature = Signature.of(operator, symint=True)
    several = len(operator.schema.returns) > 1
    result = "torch::autograd::variable_list" if several else signature.result
    head = signature.head("forward", "torch::autograd::AutogradContext* ctx").replace(signature.result, result, 1)
    forward = "\n".join(indent(line, "    ") for line in _forward(operator, derivative, signature))
    backward = "\n".join(indent(line, "    ") for line in _backward(operator, derivative))
    name = f"{_name(operator)}_node"
    return (
        f"// {operator.schema}\nstruct {name} : torch::autograd::Function<{name}> {{\n"
        f"{indent(f'static {head} {{', '  ')}\n{forward}\n  }}\n\n"
        "  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* ctx,\n"
        "                                                 torch::autograd::variable_list outputs) {\n"
        f"{backward}\n  }}\n}};\n"
    )


def _refuse_unsupported(operator: Operator, derivative: Derivative) -> None:
    schema = operator.schema
    hint = f"write a kernel for the autograd key of {schema.full_name} instead"
    if schema.mutable_arguments:
        raise ManifestError(
            f"{schema.full_name} writes to its arguments; no derivative can be made", operator.where, hint
        )
    if any(return_.alias is not None for return_ in schema.returns):
        raise ManifestError(f"{schema.full_name} returns a view; no derivative can be made", operator.where, hint)
    for argument in schema.tensor_arguments:
        if str(argument.type) not in ("Tensor", "Tensor?"):
            message = f"{schema.full_name} takes {argument.type}; no derivative can be made"
            raise ManifestError(message, operator.where, hint)
    if any(str(return_.type) != "Tensor" for return_ in schema.returns):
        message = f"{schema.full_name} returns more than tensors; no derivative can be made"
        raise ManifestError(message, operator.where, hint)
    for name in sorted(_uses(derivative).intersection(ONLY_IN_PYTORCH)):
        message = f"a formula of {schema.full_name} uses {name}, which only PyTorch's own nodes have"
        raise ManifestError(message, operator.where, hint)
    for argument in _kept_values(operator, derivative):
        if str(argument.type) not in _RESTORE:
            message = f"a formula of {schema.full_name} uses {argument.name}, and {argument.type} cannot be kept"
            raise ManifestError(message, operator.where, hint)


def _uses(derivative: Derivative) -> frozenset[str]:
    return frozenset[str]().union(*(formula.uses for formula in derivative.formulas))


def _kept_tensors(operator: Operator, derivative: Derivative) -> list[Argument]:
    return [argument for argument in operator.schema.tensor_arguments if argument.name in _uses(derivative)]


def _kept_values(operator: Operator, derivative: Derivative) -> list[Argument]:
    return [argument for argument in operator.schema.attributes if argument.name in _uses(derivative)]


def _kept_results(operator: Operator, derivative: Derivative) -> list[tuple[int, str]]:
    """The results that formulas use, by number and by the name they are used by."""
    names = []
    for index, return_ in enumerate(operator.schema.returns):
        used_by = [f"result{index}", return_.name or ""] + (["result"] if len(operator.schema.returns) == 1 else [])
        names += [(index, name) for name in used_by if name in _uses(derivative)]
    return names


def _forward(operator: Operator, derivative: Derivative, signature: Signature) -> Iterator[str]:
    yield f"static const auto op = {found_handle(operator, signature)};"
    several = len(operator.schema.returns) > 1
    outputs = [f"output{index}" for index in range(len(operator.schema.returns))]
    target = f"auto [{', '.join(outputs)}]" if several else "auto output0"
    yield wrapped(
        f"{target} = [&] {{\n  at::AutoDispatchBelowADInplaceOrView below;\n  return op.call(",
        signature.names,
        ");\n}();",
    )
    plain = [f"output{index}" for index, through in enumerate(derivative.differentiable) if not through]
    if plain:
        yield f"ctx->mark_non_differentiable({{{', '.join(plain)}}});"
    for argument in operator.schema.tensor_arguments:
        if argument.type.is_optional:
            is_there = f"{argument.name} && {argument.name}->defined()"
            yield f"ctx->saved_data[{quoted(_presence(argument))}] = {is_there};"
    for argument in _kept_values(operator, derivative):
        yield f"ctx->saved_data[{quoted(argument.name)}] = {argument.name};"
    kept = [
        f"{argument.name}.value_or(at::Tensor())" if argument.type.is_optional else argument.name
        for argument in _kept_tensors(operator, derivative)
    ]
    kept += [f"output{index}" for index, _ in _kept_results(operator, derivative)]
    if kept:
        yield f"ctx->save_for_backward({{{', '.join(kept)}}});"
    yield f"return {{{', '.join(outputs)}}};" if several else "return output0;"


def _backward(operator: Operator, derivative: Derivative) -> Iterator[str]:
    through = [f"outputs[{index}]" for index, differentiable in enumerate(derivative.differentiable) if differentiable]
    uses = _uses(derivative)
    if "grads" in uses:
        yield f"const torch::autograd::variable_list grads = {{{', '.join(through)}}};"
    if "grad" in uses:
        yield f"const at::Tensor& grad = {through[0]};"
    for index, return_ in enumerate(operator.schema.returns):
        if f"grad_{return_.name}" in uses:
            yield f"const at::Tensor& grad_{return_.name} = outputs[{index}];"
    names = [argument.name for argument in _kept_tensors(operator, derivative)]
    names += [name for _, name in _kept_results(operator, derivative)]
    if names:
        yield "const auto saved = ctx->get_saved_variables();"
    for index, name in enumerate(names):
        yield f"const at::Tensor& {name} = saved[{index}];"
    for argument in _kept_values(operator, derivative):
        yield f"const auto {argument.name} = ctx->saved_data[{quoted(argument.name)}].{_RESTORE[str(argument.type)]};"
    yield from _needs(operator)
    for argument in operator.schema.tensor_arguments:
        yield f"at::Tensor gradient_of_{argument.name};"
    for formula in derivative.formulas:
        yield from _evaluated(formula)
    places = [
        f"gradient_of_{argument.name}" if argument.is_tensor else "at::Tensor()"
        for argument in operator.schema.arguments
    ]
    yield f"return {{{', '.join(places)}}};"


def _needs(operator: Operator) -> Iterator[str]:
    """Which gradients anybody asks for; PyTorch numbers the tensors that are there."""
    yield "size_t edge = 0;"
    for argument in operator.schema.tensor_arguments:
        is_there = f"ctx->saved_data[{quoted(_presence(argument))}].toBool() && " if argument.type.is_optional else ""
        yield f"[[maybe_unused]] const bool needs_{argument.name} = {is_there}ctx->needs_input_grad(edge++);"


def _presence(argument: Argument) -> str:
    return f"{argument.name} is there"


def _evaluated(formula: Formula) -> Iterator[str]:
    needed = [f"needs_{name}" for name in formula.arguments]
    text = " ".join(formula.text.split())
    yield f"if ({' || '.join(needed)}) {{"
    if "grad_input_mask" in formula.uses:
        yield f"  const ::std::array<bool, {len(needed)}> grad_input_mask = {{{', '.join(needed)}}};"
    names = [f"gradient_of_{name}" for name in formula.arguments]
    yield f"  {names[0]} = {text};" if len(names) == 1 else f"  ::std::tie({', '.join(names)}) = {text};"
    yield "}"


def _function(operator: Operator) -> str:
    signature = Signature.of(operator, symint=True)
    call = f"{_name(operator)}_node::apply({', '.join(signature.names)})"
    outputs = [f"outputs[{index}]" for index in range(len(operator.schema.returns))]
    body = (
        f"  return {call};"
        if len(outputs) == 1
        else f"  const auto outputs = {call};\n  return {{{', '.join(outputs)}}};"
    )
    return f"{signature.head(_name(operator))} {{\n{body}\n}}\n"
