"""Generate a node of the autograd graph for each operator with a derivative: its saved values and its formulas."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from textwrap import indent

from opbridge.base.errors import ManifestError
from opbridge.codegen.backend import ATEN, ONLY_IN_PYTORCH, BackendOperator, Derivative, Formula
from opbridge.codegen.unboxed_types import CppParameter, Signature, quoted, value_type, wrapped
from opbridge.waist.schema import Argument, OptionalType, Return


@dataclass(frozen=True)
class Owned:
    """A value that outlives the call, for an argument that only refers to the caller's memory."""

    type: str
    made: str
    """The expression that makes it from the argument, whose name replaces `{0}`."""
    seen: str = "{0}"
    """The expression that formulas use in place of the argument."""


_OWNED = {
    "at::IntArrayRef": Owned("::std::vector<int64_t>", "{0}.vec()"),
    "c10::SymIntArrayRef": Owned("::std::vector<c10::SymInt>", "{0}.vec()"),
    "at::ArrayRef<double>": Owned("::std::vector<double>", "{0}.vec()"),
    "at::ArrayRef<at::Scalar>": Owned("::std::vector<at::Scalar>", "{0}.vec()"),
    "at::DimnameList": Owned("::std::vector<at::Dimname>", "{0}.vec()"),
    "at::OptionalIntArrayRef": Owned("OptionalList<int64_t>", "OptionalList<int64_t>({0})", "{0}.seen()"),
    "at::OptionalSymIntArrayRef": Owned("OptionalList<c10::SymInt>", "OptionalList<c10::SymInt>({0})", "{0}.seen()"),
    "c10::string_view": Owned("::std::string", "::std::string({0})"),
    "::std::optional<c10::string_view>": Owned("::std::optional<::std::string>", "{0}"),
}


@dataclass(frozen=True)
class Slot:
    """The position of a tensor among others: lengths of lists before it are known only in a call."""

    first: str
    count: str = ""
    """The length, if it is a list."""


def slots(arguments: list[Argument]) -> dict[str, Slot]:
    """Return the slot of each argument, by name."""
    number, lists, found = 0, "", {}
    for argument in arguments:
        first = f"{number}{lists}"
        if is_list(argument):
            found[argument.name] = Slot(first, size_of(argument.name))
            lists += f" + {size_of(argument.name)}"
        else:
            found[argument.name] = Slot(first)
            number += 1
    return found


def is_list(argument: Argument) -> bool:
    """Return whether the argument is a list of tensors."""
    return argument.type.is_list


def size_of(name: str) -> str:
    """Return the name of the variable with the length of a list."""
    return f"{name}_size"


def node_name(operator: BackendOperator) -> str:
    """Return a node name as PyTorch names its own.

    Examples are ScaledAddBackward for scaled_add and PrivateScaledAddBackward for _scaled_add.
    """
    words = [*([] if operator.is_custom else [ATEN]), *operator.identifier.split("_")]
    in_place = "InPlace" if operator.schema.name.endswith("_") else ""
    private = "Private" * (len(operator.identifier) - len(operator.identifier.lstrip("_")))
    return private + "".join(word[:1].upper() + word[1:] for word in words) + in_place + "Backward"


def node(operator: BackendOperator, derivative: Derivative) -> str:
    """Return the C++ struct of the node."""
    members = [*_members(operator, derivative)]
    name = node_name(operator)
    parts = [
        f"// {operator.schema}\nstruct {name} final : OperatorNode {{",
        indent(f"::std::string name() const override {{ return {quoted(name)}; }}\n", "  "),
        _method(
            f"void remember({', '.join(map(str, _remembered(operator, derivative)))}) {{",
            _remember(operator, derivative),
        ),
    ]
    if _used_results(operator, derivative):
        parameters = [
            f"const {result_type(operator, index)}& {result}" for index, result in _used_results(operator, derivative)
        ]
        head = f"void remember_results({', '.join(parameters)}, bool is_output, bool is_written_view = false) {{"
        parts.append(_method(head, _remember_results(operator, derivative)))
    head = "variable_list gradients(const variable_list& grads, const Wanted& wanted_) override {"
    parts.append(_method(head, _gradients(operator, derivative)))
    parts += [indent("\n".join(members), "  ")] if members else []
    return "\n".join(parts).rstrip() + "\n};\n"


def _method(head: str, body: Iterator[str]) -> str:
    lines = "\n".join(indent(line, "  ") for line in body)
    return indent(f"{head}\n{lines}\n}}\n" if lines else f"{head}}}\n", "  ")


def result_type(operator: BackendOperator, index: int) -> str:
    """Return the type in which a result is saved: a tensor of the caller that is written to is a tensor too."""
    return value_type(operator.schema.returns[index])


