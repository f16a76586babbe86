"""Define the two JAX primitives of all operators, and how every transformation treats them.

`call_p` runs a kernel. Its derivative is `linear_p`, a linear function of tangents. Transposed, it is the gradient
formula of the operator. Run forward, it is the transpose of that formula, which JAX derives. One set of formulas
therefore gives forward mode, reverse mode and every mixture of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
from jax._src.dispatch import prim_requires_devices_during_lowering
from jax.extend.core import Primitive
from jax.extend.mlir import ir
from jax.extend.mlir.dialects import stablehlo
from jax.interpreters import ad, batching, mlir

from opbridge.base.errors import KernelError
from opbridge.frameworks.jax.batching import batched_call
from opbridge.frameworks.jax.call import Array, Call, Like, Linear, in_jax, in_program
from opbridge.frameworks.jax.handler import TARGET, handler_or_reason
from opbridge.frameworks.jax.mesh_types import abstract_like, alike, lying_as, spec_of
from opbridge.frameworks.jax.sharding import is_divided, output_specs, partitioned, refuse_partly_manual
from opbridge.frameworks.jax.uncompiled import lowered

if TYPE_CHECKING:
    import numpy as np

call_p = Primitive("opbridge")
call_p.multiple_results = True
linear_p = Primitive("opbridge_linear")
linear_p.multiple_results = True
# Dividing a call over devices requires them during lowering; JAX has no public way to request that.
prim_requires_devices_during_lowering.update((call_p, linear_p))

_PLATFORMS = {"cpu": "cpu", "cuda": "cuda"}
"""The device whose kernels run on an XLA platform."""


def bind_call(call: Call, *tensors: Array) -> list[Array]:
    """Add a call to the program that JAX traces, or run it."""
    outputs: list[Array] = call_p.bind(*alike(tensors), call=call)
    return outputs


@lru_cache(maxsize=1024)
def compiled(primitive: Primitive, **static: object) -> Callable[..., list[Array]]:
    """Return the primitive with these parameters as a compiled function."""
    function: Callable[..., list[Array]] = jax.jit(partial(primitive.bind, **static))
    return function


def _run(primitive: Primitive, *operands: Array, **static: object) -> list[Array]:
    # With jit disabled, a compiled function would recurse here.
    with jax.disable_jit(False):
        return compiled(primitive, **static)(*operands)


call_p.def_impl(partial(_run, call_p))
linear_p.def_impl(partial(_run, linear_p))


def _call_outputs(*inputs: Like, call: Call) -> list[Like]:
    outputs = call.outputs(inputs)
    names = [f"output {place}" if len(outputs) > 1 else "its output" for place in range(len(outputs))]
    specs = output_specs(call, inputs, outputs)
    return [
        abstract_like(inputs, output.shape, in_jax(call, output.dtype, name), spec)
        for output, name, spec in zip(outputs, names, specs, strict=True)
    ]


def _linear_outputs(*operands: Like, linear: Linear) -> list[Like]:
    return [abstract_like(operands, output.shape, output.dtype, spec_of(output)) for output in linear.outputs]


call_p.def_abstract_eval(_call_outputs)
linear_p.def_abstract_eval(_linear_outputs)


def _lower(device: str, ctx: mlir.LoweringRuleContext, *operands: ir.Value, call: Call) -> list[object]:
    if device not in call.devices:
        raise KernelError(f"{call.name} has no kernel for {device}; it has kernels for {', '.join(call.devices)}")
    call.target(device)  # report errors now rather than when the program runs
    refuse_partly_manual(ctx, call)
    if operands and is_divided(ctx):
        return _lower_divided(ctx, *operands, call=call)
    if reason := handler_or_reason():
        return lowered(call, device, reason)(ctx, *operands)
    exact = [
        aval.update(dtype=output.dtype) for aval, output in zip(ctx.avals_out, call.outputs(ctx.avals_in), strict=True)
    ]
    results = _typed_call(device, ctx.replace(avals_out=exact), operands, call)
    return [
        result if wide.dtype == aval.dtype else _converted(result, aval.dtype)
        for result, wide, aval in zip(results, exact, ctx.avals_out, strict=True)
    ]


def _typed_call(
    device: str, ctx: mlir.LoweringRuleContext, operands: tuple[ir.Value, ...], call: Call
) -> list[ir.Value]:
    """Return the results of a call of the handler.

    A single result of known sizes on a CPU is the element of a tuple. XLA aborts if a typed call is the root of a CPU
    program that also has a small matrix product, since it reads the attributes of the root as JSON.
    """
    aliases = {number: place for place, number in enumerate(call.written)}
    has_sizes = all(isinstance(size, int) for aval in ctx.avals_out for size in aval.shape)
    in_tuple = device == "cpu" and len(ctx.avals_out) == 1 and has_sizes and not aliases
    types = {"result_types": [ir.TupleType.get_tuple([_tensor_type(ctx.avals_out[0])])]} if in_tuple else {}
    rule = jax.ffi.ffi_lowering(TARGET, operand_output_aliases=aliases, **types)
    results = list(rule(ctx, *operands, **in_program(call)))
    return [stablehlo.get_tuple_element(results[0], 0)] if in_tuple else results


def _tensor_type(aval: jax.core.ShapedArray) -> ir.Type:
    return ir.RankedTensorType.get(aval.shape, mlir.dtype_to_ir_type(aval.dtype))


def _lower_divided(ctx: mlir.LoweringRuleContext, *operands: ir.Value, call: Call) -> list[ir.Value]:
    divided = partitioned(bind_call, call, ctx.avals_in, ctx.avals_out)
    results: list[ir.Value] = mlir.lower_fun(divided, multiple_results=True)(ctx, *operands)
    # The program contains only the address of the partitioner: add the call, so that the JAX compilation cache sees it.
    meant = ir.DictAttr.get({TARGET: ir.StringAttr.get(call.text)})
    results[0].owner.attributes["mhlo.frontend_attributes"] = meant
    return results


def _converted(value: Array, dtype: np.dtype[Any]) -> object:
    return stablehlo.convert(ir.RankedTensorType.get(value.type.shape, mlir.dtype_to_ir_type(dtype)), value)


def _refuse_platform(ctx: mlir.LoweringRuleContext, *operands: ir.Value, call: Call) -> list[object]:
    platforms = ctx.platforms or ctx.module_context.platforms
    raise KernelError(
        f"{call.name} has no kernel for {', '.join(platforms)}; in JAX, operators run on {' and '.join(_PLATFORMS)}"
    )


mlir.register_lowering(call_p, _refuse_platform)
for _platform, _device in _PLATFORMS.items():
    mlir.register_lowering(call_p, partial(_lower, _device), platform=_platform)


def _push(linear: Linear, *operands: Array) -> tuple[Array, ...]:
    """Run a linear function forward: transpose its transpose."""
    residuals, tangents = operands[: linear.residuals], operands[linear.residuals :]
    # The transpose is linear, so the point of differentiation does not matter.
    zeros = (jnp.zeros(output.shape, output.dtype, device=output.sharding) for output in linear.outputs)
    anywhere = alike([*zeros, *operands])

    def pulled(*cotangents: Array) -> tuple[Array, ...]:
        gradients = zip(linear(residuals, cotangents), tangents, strict=True)
        return tuple(lying_as(value, jax.typeof(tangent).sharding) for value, tangent in gradients)

    _, push = jax.vjp(pulled, *anywhere[: len(linear.outputs)])
    pushed: tuple[Array, ...] = push(tuple(tangents))
    return pushed


mlir.register_lowering(
    linear_p, mlir.lower_fun(lambda *operands, linear: _push(linear, *operands), multiple_results=True)
)


def _is_zero(tangent: object) -> bool:
    return type(tangent) is ad.Zero


def _has_tangent(value: Like) -> bool:
    return bool(jnp.issubdtype(value.dtype, jnp.inexact))


def _call_jvp(primals: Sequence[Array], tangents: Sequence[object], *, call: Call) -> tuple[list[Array], list[object]]:
    outputs = bind_call(call, *primals)
    zeros: list[ad.Zero] = [ad.Zero(jax.typeof(output).to_tangent_aval()) for output in outputs]
    moving = tuple(place for place, tangent in enumerate(tangents) if not _is_zero(tangent))
    moved = [place for place, output in enumerate(outputs) if _has_tangent(output)]
    if not moving or not moved:
        return outputs, zeros
    linear, residuals = call.pullback(primals, outputs, moving)
    operands = alike([*residuals, *(tangents[place] for place in moving)])
    for place, tangent in zip(moved, linear_p.bind(*operands, linear=linear), strict=True):
        zeros[place] = tangent
    return outputs, zeros


def _linear_jvp(
    primals: Sequence[Array], tangents: Sequence[object], *, linear: Linear
) -> tuple[Sequence[Array], Sequence[object]]:
    moving = [place for place, tangent in enumerate(tangents) if not _is_zero(tangent)]
    if all(place >= linear.residuals for place in moving):
        filled = [ad.instantiate_zeros(tangent) for tangent in tangents[linear.residuals :]]
        operands = alike([*primals[: linear.residuals], *filled])
        return linear_p.bind(*primals, linear=linear), linear_p.bind(*operands, linear=linear)

    def moved(*values: Array) -> tuple[Array, ...]:
        operands = list(primals)
        for place, value in zip(moving, values, strict=True):
            operands[place] = value
        return _push(linear, *operands)

    outputs, pushed = jax.jvp(moved, [primals[place] for place in moving], [tangents[place] for place in moving])
    return outputs, pushed


def _linear_transpose(cotangents: Sequence[object], *operands: Array, linear: Linear) -> list[object]:
    residuals, inputs = operands[: linear.residuals], operands[linear.residuals :]
    if all(map(_is_zero, cotangents)):
        return [None] * len(operands)
    gradients = linear(residuals, [ad.instantiate_zeros(cotangent) for cotangent in cotangents])
    asked = zip(inputs, gradients, strict=True)
    return [None] * linear.residuals + [
        lying_as(value, one.aval.sharding) if ad.is_undefined_primal(one) else None for one, value in asked
    ]


@dataclass(frozen=True)
class BatchedLinear:
    """A linear function applied to a batch of tangents, whose first dimension is the batch."""

    one: Linear
    axes: tuple[int | None, ...]
    """The batch dimensions of the residuals."""
    size: Any

    @property
    def residuals(self) -> int:
        """The number of residuals."""
        return self.one.residuals

    @property
    def outputs(self) -> tuple[Like, ...]:
        """The outputs with the batch as first dimension."""
        return tuple(jax.ShapeDtypeStruct((self.size, *output.shape), output.dtype) for output in self.one.outputs)

    def __call__(self, residuals: Sequence[Array], cotangents: Sequence[Array]) -> Sequence[Array]:
        """Apply the linear function to each element of the batch."""
        function = jax.vmap(self.one, in_axes=(list(self.axes), 0))
        gradients: Sequence[Array] = function(list(residuals), list(cotangents))
        return gradients


def _linear_batch(
    operands: Sequence[Array], axes: Sequence[int | None], *, linear: Linear
) -> tuple[Sequence[Array], list[int]]:
    size = next(value.shape[axis] for value, axis in zip(operands, axes, strict=True) if axis is not None)
    moved = []
    for place, (value, axis) in enumerate(zip(operands, axes, strict=True)):
        if axis is not None:
            moved.append(jnp.moveaxis(value, axis, 0))
        elif place < linear.residuals:
            moved.append(value)
        else:
            moved.append(jnp.broadcast_to(value, (size, *value.shape)))
    batched = BatchedLinear(linear, tuple(None if axis is None else 0 for axis in axes[: linear.residuals]), size)
    return linear_p.bind(*moved, linear=batched), [0] * len(linear.outputs)


ad.primitive_jvps[call_p] = _call_jvp
ad.primitive_jvps[linear_p] = _linear_jvp
ad.primitive_transposes[linear_p] = _linear_transpose
batching.primitive_batchers[call_p] = partial(batched_call, bind_call)
batching.primitive_batchers[linear_p] = _linear_batch
