"""The additions of `opbridge compile` and `opbridge build -o` that let MindSpore use a library without opbridge.

MindSpore keeps attributes in a C++ object that kernels on kernel.h cannot read. A generated source, linked with the
kernel's, reads them by name in <F>Init and, if the out rules are known, in <F>InferShape and <F>InferType.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from opbridge.build.cache import Cache
from opbridge.build.toolchains import BuildRequest
from opbridge.build.toolchains.interface import INCLUDE
from opbridge.waist.manifest import OpSpec
from opbridge.waist.rules import FromKernel
from opbridge.waist.schema import BaseType

_NATIVE = INCLUDE.parent / "native"
_KERNEL = re.compile(r"\bOB_KERNEL\s*\(\s*([A-Za-z_]\w*)")
_NO_CODE = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.DOTALL)
_NOT_AN_ATTRIBUTE = re.compile(r"\b(In|Out|InOut|List|Context)\b")
_BLOCK_HEADER = re.compile(r"^\s*#\s*include\s*[<\"][^>\"]*custom_aot_extra", re.MULTILINE)
_OPENING, _CLOSING = "(<[{", ")>]}"


@dataclass(frozen=True)
class StandaloneKernel:
    """A kernel for the generated source."""

    symbol: str
    attributes: tuple[str, ...]
    """The attribute names, in the order of the C++ parameters."""
    operator: OpSpec | None = None
    """The operator, if its schema is known: it has the defaults of the attributes and the rules of the outputs."""


def for_mindspore(request: BuildRequest, kernels: Sequence[StandaloneKernel], cache: Cache) -> BuildRequest:
    """Return the build with the additions that MindSpore needs to use the attributes of the kernels."""
    if any(_BLOCK_HEADER.search(_text(source)) for source in request.sources):
        # The kernels read the attribute block themselves, and pass it std::strings of MindSpore's ABI.
        return replace(request, defines=(*request.defines, ("_GLIBCXX_USE_CXX11_ABI", "0")))
    if not kernels or request.language != "c++":
        return request
    source = cache.keep(f"{Path(request.output).stem}_mindspore.cpp", generate(kernels))
    return replace(
        request,
        sources=(*request.sources, source),
        include_dirs=(*request.include_dirs, INCLUDE, _NATIVE),
        # The project stays the folder of the kernels, wherever the generated source is.
        root=request.project,
    )


def kernels_of_source(path: Path) -> list[StandaloneKernel]:
    """Return the kernels of a source whose parameters are visible in its text.

    Parameters from a macro or another file are not visible.
    """
    text = _code(path)
    shown = {name: _parameters(text, name) for name in _KERNEL.findall(text)}
    return [
        StandaloneKernel(
            name, tuple(_name(parameter) for parameter in parameters if not _NOT_AN_ATTRIBUTE.search(parameter))
        )
        for name, parameters in shown.items()
        if parameters is not None
    ]


def kernels_of_operators(path: Path, operators: Mapping[str, OpSpec]) -> list[StandaloneKernel]:
    """Return the kernels of a source that the operators of a manifest use; `operators` are by symbol."""
    made = symbols_of_source(path)
    return [
        StandaloneKernel(symbol, tuple(item.name for item in spec.schema.arguments if not item.is_tensor), spec)
        for symbol, spec in operators.items()
        if symbol in made
    ]


def parameters_of_source(path: Path, symbol: str) -> list[str] | None:
    """Return the parameters of a kernel as its source spells them, or None if the text does not show them."""
    return _parameters(_code(path), symbol)


def symbols_of_source(path: Path) -> set[str]:
    """Return the names of the kernels on kernel.h that the text of a source shows."""
    return set(_KERNEL.findall(_code(path)))


def plan_array(name: str, spec: OpSpec) -> str:
    """Return an operator as native/plan.h reads it, as a C++ array."""
    # Imported here because it imports the compilers of rules and formulas.
    from opbridge.native.plan import encode

    # Other hosts do not call gradients.
    plan = encode([replace(spec, rules=replace(spec.rules, derivatives=(), backward=None))])
    return f"alignas(8) static const unsigned char {name}[] = {{{', '.join(map(str, plan))}}};"


def why_not_inferred(spec: OpSpec) -> str:
    """Return why MindSpore must be told shapes and dtypes of the outputs; empty if the library infers them."""
    if not spec.schema.returns or len(spec.schema.new_outputs) != len(spec.schema.returns):
        return "it writes to its arguments"
    for argument in spec.schema.arguments:
        if argument.is_tensor and argument.type != BaseType("Tensor"):
            return f"MindSpore does not say which tensors of '{argument.name}' a call has"
    if any(isinstance(rule, FromKernel) for rule in spec.rules.out):
        return "it has no out rule"
    return ""


def generate(kernels: Iterable[StandaloneKernel]) -> str:
    """Return the text of the source.

    Its first header must come before any other, because of MindSpore's std::string.
    """
    with_operator = any(kernel.operator for kernel in kernels)
    lines = [f"#include <standalone/{'rules' if with_operator else 'attributes'}.h>"]
    for kernel in kernels:
        lines += _known_operator(kernel.symbol, kernel.operator) if kernel.operator else _known_names(kernel)
    return "\n".join((*lines, ""))


def _known_operator(symbol: str, spec: OpSpec) -> list[str]:
    lines = [
        plan_array(f"{symbol}_plan", spec),
        f"OB_MINDSPORE_OPERATOR({symbol}, {symbol}_plan)",
    ]
    if not why_not_inferred(spec):
        several = "_SEVERAL" if len(spec.schema.returns) > 1 else ""
        lines.append(f"OB_MINDSPORE_INFER{several}({symbol})")
    return lines


def _known_names(kernel: StandaloneKernel) -> list[str]:
    # C++ has no empty arrays.
    rows = ", ".join(f'{{"{name}"}}' for name in kernel.attributes) or '{""}'
    table = f"{kernel.symbol}_attributes"
    return [
        f"static const opbridge::standalone::Attribute {table}[] = {{{rows}}};",
        f"OB_MINDSPORE_INIT({kernel.symbol}, {table}, {len(kernel.attributes)})",
    ]


def _text(path: Path) -> str:
    """Return the text of a file; empty if there is none, which the build reports."""
    return path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""


def _code(path: Path) -> str:
    return _NO_CODE.sub(" ", _text(path))


def _parameters(code: str, function: str) -> list[str] | None:
    """Return the parameters of a function that the code defines, each as text, or None."""
    for found in re.finditer(rf"\b{function}\s*\(", code):
        parameters, end = _split(code, found.end())
        if re.match(r"\s*(noexcept\b[^{;]*)?\{", code[end:]):
            return parameters
    return None


def _split(code: str, start: int) -> tuple[list[str], int]:
    """Split text at commas up to the closing bracket; return the parts and the end of the bracket."""
    depth, begin = 0, start
    parameters = []
    for at in range(start, len(code)):
        char = code[at]
        if char in _OPENING:
            depth += 1
        elif depth and char in _CLOSING:
            depth -= 1
        elif not depth and char in ",)":
            parameters.append(code[begin:at].strip())
            begin = at + 1
            if char == ")":
                return [parameter for parameter in parameters if parameter], begin
    return [], len(code)


def _name(parameter: str) -> str:
    """Return the name of a parameter, as `alpha` for `const double alpha = 1.0`; empty if it has none."""
    words = re.findall(r"\w+", parameter.partition("=")[0])
    return words[-1] if len(words) > 1 else ""