def remembers_results(operator: BackendOperator, derivative: Derivative) -> list[int]:
    """Return the numbers of the results that `remember_results` takes."""
    return [index for index, _ in _used_results(operator, derivative)]


def remembered(operator: BackendOperator, derivative: Derivative) -> list[str]:
    """Return the arguments that `remember` takes."""
    return [parameter.name for parameter in _remembered(operator, derivative)]


def _remembered(operator: BackendOperator, derivative: Derivative) -> list[CppParameter]:
    """Return the arguments that formulas use, and all lists: their lengths determine the places of gradients."""
    signature = Signature.of(operator, symint=True)
    found = []
    for parameter in signature.parameters:
        if parameter.name in derivative.uses or (parameter.argument.is_tensor and is_list(parameter.argument)):
            type_ = "const at::Tensor&" if parameter.type == "at::Tensor&" else parameter.type
            found.append(CppParameter(type_, parameter.name, parameter.argument))
    return found


def _members(operator: BackendOperator, derivative: Derivative) -> Iterator[str]:
    for parameter in _remembered(operator, derivative):
        plain = parameter.type.removeprefix("const ").removesuffix("&")
        if parameter.argument.is_tensor and is_list(parameter.argument):
            yield f"size_t {size_of(parameter.name)} = 0;"
        elif not parameter.argument.is_tensor:
            yield f"{_OWNED[plain].type if plain in _OWNED else plain} {kept_as(parameter.name)}{{}};"
    for index, name in _used_results(operator, derivative):
        if not _is_tensor(operator, index):
            yield f"{result_type(operator, index)} {kept_as(name)}{{}};"
        elif operator.schema.returns[index].type.is_list:
            yield f"size_t {size_of(name)} = 0;"


def kept_as(name: str) -> str:
    """Return the member for a value: its own name may be that of a member that all nodes have."""
    return f"kept_{name}"


def _remember(operator: BackendOperator, derivative: Derivative) -> Iterator[str]:
    for parameter in _remembered(operator, derivative):
        name, argument = parameter.name, parameter.argument
        if not argument.is_tensor:
            owned = _OWNED[parameter.type].made.format(name) if parameter.type in _OWNED else name
            yield f"{kept_as(name)} = {owned};"
    for argument in _kept(operator, derivative):
        if not is_list(argument):
            yield f"keep({argument.name});"
    for argument in operator.schema.tensor_arguments:
        if is_list(argument):
            kept = argument.name in derivative.uses
            yield f"{size_of(argument.name)} = {f'keep_all({argument.name})' if kept else f'{argument.name}.size()'};"


def _remember_results(operator: BackendOperator, derivative: Derivative) -> Iterator[str]:
    for index, name in _used_results(operator, derivative):
        if not _is_tensor(operator, index):
            yield f"{kept_as(name)} = {name};"
        elif operator.schema.returns[index].type.is_list:
            yield f"{size_of(name)} = keep_all({name}, is_output);"
        else:
            yield f"keep({name}, is_output, is_written_view);"


def _kept(operator: BackendOperator, derivative: Derivative) -> list[Argument]:
    """Return the tensors that formulas use: single ones first, which have fixed places."""
    used = [argument for argument in operator.schema.tensor_arguments if argument.name in derivative.uses]
    return sorted(used, key=is_list)


def _is_tensor(operator: BackendOperator, index: int) -> bool:
    return _of_tensors(operator.schema.returns[index])


def _used_results(operator: BackendOperator, derivative: Derivative) -> list[tuple[int, str]]:
    """Return the results that formulas use, by number and by the name in the formula."""
    arguments = {argument.name for argument in operator.schema.arguments}
    names = []
    for index, return_ in enumerate(operator.schema.returns):
        used_by = [f"result{index}", return_.name or ""] + (["result"] if len(operator.schema.returns) == 1 else [])
        names += [(index, name) for name in used_by if name in derivative.uses and name not in arguments]
    return names


def _kept_results(operator: BackendOperator, derivative: Derivative) -> list[tuple[int, str]]:
    """Return the tensors among the used results, which the graph saves."""
    return [each for each in _used_results(operator, derivative) if _is_tensor(operator, each[0])]


def _gradients(operator: BackendOperator, derivative: Derivative) -> Iterator[str]:
    tensors = list(operator.schema.tensor_arguments)
    places = slots(tensors)
    lists = [f" + {size_of(argument.name)}" for argument in tensors if is_list(argument)]
    yield f"variable_list found_({len(tensors) - len(lists)}{''.join(lists)});"
    yield from _incoming(operator, derivative)
    yield from _unpacked(operator, derivative)
    for formula in derivative.formulas:
        yield from _evaluated(formula, places)
    yield "return found_;"


