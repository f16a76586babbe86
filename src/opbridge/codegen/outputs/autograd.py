"""Output d: gradients, from the formulas of derivatives.yaml.

    AutogradNodes.h       the shared parts of nodes, and functions that formulas call
    VariableType_N.cpp    a node for each operator with a derivative, and the autograd kernel that creates it

A formula runs through the dispatcher like any code, so it can be differentiated again. It uses its arguments, the
operator's results and `grad` as local variables, and the functions of at:: and of CustomFunctions.h. Forward mode
uses a separate formula, or the formulas of the gradients as linear functions of `grad`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from textwrap import indent

from opbridge.base.errors import ManifestError
from opbridge.codegen.backend import ATEN, ELEMENT_WISE, LINEAR, Backend, BackendOperator, Derivative, Tangent
from opbridge.codegen.outputs.autograd_nodes import is_list, node, node_name, remembered, remembers_results
from opbridge.codegen.outputs.generated_sources import HEADER, found_handle, in_namespace, includes, shard_name, shards
from opbridge.codegen.unboxed_types import Signature, quoted, wrapped
from opbridge.waist.schema import Argument

_SHARED = Path(__file__).parent.parent / "headers" / "AutogradNodes.h"


def autograd(backend: Backend) -> dict[str, str]:
    """Return the files for operators with derivatives."""
    differentiable = [_as_formulas_name_it(each) for each in backend.operators if each.derivative is not None]
    if not differentiable:
        return {}
    groups = shards(differentiable)
    files = {"AutogradNodes.h": HEADER + _SHARED.read_text(encoding="utf-8")}
    for index, group in enumerate(groups):
        source = _source(group, backend)
        files[shard_name("VariableType", index, len(groups))] = source
    return files


def _as_formulas_name_it(operator: BackendOperator) -> BackendOperator:
    named = operator.derivative and operator.derivative.schema
    return replace(operator, schema=named) if named else operator


def _source(operators: tuple[BackendOperator, ...], backend: Backend) -> str:
    parts = []
    registered: dict[str, list[str]] = {}
    for operator in operators:
        if operator.derivative is not None:
            parts.append(node(operator, operator.derivative))
            parts.append(_function(operator, operator.derivative))
            line = f"  m.impl({quoted(operator.name)}, TORCH_FN({_name(operator)}));\n"
            registered.setdefault(operator.schema.namespace or "", []).append(line)
    using = "".join(f"using namespace {space}::ops;\n" for space in sorted(registered) if space != ATEN)
    blocks = [
        f"TORCH_LIBRARY_IMPL({space}, {backend.autograd_key}, m) {{\n{''.join(lines)}}}\n"
        for space, lines in registered.items()
    ]
    own = ['"AutogradNodes.h"', *(['"CustomFunctions.h"'] if backend.custom else [])]
    if backend.is_ejected:
        # Its formulas use qualified names.
        own, names = [*own, '"Sizes.h"'], []
    else:
        names = ["// What formulas name.\nusing namespace at;\n" + using]
    includes_all = [HEADER + includes(*own), includes("<torch/library.h>")]
    return "\n".join([*includes_all, in_namespace("", [*names, *parts]), *blocks])


def _name(operator: BackendOperator) -> str:
    return f"{operator.schema.namespace}_{operator.identifier}_autograd"


def _function(operator: BackendOperator, derivative: Derivative) -> str:
    signature = Signature.of(operator, symint=True)
    lines = indent("\n".join(_body(operator, derivative, signature)), "  ")
    return f"// {operator.schema}\n{signature.head(_name(operator), 'c10::DispatchKeySet keys_')} {{\n{lines}\n}}\n"


def _body(operator: BackendOperator, derivative: Derivative, signature: Signature) -> Iterator[str]:
    """Yield the body of an autograd kernel: it runs the operator below autograd, and records the graph around it."""
    results = _results(operator)
    tensors = _through(operator, derivative)
    uses_node = remembers_results(operator, derivative)
    yield f"static const auto op_ = {found_handle(operator, signature)};"
    yield f"const bool records_ = torch::autograd::compute_requires_grad({', '.join(tensors)});"
    if not _is_view(operator):
        yield f"const bool moves_ = has_tangent({', '.join(tensors)});"
    written = operator.schema.mutable_arguments
    for argument in operator.schema.tensor_arguments:
        if argument.name in derivative.without_formula(operator.schema):
            where = f"{quoted(argument.name)}, {quoted(operator.schema.full_name)}"
            yield f"torch::autograd::check_no_requires_grad({argument.name}, {where});"
    for argument in written:
        yield f"torch::autograd::check_inplace({argument.name}, records_);"
    before = {argument.name: f"{argument.name}_before" for argument in written if _is_used(argument, derivative)}
    for name, copy in before.items():
        yield f"const at::Tensor {copy} = records_ || moves_ ? {name}.clone() : {name};"
    node_type = node_name(operator)
    edges = ", ".join(
        argument.name if argument.name in tensors else _no_edge(argument)
        for argument in operator.schema.tensor_arguments
    )
    kept = [before.get(name, name) for name in remembered(operator, derivative)]
    yield f"NodePtr<{node_type}> node_;"
    yield "if (records_) {"
    yield f"  node_ = make_node<{node_type}>();"
    yield f"  node_->set_next_edges(torch::autograd::collect_next_edges({edges}));"
    yield f"  node_->remember({', '.join(kept)});"
    yield "}"
    yield from _call(operator, signature, results)
    yield "if (node_) {"
    for index, (name, through) in enumerate(zip(results, derivative.differentiable, strict=True)):
        if through:
            connect = (
                "connect_written"
                if operator.schema.aliased_argument(operator.schema.returns[index]) in written
                else "connect"
            )
            yield f"  {connect}({name}, node_);"
    yield "}"
    if not _is_view(operator):
        yield "if (moves_) {"
        yield from (indent(line, "  ") for line in _forward(operator, derivative, results, before))
        yield "}"
    if uses_node:
        # A saved result keeps its tangent too.
        views = f", {results[0]}.is_view()" if written else ""
        kept_results = ", ".join(results[index] for index in uses_node)
        yield f"if (node_) node_->remember_results({kept_results}, true{views});"
    yield f"return {_returned(operator, results)};"


def _is_view(operator: BackendOperator) -> bool:
    """Return whether the result is a view: PyTorch makes its tangent itself, as a view of the argument's tangent."""
    schema = operator.schema
    return not schema.mutable_arguments and any(return_.alias is not None for return_ in schema.returns)


