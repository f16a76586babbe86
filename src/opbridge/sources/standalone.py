"""What `opbridge compile` and `opbridge build -o` add to a library, so that MindSpore can use it without opbridge.

MindSpore keeps attributes in a C++ object that kernels on kernel.h know nothing of.  A generated source beside the
kernel's reads them by name: <F>Init, and where the out rules are known <F>InferShape and <F>InferType.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from opbridge.cache import Cache
from opbridge.manifest import OpSpec
from opbridge.rules import FromKernel
from opbridge.schema import BaseType
from opbridge.toolchains import BuildRequest
from opbridge.toolchains.model import INCLUDE

_NATIVE = INCLUDE.parent / "native"
_KERNEL = re.compile(r"\bOB_KERNEL\s*\(\s*([A-Za-z_]\w*)")
_NO_CODE = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.DOTALL)
_NOT_AN_ATTRIBUTE = re.compile(r"\b(In|Out|InOut|List|Context)\b")
_BLOCK_HEADER = re.compile(r"^\s*#\s*include\s*[<\"][^>\"]*custom_aot_extra", re.MULTILINE)
_OPENING, _CLOSING = "(<[{", ")>]}"


@dataclass(frozen=True)
class StandaloneKernel:
    """A kernel as the generated source has it."""

    symbol: str
    attributes: tuple[str, ...]
    """The names, in the order of the C++ parameters."""
    operator: OpSpec | None = None
    """Where the schema is known: for the attributes' defaults, and for the rules of its outputs."""


def for_mindspore(request: BuildRequest, kernels: Sequence[StandaloneKernel], cache: Cache) -> BuildRequest:
    """The same library with what MindSpore needs to use its kernels' attributes."""
    if any(_BLOCK_HEADER.search(_text(source)) for source in request.sources):
        # The kernels read the block themselves, and name attributes in strings as MindSpore has them.
        return replace(request, defines=(*request.defines, ("_GLIBCXX_USE_CXX11_ABI", "0")))
    if not kernels or request.language != "c++":
        return request
    source = cache.keep(f"{Path(request.output).stem}_mindspore.cpp", generate(kernels))
    return replace(
        request,
        sources=(*request.sources, source),
        include_dirs=(*request.include_dirs, INCLUDE, _NATIVE),
        # The kernels' folder stays the project, wherever the generated source lies.
        root=request.project,
    )


def kernels_of_source(path: Path) -> list[StandaloneKernel]:
    """The kernels of a source whose parameters its text shows; those that a macro or another file makes it does not."""
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
    """The kernels of a source that operators of a manifest use, by symbol."""
    made = symbols_of_source(path)
    return [
        StandaloneKernel(symbol, tuple(item.name for item in spec.schema.arguments if not item.is_tensor), spec)
        for symbol, spec in operators.items()
        if symbol in made
    ]


def parameters_of_source(path: Path, symbol: str) -> list[str] | None:
    """What one of them takes, as its text has it; None where that does not show."""
    return _parameters(_code(path), symbol)


def symbols_of_source(path: Path) -> set[str]:
    """The kernels on kernel.h whose names the text of a source shows."""
    return set(_KERNEL.findall(_code(path)))


def plan_array(name: str, spec: OpSpec) -> str:
    """An operator as native/plan.h reads it, as a C++ array."""
    # Imported here: it brings the compilers of rules and formulas.
    from opbridge.native.plan import encode

    # Gradients have no place in another host's call.
    plan = encode([replace(spec, rules=replace(spec.rules, derivatives=(), backward=None))])
    return f"alignas(8) static const unsigned char {name}[] = {{{', '.join(map(str, plan))}}};"


def why_not_inferred(spec: OpSpec) -> str:
    """Why MindSpore must be told what the operator's outputs are like; empty where the library says it."""
    if not spec.schema.returns or len(spec.schema.new_outputs) != len(spec.schema.returns):
        return "it writes to its arguments"
    for argument in spec.schema.arguments:
        if argument.is_tensor and argument.type != BaseType("Tensor"):
            return f"MindSpore does not say which tensors of '{argument.name}' a call brings"
    if any(isinstance(rule, FromKernel) for rule in spec.rules.out):
        return "it has no out rule"
    return ""


def generate(kernels: Iterable[StandaloneKernel]) -> str:
    """The text of the source; it comes before any other header because of MindSpore's std::string."""
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
    """Empty where there is no such file, as the build will say."""
    return path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""


def _code(path: Path) -> str:
    return _NO_CODE.sub(" ", _text(path))


def _parameters(code: str, function: str) -> list[str] | None:
    """The parameters of a function that is defined here, each as its text."""
    for found in re.finditer(rf"\b{function}\s*\(", code):
        parameters, end = _split(code, found.end())
        if re.match(r"\s*(noexcept\b[^{;]*)?\{", code[end:]):
            return parameters
    return None


def _split(code: str, start: int) -> tuple[list[str], int]:
    """What stands between commas from `start` to the closing bracket, and where that ends."""
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
    """`alpha` of `const double alpha = 1.0`; empty where the parameter has no name."""
    words = re.findall(r"\w+", parameter.partition("=")[0])
    return words[-1] if len(words) > 1 else ""
