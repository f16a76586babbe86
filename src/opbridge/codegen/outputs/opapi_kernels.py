"""Output e: kernels from `gen_opapi`, which prepare outputs and call one function of the backend's library.

LaunchedKernels_N.cpp   the kernels
MetaKernels_N.cpp       the kernels without the call, for tensors without memory: torch.compile uses them for shapes
Launcher.h              finds and calls the function; written once, and maintained by the backend from then on
Helpers.h               stubs for undefined functions in expressions, which report this; also written once
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from textwrap import indent

from opbridge.codegen.backend import COMPOSITE_KEYS, Backend, BackendKernel, BackendOperator, OpapiCall, Output
from opbridge.codegen.expressions import names_used
from opbridge.codegen.outputs.generated_sources import HEADER, in_namespace, includes, shard_name, shards
from opbridge.codegen.outputs.opapi_header import launcher_header
from opbridge.codegen.outputs.opapi_helpers import helpers_header, helpers_of
from opbridge.codegen.outputs.variant_wrappers import META_TENSORS
from opbridge.codegen.unboxed_types import Signature, quoted, wrapped
from opbridge.waist.schema import Argument, OptionalType

_HAVE_DEVICE = ("Tensor", "Tensor?", "Tensor[]")
_ONE_OF_LIST = re.compile(r"(?P<name>\w+)\[\d+\]")

_NAMES = """
#if __has_include(<ATen/NamedTensorUtils.h>)
#include <ATen/NamedTensorUtils.h>
namespace {
inline void name_like(const at::Tensor& out, const at::Tensor& x) { at::namedinference::propagate_names(out, x); }
inline void name_like(const at::Tensor& out, const at::Tensor& x, const at::Tensor& y) {
  at::namedinference::propagate_names_if_nonempty(out, at::namedinference::compute_broadcast_outnames(x, y));
}
}  // namespace
#else  // This PyTorch has no names of dimensions any more.
namespace {
template <class... Tensors>
void name_like(const Tensors&...) {}
}  // namespace
#endif
"""

_SYMBOLIC = (
    (re.compile(r"\.(size(?!\(\))|sizes|numel|stride)\("), r".sym_\1("),
    (re.compile(r"\bat::IntArrayRef\b"), "c10::SymIntArrayRef"),
    (re.compile(r"\b(ArrayRef|SmallVector|vector)<int64_t\b"), r"\1<c10::SymInt"),
)
"""Replacements that turn an expression of sizes into one of symbolic sizes, which torch.compile does not know yet."""
_CALLED = re.compile(r"(?<![\w:])(?P<name>[A-Za-z_][\w:]*)\s*\(")
_TAKES_SYMBOLS = frozenset(
    {"size", "sizes", "numel", "stride", "dim", "defined", "scalar_type", "has_value", "value", "value_or"}
)


@dataclass(frozen=True, slots=True)
class _OpapiKernel:
    """An operator whose kernel is generated."""

    operator: BackendOperator
    kernel: BackendKernel
    launch: OpapiCall


def launched_kernels(backend: Backend) -> dict[str, str]:
    """Return the files for operators with generated kernels."""
    launched = [
        _OpapiKernel(operator, kernel, kernel.launch)
        for operator in backend.operators
        for kernel in operator.kernels
        if kernel.launch is not None
    ]
    if not launched:
        return {}
    by_operator = {each.operator.schema.full_name: each for each in launched}
    helpers = helpers_header(backend.target, [(each.operator, each.launch) for each in launched])
    files = {"Launcher.h": launcher_header(backend.target, has_helpers=bool(helpers))}
    files |= {"Helpers.h": helpers} if helpers else {}
    files["MetaTensors.h"] = HEADER + META_TENSORS
    groups = shards([each.operator for each in by_operator.values()])
    for index, group in enumerate(groups):
        some = [by_operator[operator.schema.full_name] for operator in group]
        files[shard_name("LaunchedKernels", index, len(groups))] = _kernels(some, backend.target.cpp_namespace)
        metas = [each for each in some if _lacks_meta(each.operator)]
        if metas:
            files[shard_name("MetaKernels", index, len(groups))] = _meta_kernels(metas)
    return files


def _lacks_meta(operator: BackendOperator) -> bool:
    """Return whether a meta kernel is needed: PyTorch has them for its own operators."""
    return operator.is_custom and not any(operator.kernel(key) for key in ("Meta", *COMPOSITE_KEYS))


def _kernels(launched: list[_OpapiKernel], namespace: str) -> str:
    by_namespace = groupby(sorted(launched, key=lambda each: each.kernel.namespace), lambda each: each.kernel.namespace)
    parts = []
    for name, group in by_namespace:
        launcher = "launch" if name == namespace else f"{namespace}::launch"
        parts.append(in_namespace(name, [_kernel(each, launcher) for each in group]))
    own = includes('"Kernels.h"', '"Launcher.h"', '"MetaTensors.h"')
    text = "\n".join(parts)
    names = _NAMES if "name_like(" in text else ""
    return HEADER + own + "\n" + includes(*_headers(text)) + names + "\n" + text


def _headers(text: str) -> list[str]:
    found = ["<ATen/core/Reduction.h>", "<ATen/native/TypeProperties.h>"]
    if "at::native::resize_output" in text:
        found.append("<ATen/native/Resize.h>")
    if "at::result_type" in text:
        found.append("<ATen/ops/result_type.h>")
    if "at::empty" in text:
        found.append("<ATen/ops/empty.h>")
    return sorted(found)


def _kernel(launched: _OpapiKernel, launcher: str) -> str:
    operator, kernel, launch = launched.operator, launched.kernel, launched.launch
    signature = Signature.of(operator, symint=kernel.symint)
    new = {output.name for output in launch.outputs} - set(signature.names)
    early, late = _variables(launch, new)
    lines = [f"const auto {name} = {text};" for name, text in early]
    for output in launch.outputs:
        lines += _prepared(output, operator, f"at::device({_device(operator, kernel)})", symbolic=False)
        lines += _named(output)
    lines += [f"const auto {name} = {text};" for name, text in late]
    lines.append(wrapped(f"{launcher}(", [quoted(launch.function), *launch.arguments], ");"))
    lines += _returned(operator, launch)
    return _function(operator, signature.head(kernel.name, body="\n".join(lines)), lines)


def _function(operator: BackendOperator, head: str, lines: list[str]) -> str:
    if not lines:
        return f"// {operator.schema}\n{head} {{}}\n"
    body = "\n".join(indent(line, "  ") for line in lines)
    return f"// {operator.schema}\n{head} {{\n{body}\n}}\n"


def _variables(launch: OpapiCall, new: set[str]) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """Return the variables that precede the outputs, which may use them, and those that use new outputs."""
    early: list[tuple[str, str]] = []
    late: list[tuple[str, str]] = []
    for name, text in launch.variables:
        waits_for = new.union(name for name, _ in late)
        (early if waits_for.isdisjoint(names_used(text)) else late).append((name, text))
    return early, late


def _device(operator: BackendOperator, kernel: BackendKernel) -> str:
    """Return the device of new outputs: that of the other tensors, or the one that the call specifies."""
    outputs = operator.schema.out_arguments
    tensors = [
        argument.name
        for argument in operator.schema.tensor_arguments
        if argument not in outputs and str(argument.type) in _HAVE_DEVICE
    ]
    if tensors:
        return f"device_among({', '.join(tensors)})"
    own = f"at::Device(at::DeviceType::{kernel.key})"
    asked = next((argument for argument in operator.schema.arguments if argument.type.base == "Device"), None)
    if asked is None:
        return own
    return f"{asked.name}.value_or({own})" if asked.type.is_optional else asked.name


def _prepared(output: Output, operator: BackendOperator, options: str, *, symbolic: bool) -> Iterator[str]:
    """Yield the lines for an output: a new one is made, the caller's resized, one that is also read checked."""
    arguments = {argument.name: argument for argument in operator.schema.arguments}
    size = None if output.size in (None, output.name) else _size(output.size or "", arguments, symbolic=symbolic)
    dtype = None if output.dtype in (None, output.name) else _dtype(output.dtype or "", arguments)
    argument = arguments.get(output.name)
    suffix = "_symint" if symbolic else ""
    if argument is None:
        yield wrapped(f"at::Tensor {output.name} = at::empty{suffix}(", [str(size), f"{options}.dtype({dtype})"], ");")
        return
    if dtype is not None:
        message = quoted(f"{operator.name} expected {output.name} of type ")
        said = [f"{output.name}.scalar_type() == ({dtype})", message, dtype, '", got "', f"{output.name}.scalar_type()"]
        yield wrapped("TORCH_CHECK(", said, ");")
    if size is not None and argument.kwarg_only:
        yield wrapped(f"at::native::resize_output{suffix}(", [output.name, size], ");")
    elif size is not None:
        sizes, array = (".sym_sizes()", "c10::SymIntArrayRef") if symbolic else (".sizes()", "at::IntArrayRef")
        message = quoted(f"{operator.name}: the result does not have the shape of {output.name}, which it goes into")
        yield wrapped("TORCH_CHECK(", [f"{output.name}{sizes} == {array}({size})", message], ");")


