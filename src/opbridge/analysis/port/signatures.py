"""Read the inputs and outputs of a kernel on kernel.h from its parameters, if no schema declares them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from string import ascii_lowercase

from opbridge.base.errors import InputError
from opbridge.build.sources.standalone import parameters_of_source

_PARAMETER = re.compile(
    r"(?:const\s+)?(?P<optional>(?:ob::)?Optional\s*<\s*)?(?P<list>(?:ob::)?List\s*<\s*)?"
    r"(?:ob::)?(?P<type>\w+)\s*(?:<\s*(?P<element>[\w:]+)[^>]*>)?[\s>&]*\s(?P<name>\w+)$"
)
_ATTRIBUTES = {
    "int64_t": "int",
    "double": "float",
    "bool": "bool",
    "String": "str",
    "Ints": "int[]",
    "Floats": "float[]",
    "Bools": "bool[]",
    "DType": "ScalarType",
}
DTYPES = {
    "float": "float32",
    "double": "float64",
    "half": "float16",
    "ob::half": "float16",
    "bfloat16": "bfloat16",
    "ob::bfloat16": "bfloat16",
    "bool": "bool",
    **{f"{name}_t": name for name in ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")},
}


@dataclass(frozen=True)
class Guess:
    """An operator as its kernel parameters describe it; several shapes of its outputs are possible."""

    schema: str
    outputs: tuple[tuple[str, ...], ...]
    """The possible shapes of all outputs, as formulas; the likeliest first."""
    dtypes: tuple[str, ...]
    """The element types of the outputs, as formulas."""


@dataclass(frozen=True)
class _Parameter:
    type: str
    element: str
    name: str
    is_optional: bool
    is_list: bool

    @property
    def is_input(self) -> bool:
        return self.type in ("In", "InOut")


def guess(source: Path, symbol: str) -> Guess:
    """Return the operator that the parameters of a kernel describe.

    Raises:
        InputError: The parameters cannot be read, or have a type that only a schema can explain.
    """
    texts = parameters_of_source(source, symbol)
    if texts is None:
        raise InputError(
            f"{source.name} shows no parameters of {symbol}; describe it",
            hint=f'--schema "{symbol}(Tensor x) -> Tensor" --out x',
        )
    parameters = [parameter for text in texts if (parameter := _parameter(source, symbol, text)) is not None]
    arguments = ", ".join(map(_argument, (one for one in parameters if one.type != "Out"), ascii_lowercase))
    outputs = [one for one in parameters if one.type == "Out"]
    inputs = [one for one in parameters if one.is_input and not one.is_list]
    returned = "Tensor" if len(outputs) == 1 else f"({', '.join(['Tensor'] * len(outputs))})"
    return Guess(
        f"port_check::{symbol}({arguments}) -> {returned}",
        tuple((shape,) * len(outputs) for shape in usual_shapes([one.name for one in inputs if not one.is_optional])),
        tuple(_dtype(one, inputs) for one in outputs),
    )


def _parameter(source: Path, symbol: str, text: str) -> _Parameter | None:
    found = _PARAMETER.match(" ".join(text.partition("=")[0].split()))
    if found is None:
        raise InputError(
            f"cannot read '{text}', a parameter of {symbol} in {source.name}", hint="describe it by --schema"
        )
    if found["type"] == "Context":
        return None
    if found["type"] not in (*_ATTRIBUTES, "In", "Out", "InOut"):
        raise InputError(f"{symbol} of {source.name} takes '{text}'; say by --schema what that is")
    return _Parameter(
        found["type"], found["element"] or "", found["name"], bool(found["optional"]), bool(found["list"])
    )


def _argument(parameter: _Parameter, letter: str) -> str:
    base = "Tensor" if parameter.is_input else _ATTRIBUTES[parameter.type]
    alias = f"({letter}!)" if parameter.type == "InOut" else ""
    return f"{base}{alias}{'[]' * parameter.is_list}{'?' * parameter.is_optional} {parameter.name}"


def usual_shapes(inputs: list[str]) -> Iterator[str]:
    """Yield the shapes that outputs usually have, as formulas over the inputs."""
    if not inputs:
        return
    yield f"{inputs[0]}.shape"
    if len(inputs) > 1:
        yield f"broadcast({', '.join(inputs)})"
        yield f"[{inputs[0]}.shape[0], {inputs[1]}.shape[1]]"
        yield f"[{inputs[0]}.shape[0], {inputs[1]}.shape[0]]"
        yield from (f"{name}.shape" for name in inputs[1:])
    yield f"{inputs[0]}.shape[:-1]"
    yield f"{inputs[0]}.shape[1:]"
    yield "[]"
    yield "[1]"


def _dtype(output: _Parameter, inputs: list[_Parameter]) -> str:
    if output.element in DTYPES:
        return DTYPES[output.element]
    like = next((one.name for one in inputs if one.element == output.element), None)
    return f"{like}.dtype" if like else f"promote({', '.join(one.name for one in inputs)})" if inputs else "float32"
