"""The rules that follow from a formula: shapes and types of outputs, batching, sharding, and the amount of work."""

from __future__ import annotations

from collections.abc import Iterable

from opbridge.base.errors import RuleError
from opbridge.waist.formulas.loops import Loops
from opbridge.waist.formulas.nodes import (
    GRID,
    Count,
    Extent,
    Form,
    Join,
    Node,
    Size,
    Tensor,
    grid_tensors,
    is_cut,
    ordered,
)
from opbridge.waist.formulas.printer import dtype_of, is_index
from opbridge.waist.schema import Schema


def in_order(names: Iterable[str], schema: Schema) -> tuple[str, ...]:
    """Return the names in the order of the schema's arguments."""
    wanted = set(names)
    return tuple(argument.name for argument in schema.arguments if argument.name in wanted)


def _numbers(nodes: Iterable[Node], schema: Schema) -> tuple[str, ...]:
    """Return the tensors of type T, from which outputs take their type."""
    tensors = [node for node in ordered(tuple(nodes)) if isinstance(node, Tensor)]
    names = {node.name for node in tensors if not node.is_mask} or {node.name for node in tensors}
    return in_order(names, schema)


def out_rule(node: Node, schema: Schema) -> object:
    """Return the `out` rule of one output.

    Raises:
        RuleError: No rule can express the output's shape.
    """
    tensors = in_order(grid_tensors([node]), schema)
    numbers = _numbers([node], schema)
    dtype = "int64" if is_index(node) else dtype_of(node)
    if dtype is None and node.form == GRID and numbers == tensors and not is_cut((node,)):
        return tensors[0] if len(tensors) == 1 else f"broadcast({', '.join(tensors)})"
    if dtype is None:
        dtype = f"{numbers[0]}.dtype" if len(numbers) == 1 else f"promote({', '.join(numbers)})"
    return {"shape": _shape(node, tensors, schema), "dtype": dtype}


def _shape(node: Node, tensors: tuple[str, ...], schema: Schema) -> str:
    if isinstance(node, Join):
        part = node.parts[0]
        return _resized(
            _shape(part, in_order(grid_tensors([part]), schema), schema), node.cuts[0].axis, str(node.cuts[0].whole)
        )
    grid = _grid_shape(node, tensors)
    form = node.form
    if form.extent is Extent.GRID:
        return grid
    if form.axes is None and form.extent is Extent.KEPT:
        raise RuleError(
            f"{schema.full_name}: an output that keeps all its axes has a shape that no rule can say",
            hint="name the axes, as in max(x, [-2, -1], keepdim=True), or drop them",
        )
    if form.axes is None:
        return "[]"
    shape = _reduced_shape(grid, form.axes, form.extent is Extent.KEPT)
    others = [part.name for part in ordered((node,)) if isinstance(part, Tensor) and part.form == form]
    return f"broadcast({', '.join([shape, *in_order(others, schema)])})" if others else shape


def _grid_shape(node: Node, tensors: tuple[str, ...]) -> str:
    if not is_cut((node,)):
        return f"{tensors[0]}.shape" if len(tensors) == 1 else f"broadcast({', '.join(tensors)})"
    found = [part for part in ordered((node,)) if isinstance(part, Tensor) and part.form == GRID]
    shapes = list(dict.fromkeys(_cut_shape(part) for part in sorted(found, key=lambda part: tensors.index(part.name))))
    return shapes[0] if len(shapes) == 1 else f"broadcast({', '.join(shapes)})"


def _cut_shape(tensor: Tensor) -> str:
    shape = f"{tensor.name}.shape"
    for cut in tensor.cuts:
        shape = _resized(shape, cut.axis, str(cut.count))
    return shape


def _resized(shape: str, axis: int, size: str) -> str:
    whole = f"({shape})" if " + " in shape else shape
    return f"{whole}[:{axis}] + [{size}]" + (f" + {whole}[{axis + 1}:]" if axis < -1 else "")


def _reduced_shape(grid: str, axes: tuple[int, ...], keeps: bool) -> str:
    """Return the shape without the reduced axes, which may be several; a scalar tensor has none to drop."""
    grid = f"({grid})" if " + " in grid and not grid.startswith("broadcast(") else grid
    parts: list[str] = []
    begin = ""
    one = f"[1][:{_rank(grid)}]" if axes in ((-1,), (0,)) else "[1]"
    for axis in axes:
        if begin != str(axis):
            parts.append(f"{grid}[{begin}:{axis}]")
        parts += [one] if keeps else []
        begin = str(axis + 1)
    # Axis -1 is the last one, so there is no slice after it.
    parts += [] if axes[-1] == -1 else [f"{grid}[{begin}:]"]
    return " + ".join(parts) or "[]"


def _rank(shape: str) -> str:
    return shape.replace(".shape", ".ndim") if shape.endswith(".shape") else f"len({shape})"


def flops_rule(outputs: tuple[Node, ...]) -> str:
    """Return the `flops` rule: the operations per element times the number of elements."""
    tensors = grid_tensors(outputs)
    nodes = ordered(outputs)
    each = sum(1 for node in nodes if node.form == GRID and not isinstance(node, Tensor))
    each += sum(1 for node in nodes if not isinstance(node, (Tensor, Count)) and node.inputs and node.form != GRID)
    if tensors and is_cut(outputs):
        return f"{max(each, 1)} * {tensors[0]}.numel"
    grid = f"{tensors[0]}.numel" if len(tensors) == 1 else f"prod(broadcast({', '.join(tensors)}))"
    return f"{max(each, 1)} * {grid}" if tensors else "0"


def mapping_rules(loops: Loops) -> dict[str, object]:
    """Return the `batch` and `shard` rules.

    Batches and shards are possible along every axis that is not reduced, if the axes are counted from the end.
    """
    axes = loops.axes
    if axes is None or any(axis >= 0 for axis in axes) or any(output.is_sum for output in loops.outputs):
        return {"batch": "loop"}
    # A batched or divided tensor has other sizes than the whole.
    if (
        loops.cuts
        or loops.others
        or any(isinstance(node, Size) for node in loops.nodes)
        or any(tensor.form != GRID for tensor in loops.tensors)
    ):
        return {"batch": "loop"}
    if not axes:
        return {"batch": "elementwise", "shard": "elementwise"}
    names = [f"d{-axis}" for axis in range(axes[0], 0)]
    whole = [f"d{-axis}" for axis in axes]

    def group(form: Form) -> str:
        if form == GRID:
            return " ".join(["...", *names])
        kept = [("_" if name in whole else name) for name in names]
        return " ".join(
            ["...", *(kept if form.extent is Extent.KEPT else [name for name in names if name not in whole])]
        )

    inputs = [group(GRID)] * len(loops.schema.tensor_arguments)
    made_of = [group(output.form) for output in loops.outputs]
    pattern = f"{', '.join(inputs)} -> {', '.join(made_of)}"
    shard = pattern
    if any(name in group.split() for group in made_of for name in whole):
        shard += f" : whole {' '.join(whole)}"
    return {"batch": pattern, "shard": shard}