def _size(text: str, arguments: dict[str, Argument], *, symbolic: bool) -> str:
    sizes = "sym_sizes()" if symbolic else "sizes()"
    argument = arguments.get(text)
    if argument is not None and argument.is_tensor:
        return f"{text}->{sizes}" if argument.type.is_optional else f"{text}.{sizes}"
    if argument is not None and symbolic and argument.type.base == "int" and _is_list(argument):
        return f"c10::fromIntArrayRefSlow({'*' if argument.type.is_optional else ''}{text})"
    if argument is not None and argument.type.is_optional:
        return f"*{text}"
    if argument is not None and not argument.type.is_list:
        return f"{{{text}}}"
    if symbolic:
        for pattern, replacement in _SYMBOLIC:
            text = pattern.sub(replacement, text)
    return text


def _dtype(text: str, arguments: dict[str, Argument]) -> str:
    one = _ONE_OF_LIST.fullmatch(text)
    argument = arguments.get(one["name"] if one else text)
    if argument is None:
        return text
    if argument.is_tensor:
        return f"{text}->scalar_type()" if argument.type.is_optional else f"{text}.scalar_type()"
    return f"{text}.value()" if argument.type.is_optional else text


def _named(output: Output) -> Iterator[str]:
    if output.named_like and output.named_like != (output.name,):
        yield f"name_like({', '.join((output.name, *output.named_like))});"


