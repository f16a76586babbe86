"""Generate wrappers of operators without a kernel: each uses the kernel of another variant.

out from functional          copies the new tensors into the outputs
in-place from out            passes the written tensor as the output
functional from structured   makes the outputs that PyTorch's meta kernel describes; the out kernel fills them
"""

from __future__ import annotations

from collections.abc import Iterator

from opbridge.base.errors import ManifestError
from opbridge.codegen.backend import BackendKernel, BackendOperator
from opbridge.codegen.outputs.generated_sources import found_handle
from opbridge.codegen.unboxed_types import Signature, wrapped
from opbridge.waist.schema import Schema

META_TENSORS = """\
#pragma once

#include <ATen/DeviceGuard.h>
#include <ATen/EmptyTensor.h>
#include <ATen/core/IListRef.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty_strided.h>

#include <optional>
#include <vector>

namespace {

// A tensor without memory that a meta kernel takes for the given one.
inline at::Tensor meta_of(const at::Tensor& tensor) {
  // A number, such as one from Python, may stand among tensors of any device, and is promoted as a number.
  if (!tensor.defined() || (tensor.is_cpu() && tensor.dim() == 0)) return tensor;
  return at::Tensor(at::detail::empty_strided_meta(tensor.sizes(), tensor.strides(), tensor.scalar_type()));
}

inline ::std::optional<at::Tensor> meta_of(const ::std::optional<at::Tensor>& tensor) {
  return tensor ? ::std::optional<at::Tensor>(meta_of(*tensor)) : ::std::nullopt;
}

inline ::std::vector<at::Tensor> meta_of(const at::ITensorListRef& tensors) {
  ::std::vector<at::Tensor> metas;
  for (const auto& tensor : tensors) metas.push_back(meta_of(tensor));
  return metas;
}

// Where the result goes: a tensor on the CPU may stand for a number among tensors on a device.
template <class... Tensors>
at::Device device_among(const Tensors&... tensors) {
  ::std::optional<at::Device> found;
  for (const auto& device : {at::device_of(tensors)...}) {
    if (device && (!found || found->is_cpu())) found = device;
  }
  TORCH_CHECK(found, "expected at least one tensor");
  return *found;
}

}  // namespace
"""
"""The helpers that functional variants of structured operators use."""


def needs_meta_tensors(operator: BackendOperator) -> bool:
    """Return whether the operator is a functional variant that runs an out kernel."""
    source = operator.derived_from
    return source is not None and bool(source.out_arguments) and not operator.schema.mutable_arguments


def derived_body(
    operator: BackendOperator, source: Schema, kernel: BackendKernel, signature: Signature
) -> Iterator[str]:
    """Return the lines of a wrapper that runs the kernel of `source`; raise ManifestError if none is possible."""
    if operator.schema.out_arguments and not source.mutable_arguments:
        return _out_of_functional(operator, kernel)
    if source.out_arguments and not operator.schema.out_arguments:
        if operator.schema.mutable_arguments:
            return _inplace_of_out(operator, source, kernel)
        return _functional_of_out(operator, source, kernel, signature)
    message = f"cannot make {operator.schema.full_name} from {source.full_name}"
    raise ManifestError(message, operator.where, "give it its own kernel in `dispatch`")


def _out_of_functional(operator: BackendOperator, kernel: BackendKernel) -> Iterator[str]:
    outputs = [argument.name for argument in operator.schema.out_arguments]
    inputs = [argument.name for argument in operator.schema.arguments if argument.name not in outputs]
    made = "made" if len(outputs) == 1 else f"[{', '.join(f'made_{name}' for name in outputs)}]"
    yield wrapped(f"const auto {made} = {kernel.function}(", inputs, ");").replace("const auto [", "auto [")
    for name in outputs:
        value = "made" if len(outputs) == 1 else f"made_{name}"
        yield f"at::native::resize_output({name}, {value}.sizes());"
        yield f"{name}.copy_({value});"
    yield f"return {_returned(operator, outputs)};"


def _inplace_of_out(operator: BackendOperator, source: Schema, kernel: BackendKernel) -> Iterator[str]:
    written = operator.schema.mutable_arguments
    if len(written) != 1 or len(source.out_arguments) != 1:
        message = f"cannot make {operator.schema.full_name} from {source.full_name}: several tensors are written to"
        raise ManifestError(message, operator.where, "give it its own kernel in `dispatch`")
    names = [argument.name for argument in operator.schema.arguments]
    yield wrapped(f"{kernel.function}(", [*names, written[0].name], ");")
    yield f"return {written[0].name};"


def _functional_of_out(
    operator: BackendOperator, source: Schema, kernel: BackendKernel, signature: Signature
) -> Iterator[str]:
    schema = operator.schema
    outputs = [argument.name for argument in source.out_arguments]
    if any(str(return_.type) != "Tensor" for return_ in schema.returns) or len(outputs) != len(schema.returns):
        message = f"cannot make {schema.full_name} from {source.full_name}: their results differ"
        raise ManifestError(message, operator.where, "give it its own kernel in `dispatch`")
    yield f"static const auto op = {found_handle(operator, signature)};"
    keys = "c10::DispatchKeySet(c10::DispatchKey::Meta)"
    arguments = [f"meta_of({argument.name})" if argument.is_tensor else argument.name for argument in schema.arguments]
    planned = "planned" if len(outputs) == 1 else f"[{', '.join(f'planned_{name}' for name in outputs)}]"
    yield wrapped(f"const auto {planned} = op.redispatch(", [keys, *arguments], ");").replace("const auto [", "auto [")
    tensors = ", ".join(argument.name for argument in schema.tensor_arguments)
    yield f"const auto device = device_among({tensors});"
    for name in outputs:
        value = "planned" if len(outputs) == 1 else f"planned_{name}"
        options = f"{value}.options().device(device)"
        yield wrapped(f"auto {name} = at::empty_strided(", [f"{value}.sizes()", f"{value}.strides()", options], ");")
    names = [argument.name for argument in schema.arguments]
    yield wrapped(f"{kernel.function}(", [*names, *outputs], ");")
    yield f"return {_returned(operator, outputs, new=True)};"


def _returned(operator: BackendOperator, names: list[str], *, new: bool = False) -> str:
    if len(names) == 1:
        return names[0]
    maker = "::std::make_tuple" if new else "::std::forward_as_tuple"
    return f"{maker}({', '.join(f'::std::move({name})' if new else name for name in names)})"
