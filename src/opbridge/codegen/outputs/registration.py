"""Output a: schemas and kernels, registered with PyTorch's dispatcher.

    Kernels.h             the functions that the backend's authors write
    RegisterSchemas.cpp   TORCH_LIBRARY_FRAGMENT for the backend's own operators
    Register<Key>_N.cpp   TORCH_LIBRARY_IMPL and a wrapper for each kernel
    RegisterFallback.cpp  everything else runs on the CPU

A wrapper checks that the tensors are on one device, makes it the current one, and calls the kernel. If an operator
has no kernel, its wrapper uses the kernel of another variant.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from textwrap import indent

from opbridge.codegen.backend import COMPOSITE_KEYS, Backend, BackendKernel, BackendOperator, TargetBackend
from opbridge.codegen.outputs.generated_sources import (
    HEADER,
    TENSOR_HEADERS,
    in_namespace,
    includes,
    shard_name,
    shards,
)
from opbridge.codegen.outputs.variant_wrappers import META_TENSORS, derived_body, needs_meta_tensors
from opbridge.codegen.unboxed_types import Signature, quoted, wrapped
from opbridge.waist.schema import Argument

_HAVE_DEVICE = ("Tensor", "Tensor?", "Tensor[]")
"""Types that at::device_of accepts."""


def registration(backend: Backend) -> dict[str, str]:
    """Return the files that register schemas, kernels and the fallback."""
    files = {"Kernels.h": _kernels_header(backend)}
    if backend.custom:
        files["RegisterSchemas.cpp"] = _schemas(backend)
    if any(map(needs_meta_tensors, backend.operators)):
        files["MetaTensors.h"] = HEADER + META_TENSORS
    keys = dict.fromkeys(kernel.key for operator in backend.operators for kernel in operator.kernels)
    for key in keys:
        groups = shards([operator for operator in backend.operators if operator.kernel(key)])
        for index, group in enumerate(groups):
            name = shard_name(f"Register{key}", index, len(groups))
            files[name] = _kernels_source(group, key, backend.target)
    if backend.target.switches_devices:
        files["RegisterFallback.cpp"] = _fallback(backend.target)
    return files


def _kernels_header(backend: Backend) -> str:
    written: dict[str, dict[str, str]] = {}
    for operator in backend.operators:
        for kernel in operator.kernels:
            if not kernel.shared:
                signature = Signature.of(operator, symint=kernel.symint)
                # One C++ function may be the kernel for several keys, and overloads share a name.
                note = f"// Generated: it calls {kernel.launch.function}.\n" if kernel.launch else ""
                declaration = f"// {operator.schema}\n{note}{signature.head(kernel.name)};\n"
                written.setdefault(kernel.namespace, {}).setdefault(f"{kernel.name} {signature.type}", declaration)
    parts = [in_namespace(namespace, written[namespace].values()) for namespace in sorted(written)]
    about = "// The kernels that the generated sources call. Those without a note are the backend's work.\n"
    start = f"{HEADER}{about}#pragma once\n\n"
    return start + includes(*TENSOR_HEADERS) + "\n" + "\n".join(parts)


def _schemas(backend: Backend) -> str:
    text = HEADER + includes("<torch/library.h>")
    for namespace, operators in groupby(backend.custom, key=lambda operator: operator.schema.namespace):
        lines = "".join(f"  m.def({quoted(_unqualified(operator))});\n" for operator in operators)
        text += f"\nTORCH_LIBRARY_FRAGMENT({namespace}, m) {{\n{lines}}}\n"
    return text


def _unqualified(operator: BackendOperator) -> str:
    return str(operator.schema).removeprefix(f"{operator.schema.namespace}::")


def _kernels_source(operators: tuple[BackendOperator, ...], key: str, target: TargetBackend) -> str:
    wrappers = []
    registered: dict[str, list[str]] = {}
    for operator in operators:
        kernel = operator.kernel(key)
        if kernel is not None:
            namespace = operator.schema.namespace or ""
            wrapper = f"{namespace}_{operator.identifier}_{key}"
            wrappers.append(_wrapper(operator, kernel, wrapper, target))
            registered.setdefault(namespace, []).append(f"  m.impl({quoted(operator.name)}, TORCH_FN({wrapper}));\n")
    blocks = [
        f"TORCH_LIBRARY_IMPL({namespace}, {key}, m) {{\n{''.join(lines)}}}\n" for namespace, lines in registered.items()
    ]
    headers = ["<ATen/DeviceGuard.h>", "<ATen/core/dispatch/Dispatcher.h>", "<ATen/core/op_registration/adaption.h>"]
    headers += ["<ATen/native/Resize.h>"] if any(operator.derived_from for operator in operators) else []
    headers += ["<torch/library.h>"]
    own = ['"Kernels.h"', *(['"MetaTensors.h"'] if any(map(needs_meta_tensors, operators)) else [])]
    texts = [HEADER + includes(*own), includes(*headers), in_namespace("", wrappers), *blocks]
    return "\n".join(texts)


def _wrapper(operator: BackendOperator, kernel: BackendKernel, name: str, target: TargetBackend) -> str:
    signature = Signature.of(operator, symint=kernel.symint)
    lines = [f"// {operator.schema}", f"{signature.head(name)} {{"]
    lines += [indent(line, "  ") for line in _precautions(operator, kernel, target)]
    if operator.derived_from is None or not kernel.shared:
        lines.append(wrapped(f"return {kernel.function}(", signature.names, ");", indent="  "))
    else:
        lines += [indent(line, "  ") for line in derived_body(operator, operator.derived_from, kernel, signature)]
    return "\n".join([*lines, "}", ""])


def _precautions(operator: BackendOperator, kernel: BackendKernel, target: TargetBackend) -> Iterator[str]:
    """Yield the device checks of a wrapper.

    Composite and autograd kernels need none: they call the dispatcher again, and each operator that they use is
    checked.
    """
    tensors = operator.schema.tensor_arguments
    if kernel.key.startswith("Autograd") or kernel.key in COMPOSITE_KEYS or not target.switches_devices:
        return
    if operator.checks_devices and len(tensors) > 1:
        yield "::std::optional<at::Device> common_device;"
        yield from (_same_device(operator, argument) for argument in tensors)
    if operator.guards_device:
        guarded = _guarded(operator)
        if guarded:
            yield f"const c10::OptionalDeviceGuard device_guard({guarded});"


def _same_device(operator: BackendOperator, argument: Argument) -> str:
    names = f"{quoted(operator.name)}, {quoted(argument.name)}"
    if argument.type.is_optional and str(argument.type) != "Tensor?":  # PyTorch's function does not accept this type.
        checked = f"c10::impl::check_and_update_common_device(common_device, *{argument.name}, {names});"
        return f"if ({argument.name}) {checked}"
    return f"c10::impl::check_and_update_common_device(common_device, {argument.name}, {names});"


def _guarded(operator: BackendOperator) -> str:
    """Return the device on which the operator runs: that of its first tensor, or the one that the call specifies."""
    tensors = [argument for argument in operator.schema.tensor_arguments if str(argument.type) in _HAVE_DEVICE]
    if tensors:
        return f"at::device_of({tensors[0].name})"
    device = next((argument for argument in operator.schema.arguments if argument.type.base == "Device"), None)
    return device.name if device is not None else ""


def _fallback(target: TargetBackend) -> str:
    return (
        HEADER
        + includes("<ATen/core/dispatch/Dispatcher.h>", "<ATen/native/CPUFallback.h>", "<torch/library.h>")
        + "\nnamespace {\n\n"
        + "void run_on_cpu(const c10::OperatorHandle& op, torch::jit::Stack* stack) {\n"
        + "  at::native::cpu_fallback(op, stack);\n}\n\n}  // namespace\n\n"
        + f"TORCH_LIBRARY_IMPL(_, {target.key}, m) {{\n"
        + "  // Where this library comes to a device that has one, the device's stays.\n"
        + f"  if (!c10::Dispatcher::singleton().hasBackendFallbackForDispatchKey(c10::DispatchKey::{target.key}))\n"
        + "    m.fallback(torch::CppFunction::makeFromBoxedFunction<&run_on_cpu>());\n}\n"
    )