def _is_used(argument: Argument, derivative: Derivative) -> bool:
    """Return whether a formula uses the value that an argument had before the call."""
    tangents = {f"{argument.name}_p", f"original_{argument.name}_p"}
    return argument.name in derivative.uses or any(tangents & tangent.uses for tangent in derivative.tangents)


def _through(operator: BackendOperator, derivative: Derivative) -> list[str]:
    """Return the tensor arguments through which gradients pass."""
    without = {*derivative.without_gradient, *derivative.without_formula(operator.schema)}
    return [argument.name for argument in operator.schema.tensor_arguments if argument.name not in without]


def _no_edge(argument: Argument) -> str:
    """Return a placeholder for an argument without gradients, which keeps its place among the others."""
    if is_list(argument):
        return f"::std::vector<at::Tensor>({argument.name}.size())"
    return "at::Tensor()"


def _new(index: int) -> str:
    """Return the name of a result that is not an argument; argument names never end with an underscore."""
    return f"output{index}_"


def _results(operator: BackendOperator) -> list[str]:
    """Return the names of the results; a written and returned argument has its own name."""
    names = []
    for index, return_ in enumerate(operator.schema.returns):
        argument = operator.schema.aliased_argument(return_)
        names.append(argument.name if argument and argument.mutable else _new(index))
    return names


def _call(operator: BackendOperator, signature: Signature, results: list[str]) -> Iterator[str]:
    new = [name for index, name in enumerate(results) if name == _new(index)]
    call = wrapped("op_.redispatch(", ["keys_ & c10::after_autograd_keyset", *signature.names], ");")
    if not new:
        yield "{"
        yield "  const at::AutoDispatchBelowAutograd below_;"
        yield indent(call, "  ")
        yield "}"
        return
    names = [_new(index) for index in range(len(results))]
    target = f"auto {names[0]}" if len(names) == 1 else f"auto [{', '.join(names)}]"
    yield f"{target} = [&] {{"
    yield "  const at::AutoDispatchBelowAutograd below_;"
    yield indent(f"return {call}", "  ")
    yield "}();"


def _returned(operator: BackendOperator, results: list[str]) -> str:
    if len(results) == 1:
        return results[0]
    return f"{{{', '.join(results)}}}"


