"""The types of PyTorch's unboxed calling convention: the C++ function that the dispatcher expects for a schema.

Arguments have the order of the schema, outputs included. The dispatcher compares these types with those of every
other kernel of an operator, so they must be exactly those of PyTorch.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from opbridge.base.errors import SchemaError
from opbridge.codegen.backend import BackendOperator
from opbridge.waist.schema import Argument, Default, EnumName, ListType, OptionalType, Return, Schema, Type

COLUMNS = 120
_WORD = re.compile(r"\w+")

_VALUES = {
    "Tensor": "at::Tensor",
    "Scalar": "at::Scalar",
    "int": "int64_t",
    "SymInt": "c10::SymInt",
    "SymBool": "c10::SymBool",
    "float": "double",
    "bool": "bool",
    "str": "c10::string_view",
    "ScalarType": "at::ScalarType",
    "Layout": "at::Layout",
    "Device": "at::Device",
    "DeviceIndex": "at::DeviceIndex",
    "MemoryFormat": "at::MemoryFormat",
    "Generator": "at::Generator",
    "QScheme": "at::QScheme",
    "Storage": "at::Storage",
    "Stream": "at::Stream",
    "Dimname": "at::Dimname",
    "complex": "c10::complex<double>",
}
_BY_REFERENCE = ("Tensor", "Scalar")
_ARRAYS = {
    "Tensor": "at::TensorList",
    "int": "at::IntArrayRef",
    "SymInt": "c10::SymIntArrayRef",
    "Dimname": "at::DimnameList",
}
_OPTIONAL_ARRAYS = {"int": "at::OptionalIntArrayRef", "SymInt": "at::OptionalSymIntArrayRef"}

_ENUMS = {
    "contiguous_format": "at::MemoryFormat::Contiguous",
    "preserve_format": "at::MemoryFormat::Preserve",
    "channels_last": "at::MemoryFormat::ChannelsLast",
    "Mean": "at::Reduction::Mean",
    "Sum": "at::Reduction::Sum",
    "strided": "at::kStrided",
    "long": "at::kLong",
    "int": "at::kInt",
    "float": "at::kFloat",
    "double": "at::kDouble",
    "half": "at::kHalf",
    "bool": "at::kBool",
}


@dataclass(frozen=True, slots=True)
class CppParameter:
    """A parameter of a C++ function, with the schema argument that it represents."""

    type: str
    name: str
    argument: Argument

    def __str__(self) -> str:
        return f"{self.type} {self.name}"


@dataclass(frozen=True, slots=True)
class Signature:
    """An operator as a C++ function."""

    result: str
    parameters: tuple[CppParameter, ...]

    @classmethod
    def of(cls, operator: BackendOperator, *, symint: bool) -> Signature:
        """Return the signature of an operator; with `symint`, sizes are c10::SymInt."""
        parameters = tuple(
            CppParameter(_argument_type(argument, operator, symint), argument.name, argument)
            for argument in operator.schema.arguments
        )
        return cls(result_type(operator.schema, const_outputs=operator.const_outputs), parameters)

    @property
    def type(self) -> str:
        """The C++ function type."""
        return f"{self.result}({', '.join(parameter.type for parameter in self.parameters)})"

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the parameters."""
        return tuple(parameter.name for parameter in self.parameters)

    def head(self, name: str, first: str = "", *, defaults: bool = False, body: str | None = None) -> str:
        """Return the function's declaration without its end; `first` precedes the schema's own parameters.

        Parameters that a given `body` does not use have their names in comments: compilers warn of unused ones.
        """
        if body is not None:
            return replace(self, parameters=tuple(map(_without_unused(body), self.parameters))).head(name, first)
        values = _trailing_defaults(self.parameters) if defaults else {}
        written = [
            f"{parameter} = {values[parameter.name]}" if parameter.name in values else str(parameter)
            for parameter in self.parameters
        ]
        return wrapped(f"{self.result} {name}(", [first, *written] if first else written, ")")


def _without_unused(body: str) -> Callable[[CppParameter], CppParameter]:
    used = set(_WORD.findall(body))
    return lambda one: one if one.name in used else replace(one, name=f"/*{one.name}*/")


