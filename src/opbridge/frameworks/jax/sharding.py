"""Apply `shard` rules in JAX: tell the XLA partitioners, GSPMD and Shardy, how to divide calls over several devices."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import count
from typing import TYPE_CHECKING

import jax
from jax.experimental.custom_partitioning import SdyShardingRule, custom_partitioning
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from opbridge.base.errors import UnsupportedError
from opbridge.frameworks.jax.call import Array, Call, Like
from opbridge.waist.rules.sharding import Layout, Names, Shape, ShardingWarning, check_parts, undivided

if TYPE_CHECKING:
    from jax.interpreters import mlir

Axes = tuple[str, ...]
Bind = Callable[..., list[Array]]

_REDUCTIONS = {"sum": jax.lax.psum, "max": jax.lax.pmax, "min": jax.lax.pmin}


def is_divided(ctx: mlir.LoweringRuleContext) -> bool:
    """Return whether XLA divides tensors of the program that is being lowered over several devices.

    If the program defines what each device does (shard_map, pmap), there is nothing to divide. An exported program
    cannot contain partitioners, which are functions of this process.
    """
    context = ctx.module_context.axis_context
    over_mesh = getattr(context, "abstract_mesh", None) is not None and context.device_assignment is not None
    return over_mesh and context.num_devices > 1 and not ctx.module_context.lowering_parameters.for_export


def refuse_partly_manual(ctx: mlir.LoweringRuleContext, call: Call) -> None:
    """Raise UnsupportedError if shard_map covers only some axes of a mesh under GSPMD.

    GSPMD would end the process when it meets a call that it cannot divide.
    """
    context = ctx.module_context.axis_context
    manual: frozenset[str] = getattr(context, "manual_axes", frozenset())
    if manual and manual != set(context.mesh.axis_names) and not jax.config.jax_use_shardy_partitioner:
        left = ", ".join(name for name in context.mesh.axis_names if name not in manual)
        raise UnsupportedError(
            f"{call.name}: shard_map leaves the axes {left} of its mesh to GSPMD, which cannot divide operators there; "
            "give shard_map all axes, or use the other partitioner: "
            'jax.config.update("jax_use_shardy_partitioner", True)'
        )


def partitioned(bind: Bind, call: Call, inputs: Sequence[Like], outputs: Sequence[Like]) -> Callable[..., list[Array]]:
    """Return the call as a function that XLA divides by its rule, for inputs and outputs of these shapes."""
    known, layout = _layout(call, inputs, outputs)
    names = _output_names(call, layout)
    _check_parts(call, layout, inputs, outputs)

    def run(*tensors: Array) -> tuple[Array, ...]:
        return tuple(bind(call, *tensors))

    def partition(mesh: Mesh, inputs: Sequence[Like], outputs: Sequence[Like]) -> tuple[object, ...]:
        """Return the function of each device, and the shardings that it needs; XLA moves tensors with other ones."""
        given = [*zip(layout.inputs, _specs(inputs), strict=True), *zip(names, _specs(outputs), strict=True)]
        if not known and any(entry for spec in _specs(inputs) for entry in spec):
            _say_unknown(call)
        axes = _chosen(layout, dict(mesh.shape), given)

        def on_each_device(*tensors: Array) -> tuple[Array, ...]:
            return tuple(_combined(value, one, layout, axes) for value, one in zip(run(*tensors), names, strict=True))

        return mesh, on_each_device, _placed(mesh, axes, names), _placed(mesh, axes, layout.inputs)

    def infer(mesh: Mesh, inputs: Sequence[Like], outputs: Sequence[Like]) -> tuple[NamedSharding, ...]:
        given = zip(layout.inputs, _specs(inputs), strict=True)
        return _placed(mesh, _chosen(layout, dict(mesh.shape), given), names)

    function = custom_partitioning(run)
    function.def_partition(
        partition, infer_sharding_from_operands=infer, sharding_rule=_shardy_rule(layout.inputs, names)
    )
    divided: Callable[..., list[Array]] = function
    return divided


def output_specs(call: Call, inputs: Sequence[Like], outputs: Sequence[Like]) -> list[PartitionSpec]:
    """Return the sharding of the outputs on a mesh with explicit axes."""
    specs = [value.sharding.spec for value in inputs]
    if not any(entry for spec in specs for entry in spec):
        return [PartitionSpec(*(None,) * len(output.shape)) for output in outputs]
    _, layout = _layout(call, inputs, outputs)
    axes = _chosen(layout, dict(inputs[0].sharding.mesh.shape), zip(layout.inputs, specs, strict=True))
    return [_spec(names, axes) for names in _output_names(call, layout)]


def _say_unknown(call: Call) -> None:
    warnings.warn(
        f"nothing says how {call.name} may be divided: its divided inputs are gathered and each device computes the "
        "whole. A `shard` rule says it, such as `shard: elementwise` or `shard: b s h, h -> b s h`",
        ShardingWarning,
        stacklevel=2,
    )


def _shardy_rule(inputs: tuple[Names, ...], outputs: tuple[Names, ...]) -> SdyShardingRule:
    numbers: dict[str, str] = {}
    # A dimension that is never divided is its own factor; `partition` moves tensors that are divided along it.
    own = (f"own{number}" for number in count())

    def mapped(names: Names) -> tuple[str, ...]:
        return tuple(next(own) if name is None else numbers.setdefault(name, f"f{len(numbers)}") for name in names)

    return SdyShardingRule(tuple(map(mapped, inputs)), tuple(map(mapped, outputs)))


def _layout(call: Call, inputs: Sequence[Like], outputs: Sequence[Like]) -> tuple[bool, Layout]:
    """Return the layout of a call, and whether it comes from a rule."""
    shapes: list[list[Shape]] = [[tuple(value.shape) for value in values] for values in (inputs, outputs)]
    new = shapes[1][len(call.written) :]
    found = call.layout(shapes[0], new)
    return (False, undivided(shapes[0], new)) if found is None else (True, found)


def _check_parts(call: Call, layout: Layout, inputs: Sequence[Like], outputs: Sequence[Like]) -> None:
    def shapes_for(shapes: Sequence[Shape]) -> list[Shape]:
        parts = [jax.ShapeDtypeStruct(shape, one.dtype) for shape, one in zip(shapes, inputs, strict=True)]
        return [tuple(one.shape) for one in call.outputs(parts)[len(call.written) :]]

    given, made = ([tuple(one.shape) for one in values] for values in (inputs, outputs[len(call.written) :]))
    check_parts(call.name, layout, given, made, shapes_for)


def _output_names(call: Call, layout: Layout) -> tuple[Names, ...]:
    return (*(layout.inputs[number] for number in call.written), *layout.outputs)


def _specs(values: Iterable[Like]) -> list[Sequence[object]]:
    return [() if value.sharding is None else tuple(value.sharding.spec) for value in values]


def _chosen(
    layout: Layout, mesh: Mapping[str, int], given: Iterable[tuple[Names, Sequence[object]]]
) -> dict[str, Axes]:
    """Return the mesh axes that divide each name, taken from the first tensor that has the name.

    Only equal parts are allowed: XLA would pad the last part with elements that are not of the tensor.
    """
    chosen: dict[str, Axes] = {}
    taken: set[str] = set()
    for names, spec in given:
        for name, entry in zip(names, spec, strict=False):
            axes = entry if isinstance(entry, tuple) else (entry,)
            if name is None or name in chosen or entry is None or not taken.isdisjoint(axes):
                continue
            if layout.sizes[name] % math.prod(mesh[axis] for axis in axes) == 0:
                chosen[name] = axes
                taken |= set(axes)
    return chosen


def _spec(names: Names, axes: Mapping[str, Axes]) -> PartitionSpec:
    return PartitionSpec(*(axes.get(name) if name else None for name in names))


def _placed(mesh: Mesh, axes: Mapping[str, Axes], tensors: Iterable[Names]) -> tuple[NamedSharding, ...]:
    return tuple(NamedSharding(mesh, _spec(names, axes)) for names in tensors)


def _combined(value: Array, names: Names, layout: Layout, axes: Mapping[str, Axes]) -> Array:
    """Combine the parts of an output on each device by the reductions of the layout."""
    for name, reduction in layout.reductions.items():
        if name in axes and name not in names:
            value = _REDUCTIONS[reduction](value, axes[name])
    return value