def _forward(
    operator: BackendOperator, derivative: Derivative, results: list[str], before: dict[str, str]
) -> Iterator[str]:
    if derivative.tangents:
        yield from _by_formulas(operator, derivative, results, before)
        return
    node_type = node_name(operator)
    signature = Signature.of(operator, symint=True)
    tensors = {parameter.name for parameter in signature.parameters if parameter.argument.is_tensor}
    through = [name for name, passes in zip(results, derivative.differentiable, strict=True) if passes]
    kept = [before.get(name, name) for name in remembered(operator, derivative)]
    names = [f"primal({name})" if _argument_of(name) in tensors else name for name in kept]
    yield f"const auto linear_ = make_node<{node_type}>();"
    yield f"linear_->remember({', '.join(names)});"
    uses = [_primal(operator, results, index) for index in remembers_results(operator, derivative)]
    if uses:
        yield f"linear_->remember_results({', '.join(uses)}, false);"
    arguments = ", ".join(
        before.get(argument.name, argument.name)
        if argument.name in _through(operator, derivative)
        else _no_edge(argument)
        for argument in operator.schema.tensor_arguments
    )
    primals = ", ".join(f"primal({name})" for name in through)
    yield f"const auto tangents_ = tangents_by_gradients(*linear_, flat({arguments}), flat({primals}));"
    if [str(return_.type) for return_ in operator.schema.returns] == ["Tensor[]"]:
        yield f"for (size_t i = 0; i < tangents_.size(); ++i) set_tangent({_new(0)}[i], tangents_[i], false);"
        return
    for index, name in enumerate(through):
        yield f"set_tangent({name}, tangents_[{index}], {_is_written(name)});"


def _primal(operator: BackendOperator, results: list[str], index: int) -> str:
    is_tensor = operator.schema.returns[index].type.base == "Tensor"
    return f"primal({results[index]})" if is_tensor else results[index]


def _is_written(result: str) -> str:
    return "false" if result.startswith("output") and result.endswith("_") else "true"


def _argument_of(name: str) -> str:
    return name.removesuffix("_before")


def _by_formulas(
    operator: BackendOperator, derivative: Derivative, results: list[str], before: dict[str, str]
) -> Iterator[str]:
    uses = frozenset[str]().union(*(_uses(operator, derivative, tangent) for tangent in derivative.tangents))
    for argument in operator.schema.tensor_arguments:
        name = argument.name
        for spelled in (f"{name}_p", f"original_{name}_p"):
            if spelled in uses:
                yield f"const auto {spelled} = primal({before.get(name, name)});"
        for spelled in (f"{name}_t", f"original_{name}_t"):
            if spelled in uses:
                yield f"const at::Tensor {spelled} = tangent_or_zeros({name}){'.clone()' if argument.mutable else ''};"
    for index, return_ in enumerate(operator.schema.returns):
        spelled_as = {f"result{index}", return_.name or ""} | ({"result"} if len(results) == 1 else set())
        for name in sorted(spelled_as & uses):
            yield f"const auto {name} = {_primal(operator, results, index)};"
    values: list[tuple[int, str]] = []
    for tangent in derivative.tangents:
        names = [f"tangent{result}" for result in tangent.results]
        values += zip(tangent.results, names, strict=True)
        target = f"at::Tensor {names[0]}" if len(names) == 1 else f"auto [{', '.join(names)}]"
        yield f"const {target} = {_forward_text(operator, derivative, tangent)};"
    for index, value in values:
        yield f"set_tangent({results[index]}, {value}, {_is_written(results[index])});"


def _uses(operator: BackendOperator, derivative: Derivative, tangent: Tangent) -> frozenset[str]:
    if tangent.text == LINEAR:
        return frozenset(f"{argument.name}_t" for argument in operator.schema.tensor_arguments)
    if tangent.text == ELEMENT_WISE:
        name = operator.schema.tensor_arguments[0].name
        return derivative.uses | {f"{name}_t", f"{name}_p"}
    return tangent.uses


def _forward_text(operator: BackendOperator, derivative: Derivative, tangent: Tangent) -> str:
    schema = operator.schema
    tensors = schema.tensor_arguments
    if tangent.text == LINEAR:
        if any(str(argument.type) != "Tensor" for argument in tensors) or len(schema.returns) != 1:
            raise _no_forward(operator, LINEAR, "one result of single tensors")
        names = [f"{argument.name}_t" if argument.is_tensor else argument.name for argument in schema.arguments]
        return wrapped("op_.call(", names, ")")
    if tangent.text == ELEMENT_WISE:
        through = _through(operator, derivative)
        single = [formula for formula in derivative.formulas if formula.arguments == tuple(through)]
        if len(through) != 1 or len(single) != 1 or len(schema.returns) != 1:
            raise _no_forward(operator, ELEMENT_WISE, "one result of one tensor, with one formula")
        name = through[0]
        parameters = f"const at::Tensor& grad, [[maybe_unused]] const at::Tensor& {name}"
        body = f"return at::Tensor({' '.join(single[0].text.split())});"
        return f"[&]({parameters}) {{\n  {body}\n}}({name}_t.conj(), {name}_p).conj()"
    return " ".join(tangent.text.split())


def _no_forward(operator: BackendOperator, text: str, needed: str) -> ManifestError:
    message = f"{operator.schema.full_name} cannot have `result: {text}`: that is for {needed}"
    hint = "leave `result` out: the forward derivative then follows from the formulas of the gradients"
    return ManifestError(message, operator.where, hint)