def wrapped(start: str, items: Sequence[str], end: str, indent: str = "") -> str:
    """Return a bracketed list, on as many lines as it needs."""
    line = f"{indent}{start}{', '.join(items)}{end}"
    if len(line) <= COLUMNS - 2:  # leaves room for ` {` or `;`
        return line
    return f"{indent}{start}\n" + ",\n".join(f"{indent}    {item}" for item in items) + end


def result_type(schema: Schema, *, const_outputs: bool = False) -> str:
    """Return the C++ type of all results; a returned SymInt stays one for every kernel."""
    if not schema.returns:
        return "void"
    types = [_return_type(return_, const_outputs) for return_ in schema.returns]
    return types[0] if len(types) == 1 else f"::std::tuple<{', '.join(types)}>"


def value_type(return_: Return) -> str:
    """Return the type of a variable that holds one result after the call."""
    return _return_type(replace(return_, alias=None), const_outputs=False)


def _return_type(return_: Return, const_outputs: bool) -> str:
    if isinstance(return_.type, ListType):
        return f"::std::vector<{_value_type(return_.type.elem, symint=True)}>"
    if return_.type.base == "Tensor" and return_.alias is not None and return_.alias.write:
        return "const at::Tensor&" if const_outputs else "at::Tensor&"
    if str(return_.type) == "str":
        return "::std::string"
    return _value_type(return_.type, symint=True)


def _argument_type(argument: Argument, operator: BackendOperator, symint: bool) -> str:
    type_ = argument.type
    if argument.mutable and str(type_) == "Tensor" and not operator.const_outputs:
        return "at::Tensor&"
    if str(type_) == "Tensor[]" and operator.takes_tensor_refs and not argument.mutable:
        return "const at::ITensorListRef&"
    value = _value_type(type_, symint)
    if isinstance(type_, ListType):
        return f"const {value}&" if value.startswith("c10::List") else value
    by_reference = type_.base in _BY_REFERENCE and not _holds_list(type_)
    return f"const {value}&" if by_reference else value


def _holds_list(type_: Type) -> bool:
    return isinstance(type_, ListType) or (isinstance(type_, OptionalType) and _holds_list(type_.elem))


def _value_type(type_: Type, symint: bool) -> str:
    if isinstance(type_, OptionalType):
        array = _OPTIONAL_ARRAYS.get(_element(type_.elem, symint)) if type_.elem.is_list else None
        return array or f"::std::optional<{_value_type(type_.elem, symint)}>"
    if isinstance(type_, ListType):
        if isinstance(type_.elem, OptionalType):
            return f"c10::List<{_value_type(type_.elem, symint)}>"
        element = _element(type_, symint)
        if element == "bool":
            return f"::std::array<bool, {type_.size}>" if type_.size is not None else "c10::List<bool>"
        return _ARRAYS.get(element) or f"at::ArrayRef<{_value_type(type_.elem, symint)}>"
    base = type_.base if symint or type_.base != "SymInt" else "int"
    if base not in _VALUES:
        raise SchemaError(f"no C++ type is known for {type_}", hint=f"types: {', '.join(_VALUES)}")
    return _VALUES[base]


def _element(type_: Type, symint: bool) -> str:
    if not isinstance(type_, ListType) or isinstance(type_.elem, (OptionalType, ListType)):
        return ""
    return "int" if type_.base == "SymInt" and not symint else type_.base


def _trailing_defaults(parameters: Sequence[CppParameter]) -> dict[str, str]:
    """Return the defaults at the end, where C++ allows them; one that C++ cannot spell ends them."""
    found: dict[str, str] = {}
    for parameter in reversed(parameters):
        value = default_value(parameter.argument)
        if value is None:
            break
        found[parameter.name] = value
    return found


def default_value(argument: Argument) -> str | None:
    """Return an argument's default in C++; None if there is none, or none that C++ can spell."""
    value = _default(argument.default) if argument.default else None
    if str(argument.type) == "bool[]" and value is not None:
        return "c10::List<bool>()" if value == "{}" else f"c10::List<bool>({value})"
    return value


def _default(default: Default) -> str | None:
    value = default.value
    if value is None:
        return "::std::nullopt"
    if isinstance(value, EnumName):
        return _ENUMS.get(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return repr(value) if value - value == 0 else None
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, tuple):
        items = [_default(Default("", item)) for item in value]
        return None if None in items else "{" + ", ".join(item for item in items if item is not None) + "}"
    return None


def quoted(text: str) -> str:
    """Return a text as a C++ string literal."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t")
    return f'"{escaped}"'