def _incoming(operator: BackendOperator, derivative: Derivative) -> Iterator[str]:
    arguments = {argument.name for argument in operator.schema.arguments}
    if "grad" in derivative.uses - arguments:
        yield "const at::Tensor& grad = grads[0];"
    position = 0
    for return_, through in zip(operator.schema.returns, derivative.differentiable, strict=True):
        if through and f"grad_{return_.name}" in derivative.uses - arguments:
            yield f"const at::Tensor& grad_{return_.name} = grads[{position}];"
        position += through


def _unpacked(operator: BackendOperator, derivative: Derivative) -> Iterator[str]:
    for parameter in _remembered(operator, derivative):
        if not parameter.argument.is_tensor:
            seen = _OWNED[parameter.type].seen if parameter.type in _OWNED else "{0}"
            yield f"const auto& {parameter.name} = {seen.format(kept_as(parameter.name))};"
    for index, name in _used_results(operator, derivative):
        if not _is_tensor(operator, index):
            yield f"const auto& {name} = {kept_as(name)};"
    number, lists = 0, ""
    for argument in _kept(operator, derivative):
        if is_list(argument):
            yield f"const auto {argument.name} = kept({number}{lists}, {size_of(argument.name)});"
            lists += f" + {size_of(argument.name)}"
        else:
            yield f"const at::Tensor {argument.name} = kept({number});"
            number += 1
    for index, name in _kept_results(operator, derivative):
        if operator.schema.returns[index].type.is_list:
            yield f"const auto {name} = kept({number}{lists}, {size_of(name)});"
        else:
            yield f"const at::Tensor {name} = kept({number}{lists});"
            number += 1


def wanted(slot: Slot) -> str:
    """Return the C++ condition that the gradient of a slot is needed."""
    return f"any_of(wanted_, {slot.first}, {slot.count})" if slot.count else f"wanted_[{slot.first}]"


def _evaluated(formula: Formula, places: dict[str, Slot]) -> Iterator[str]:
    needed = [wanted(places[name]) for name in formula.arguments]
    text = " ".join(formula.text.split())
    yield f"if ({' || '.join(needed)}) {{"
    if "grad_input_mask" in formula.uses:
        yield f"  const ::std::array<bool, {len(needed)}> grad_input_mask = {{{', '.join(needed)}}};"
    if len(formula.arguments) == 1:
        yield f"  {_put(formula.arguments[0], places, text)}"
    elif not any(places[name].count for name in formula.arguments):
        # A function may return more gradients than are needed here.
        targets = ", ".join(f"found_[{places[name].first}]" for name in formula.arguments)
        yield f"  take_first(::std::tie({targets}), {text});"
    else:
        yield f"  const auto values_ = {text};"
        for index, name in enumerate(formula.arguments):
            yield f"  {_put(name, places, f'::std::get<{index}>(values_)')}"
    yield "}"


def _put(name: str, places: dict[str, Slot], value: str) -> str:
    slot = places[name]
    if slot.count:
        return wrapped("put(", ["found_", slot.first, slot.count, value, quoted(name)], ");")
    return f"found_[{slot.first}] = {value};"


def why_not(operator: BackendOperator, derivative: Derivative) -> ManifestError | None:
    """Return the error that prevents a node, or None."""
    reason = _reason(operator, derivative)
    if reason is None:
        return None
    message, hint = reason
    return ManifestError(message, derivative.where or operator.where, hint)


def _reason(operator: BackendOperator, derivative: Derivative) -> tuple[str, str] | None:
    schema = operator.schema
    hint = f"write a kernel for the autograd key of {schema.full_name} instead"
    if schema.out_arguments:
        message = f"{schema.full_name} writes to tensors that callers hand over; no derivative can be made"
        return message, "give the variant without `out` a derivative"
    written = [argument.name for argument in schema.mutable_arguments]
    returned = {each.name for each in map(schema.aliased_argument, schema.returns) if each}
    for name in written:
        if name not in returned:
            return f"{schema.full_name} writes to '{name}' without returning it; no derivative can be made", hint
    for argument in schema.tensor_arguments:
        if isinstance(argument.type, OptionalType) and argument.type.elem.is_list:
            return f"{schema.full_name} takes {argument.type}; no derivative can be made", hint
    lists = [return_ for return_ in schema.returns if return_.type.is_list and return_.type.base == "Tensor"]
    if (lists and len(schema.returns) > 1) or not any(map(_of_tensors, schema.returns)):
        returns = ", ".join(str(return_.type) for return_ in schema.returns)
        return f"{schema.full_name} returns {returns or 'nothing'}; no derivative can be made", hint
    for name in sorted(derivative.uses.intersection(ONLY_IN_PYTORCH)):
        return f"a formula of {schema.full_name} uses {name}, which only PyTorch's own nodes have", hint
    return None


def _of_tensors(return_: Return) -> bool:
    return return_.type.base == "Tensor"