def _returned(operator: BackendOperator, launch: OpapiCall) -> Iterator[str]:
    arguments = {argument.name for argument in operator.schema.arguments}
    new = iter(output.name for output in launch.outputs if output.name not in arguments)
    names = []
    for return_ in operator.schema.returns:
        aliased = operator.schema.aliased_argument(return_)
        names.append(aliased.name if aliased is not None else next(new))
    if names:
        yield f"return {names[0]};" if len(names) == 1 else f"return {{{', '.join(names)}}};"


def _meta_kernels(launched: list[_OpapiKernel]) -> str:
    functions = []
    registered: dict[str, list[str]] = {}
    needs_helpers = False
    for each in launched:
        symbolic = _is_symbolic(each)
        needs_helpers |= not symbolic or any(helpers_of(each.operator, each.launch))
        functions.append(_meta_kernel(each, symbolic=symbolic))
        line = f"  m.impl({quoted(each.operator.name)}, TORCH_FN({_meta_name(each.operator)}));\n"
        registered.setdefault(each.operator.schema.namespace or "", []).append(line)
    blocks = [f"TORCH_LIBRARY_IMPL({name}, Meta, m) {{\n{''.join(lines)}}}\n" for name, lines in registered.items()]
    text = in_namespace("", functions)
    names = {each.kernel.namespace for each in launched} if needs_helpers else set()
    if names:  # The functions that expressions call are in the namespaces of the kernels.
        using = "".join(f"using namespace {name};\n" for name in sorted(names))
        text = text.replace("namespace {\n", f"namespace {{\n\n{using}", 1)
    own = includes('"Launcher.h"') + "\n" if needs_helpers else ""
    headers = ["<ATen/core/Tensor.h>", *_headers(text), "<torch/library.h>"]
    return HEADER + own + includes(*headers) + "\n" + "\n".join([text, *blocks])


def _meta_name(operator: BackendOperator) -> str:
    return f"{operator.schema.namespace}_{operator.identifier}_meta"


def _is_symbolic(launched: _OpapiKernel) -> bool:
    """Return whether the sizes of the outputs can be computed from symbolic sizes."""
    variables = {name for name, _ in launched.launch.variables}
    numbers = [each.name for each in launched.operator.schema.attributes if each.type.base == "int" and _is_list(each)]
    for output in launched.launch.outputs:
        if any(re.search(rf"\b{name}\b(?!\s*[.\[])", output.size or "") for name in numbers if name != output.size):
            return False
        for text in filter(None, (output.size, output.dtype)):
            if not variables.isdisjoint(names_used(text)):
                return False
        called = {match["name"] for match in _CALLED.finditer(output.size or "")}
        if not called <= _TAKES_SYMBOLS | {"at::IntArrayRef"}:
            return False
    return True


def _is_list(argument: Argument) -> bool:
    return argument.type.is_list or (isinstance(argument.type, OptionalType) and argument.type.elem.is_list)


def _meta_kernel(launched: _OpapiKernel, *, symbolic: bool) -> str:
    operator, launch = launched.operator, launched.launch
    signature = Signature.of(operator, symint=symbolic)
    lines = [f"const auto {name} = {text};" for name, text in _variables_of_outputs(launch)]
    for output in launch.outputs:
        lines += _prepared(output, operator, "at::device(at::kMeta)", symbolic=symbolic)
    lines += _returned(operator, launch)
    return _function(operator, signature.head(_meta_name(operator), body="\n".join(lines)), lines)


def _variables_of_outputs(launch: OpapiCall) -> list[tuple[str, str]]:
    texts = [text or "" for output in launch.outputs for text in (output.size, output.dtype)]
    needed = {name for text in texts for name in names_used(text)}
    found = []
    for name, text in reversed(launch.variables):
        if name in needed:
            needed.update(names_used(text))
            found.append((name, text))
    return found[::-1]
