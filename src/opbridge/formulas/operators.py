"""From a formula to operators: itself and its backward, with rules and kernels, as a manifest would declare them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

from opbridge.errors import Location, RuleError
from opbridge.formulas.array_text import ArrayText
from opbridge.formulas.building import number
from opbridge.formulas.cpp import cpp_source, dtype_of, is_index
from opbridge.formulas.gradients import gradients
from opbridge.formulas.loops import Loops, Output, loops
from opbridge.formulas.nodes import GRID, Apply, Count, Extent, Form, Node, Tensor, made, ordered, rebuilt
from opbridge.formulas.reading import Program, read_formula
from opbridge.rules.parser import MAX_DEPTH
from opbridge.rules.syntax import Expr, Index, Int, Name
from opbridge.schema import Schema

PRINTERS: Mapping[str, tuple[str, Callable[[Loops], str]]] = {"cpu": (".cpp", cpp_source)}
"""By device: the suffix of a source, and what prints it."""

_LONGEST = 20_000


@dataclass(frozen=True)
class Generated:
    """One operator that follows from a formula."""

    schema: Schema
    rules: Mapping[str, object]
    loops: Loops

    def source(self, device: str) -> str:
        return PRINTERS[device][1](self.loops)

    def file(self, device: str) -> str:
        return self.schema.name + PRINTERS[device][0]


@dataclass(frozen=True)
class FormulaOperators:
    forward: Generated
    backward: Generated | None
    """None where nothing has a gradient."""
    devices: tuple[str, ...] = tuple(PRINTERS)
    """Those that kernels were asked for."""

    @property
    def all(self) -> tuple[Generated, ...]:
        return (self.forward,) if self.backward is None else (self.forward, self.backward)


def formula_operators(
    text: str, schema: Schema, where: Location | None = None, has_gradient: bool = True, device: str | None = None
) -> FormulaOperators:
    """`has_gradient` is whether one is wanted that follows from the formula; kernels are for one device, or all."""
    program = read_formula(text, schema, where)
    if device is not None and device not in PRINTERS:
        raise RuleError(f"no formula becomes a kernel for '{device}'", hint=f"devices: {', '.join(PRINTERS)}")
    try:
        forward = _forward(program)
        backward = _Backward(program).operator() if has_gradient else None
    except RuleError as error:
        raise error if error.where else RuleError(error.message, where, error.hint) from None
    rules = dict(forward.rules)
    if backward is not None:
        rules["derivatives"] = {", ".join(backward.targets): backward.call}
    return FormulaOperators(
        replace(forward, rules=rules),
        backward.generated if backward else None,
        (device,) if device else tuple(PRINTERS),
    )


def _forward(program: Program) -> Generated:
    names = _output_names(program.schema)
    outputs = tuple(Output(name, node, _stored(node)) for name, node in zip(names, program.outputs, strict=True))
    forward = loops(program.schema, program.text, outputs, program.names)
    out = [_out(node, program.schema) for node in program.outputs]
    return Generated(program.schema, {"out": out, **_mapping(forward), "flops": _flops(program.outputs)}, forward)


def _output_names(schema: Schema) -> list[str]:
    taken = {argument.name for argument in schema.arguments}
    found = []
    for place, output in enumerate(schema.returns):
        name = output.name or ("out" if len(schema.returns) == 1 else f"out{place}")
        while name in taken:
            name += "_"
        taken.add(name)
        found.append(name)
    return found


def _stored(node: Node) -> Form:
    return GRID if node.form.extent is Extent.CALL else node.form


def _grid_tensors(nodes: Iterable[Node]) -> tuple[str, ...]:
    found = {node.name for node in ordered(tuple(nodes)) if isinstance(node, Tensor) and node.form == GRID}
    return tuple(sorted(found))


def _in_order(names: Iterable[str], schema: Schema) -> tuple[str, ...]:
    wanted = set(names)
    return tuple(argument.name for argument in schema.arguments if argument.name in wanted)


def _numbers(nodes: Iterable[Node], schema: Schema) -> tuple[str, ...]:
    """The tensors of T, from which outputs take their type."""
    tensors = [node for node in ordered(tuple(nodes)) if isinstance(node, Tensor)]
    names = {node.name for node in tensors if not node.is_mask} or {node.name for node in tensors}
    return _in_order(names, schema)


def _out(node: Node, schema: Schema) -> object:
    tensors = _in_order(_grid_tensors([node]), schema)
    numbers = _numbers([node], schema)
    dtype = "int64" if is_index(node) else dtype_of(node)
    if dtype is None and node.form == GRID and numbers == tensors:
        return tensors[0] if len(tensors) == 1 else f"broadcast({', '.join(tensors)})"
    if dtype is None:
        dtype = f"{numbers[0]}.dtype" if len(numbers) == 1 else f"promote({', '.join(numbers)})"
    return {"shape": _shape(node, tensors, schema), "dtype": dtype}


def _shape(node: Node, tensors: tuple[str, ...], schema: Schema) -> str:
    grid = f"{tensors[0]}.shape" if len(tensors) == 1 else f"broadcast({', '.join(tensors)})"
    form = node.form
    if form.extent is Extent.GRID:
        return grid
    if form.axes is None:
        return f"[1 for _ in {grid}]" if form.extent is Extent.KEPT else "[]"
    shape = _reduced_shape(grid, form.axes, form.extent is Extent.KEPT)
    others = [part.name for part in ordered((node,)) if isinstance(part, Tensor) and part.form == form]
    return f"broadcast({', '.join([shape, *_in_order(others, schema)])})" if others else shape


def _reduced_shape(grid: str, axes: tuple[int, ...], keeps: bool) -> str:
    """The shape without its axes, which lie in pieces around them."""
    parts: list[str] = []
    ends = [*axes, None] if axes[0] >= 0 else [*axes]
    begin = ""
    for axis in axes:
        if begin != str(axis):
            parts.append(f"{grid}[{begin}:{axis}]")
        if keeps:
            parts.append("[1]")
        begin = str(axis + 1)
    if begin != "0" and ends:
        parts.append(f"{grid}[{begin}:]")
    return " + ".join(parts) or "[]"


def _flops(outputs: tuple[Node, ...]) -> str:
    tensors = _grid_tensors(outputs)
    each = sum(1 for node in ordered(outputs) if node.form == GRID and not isinstance(node, Tensor))
    each += sum(1 for node in ordered(outputs) if not isinstance(node, (Tensor, Count)) and node.inputs and node.form != GRID)
    grid = f"{tensors[0]}.numel" if len(tensors) == 1 else f"prod(broadcast({', '.join(tensors)}))"
    return f"{max(each, 1)} * {grid}" if tensors else "0"


def _mapping(loops: Loops) -> dict[str, object]:
    """How batches and shards go through: along every axis that is not reduced, where these are counted from the end."""
    axes = loops.axes
    outputs = loops.outputs
    if axes is None or any(axis >= 0 for axis in axes) or any(output.is_sum for output in outputs):
        return {"batch": "loop"}
    if any(tensor.form != GRID for tensor in loops.tensors):
        return {"batch": "loop"}
    if not axes:
        return {"batch": "elementwise", "shard": "elementwise"}
    names = [f"d{-axis}" for axis in range(axes[0], 0)]
    whole = [f"d{-axis}" for axis in axes]

    def group(form: Form) -> str:
        if form == GRID:
            return " ".join(["...", *names])
        kept = [("_" if name in whole else name) for name in names]
        return " ".join(["...", *(kept if form.extent is Extent.KEPT else [name for name in names if name not in whole])])

    inputs = [group(GRID)] * len(loops.schema.tensor_arguments)
    made_of = [group(output.form) for output in outputs]
    shard = f"{', '.join(inputs)} -> {', '.join(made_of)}"
    if any(name in group.split() for group in made_of for name in whole):
        shard += f" : whole {' '.join(whole)}"
    return {"batch": "elementwise", "shard": shard}


@dataclass(frozen=True)
class _Call:
    generated: Generated
    targets: tuple[str, ...]
    call: str


class _Backward:
    """The backward of a formula: one kernel, which takes the outputs' gradients and what it needs of the call.

    It computes anew from the inputs what it needs, except for an output: that is saved where no more tensors are read
    for it.
    """

    def __init__(self, program: Program) -> None:
        self.program = program
        self.schema = program.schema
        self.taken = {argument.name for argument in self.schema.arguments}
        self.spelled: dict[str, Expr] = {}
        """Tensors of the backward by their name, as the forward's formula writes them."""

    def operator(self) -> _Call | None:
        program = self.program
        grads: dict[Node, Node] = {}
        names = _output_names(self.schema)
        for place, (node, name) in enumerate(zip(program.outputs, names, strict=True)):
            if node.is_truth or is_index(node):
                continue
            grad = made(Tensor, self.fresh(f"grad_{name}", "grads", place), _stored(node))
            grads[node] = _added(grads.get(node), grad)
        found = gradients(grads) if grads else {}
        found = {node: value for node, value in found.items() if not node.is_mask and _follows(value)}
        if not found:
            return None
        values = self.with_results(tuple(found.values()), names)
        return self.declared(dict(zip(found, values, strict=True)), grads)

    def fresh(self, name: str, group: str, place: int) -> str:
        while name in self.taken:
            name += "_"
        self.taken.add(name)
        self.spelled[name] = _output_of(self.schema, group, place)
        return name

    def with_results(self, values: tuple[Node, ...], names: list[str]) -> tuple[Node, ...]:
        for place, (node, name) in enumerate(zip(self.program.outputs, names, strict=True)):
            if node.form != GRID or node.is_truth or isinstance(node, Tensor) or node not in ordered(values):
                continue
            if isinstance(node, Apply) and node.function == "astype":
                continue
            result = made(Tensor, name)
            changed = rebuilt(values, lambda part, node=node, result=result: result if part is node else None)
            if len(_tensors(changed)) <= len(_tensors(values)):
                self.fresh(name, "results", place)
                values = changed
        return values

    def declared(self, values: Mapping[Tensor, Node], grads: Mapping[Node, Node]) -> _Call:
        schema = self.schema
        forward_grid = _grid_tensors(self.program.outputs)
        used = _tensors(values.values())
        needs_shape = {
            node.name
            for node, value in values.items()
            if not self.is_alone(node, forward_grid) or not self.has_shape(node, value, used)
        }
        named = {node.name: node for node in used}
        outputs = []
        for node, value in values.items():
            alone = self.is_alone(node, forward_grid)
            outputs.append(Output(f"grad_{node.name}", value, node.form, not alone))
        tensors = [name for name in self.spelled if name in named]
        tensors += [name for name in _in_order({*named, *needs_shape}, schema) if name not in tensors]
        attributes = [argument for argument in schema.attributes if argument.name in _attributes(values.values())]
        declared = self.backward_schema(tensors, [str(a.type) + " " + a.name for a in attributes], outputs)
        call = f"{declared.full_name}({', '.join([*(str(self.spelled.get(name, Name(name))) for name in tensors), *(a.name for a in attributes)])})"
        made_loops = loops(declared, f"the gradient of {self.program.text}", tuple(outputs), self.program.names)
        like = {node.name: self.like(node, tensors, named) for node in values}
        rules: dict[str, object] = {"out": list(like.values()), **_mapping(made_loops)}
        rules["flops"] = _flops(tuple(values.values()))
        rules.update(self.second(declared, values, outputs, forward_grid))
        return _Call(Generated(declared, rules, made_loops), tuple(node.name for node in values), call)

    def is_alone(self, node: Tensor, grid: tuple[str, ...]) -> bool:
        """Whether nothing but this tensor shapes the part of the grid that it has."""
        if node.form == GRID:
            return grid == (node.name,)
        return False

    def has_shape(self, node: Tensor, value: Node, used: tuple[Tensor, ...]) -> bool:
        return any(part.form == GRID for part in used)

    def like(self, node: Tensor, tensors: list[str], named: Mapping[str, Tensor]) -> str:
        if node.name in tensors:
            return node.name
        return next(name for name in tensors if named[name].form == GRID)

    def backward_schema(self, tensors: list[str], attributes: list[str], outputs: list[Output]) -> Schema:
        arguments = [f"Tensor {name}" for name in tensors] + attributes
        returns = ", ".join(f"Tensor {_free(output.name, tensors)}" for output in outputs)
        name = f"{self.schema.qualified_name}_backward"
        overload = f".{self.schema.overload}" if self.schema.overload else ""
        return Schema.parse(f"{name}{overload}({', '.join(arguments)}) -> ({returns})")

    def second(
        self, schema: Schema, values: Mapping[Tensor, Node], outputs: list[Output], grid: tuple[str, ...]
    ) -> dict[str, object]:
        """The gradients of the gradients, as formulas of array functions, whose own gradients frameworks have."""
        spelled: dict[str, Expr] = {}
        seeds: dict[Node, Node] = {}
        for place, (node, output) in enumerate(zip(values, outputs, strict=True)):
            name = f"grad of {output.name}"
            spelled[name] = _output_of(schema, "grads", place)
            seed = made(Tensor, name, node.form)
            seeds[output.value] = _added(seeds.get(output.value), seed)
        found = gradients(_without_numbers(seeds))
        formulas: dict[str, str] = {}
        whole = _in_order(_grid_tensors([*values.values()]), schema)
        # What came from the outputs has the grid's shape, whatever the others are.
        full = tuple(name for name in whole if name in self.spelled) or whole
        printer = ArrayText(spelled, whole, full)
        for argument in schema.tensor_arguments:
            node = next((part for part in found if part.name == argument.name), None)
            if node is None:
                formulas[argument.name] = f"zeros_like({argument.name})"
                continue
            expr = printer.gradient(found[node], argument.name, node.form)
            if len(str(expr)) > _LONGEST or _depth(expr) >= MAX_DEPTH:
                return {}
            formulas[argument.name] = str(expr)
        return {"derivatives": formulas}


def _output_of(schema: Schema, group: str, place: int) -> Expr:
    """The gradient or value of an output, as a formula of derivatives writes it."""
    plain = group.removesuffix("s")
    is_free = plain not in {argument.name for argument in schema.arguments}
    return Name(plain) if len(schema.returns) == 1 and is_free else Index(Name(group), (Int(place),))


def _added(first: Node | None, second: Node) -> Node:
    from opbridge.formulas.building import apply

    return second if first is None else apply("add", first, second)


def _without_numbers(seeds: Mapping[Node, Node]) -> dict[Node, Node]:
    return {node: seed for node, seed in seeds.items() if node.form.extent is not Extent.CALL}


def _follows(value: Node) -> bool:
    return value is not number(0)


def _tensors(nodes: Iterable[Node]) -> tuple[Tensor, ...]:
    return tuple(node for node in ordered(tuple(nodes)) if isinstance(node, Tensor))


def _attributes(nodes: Iterable[Node]) -> set[str]:
    from opbridge.formulas.nodes import Scalar, Text

    return {node.name for node in ordered(tuple(nodes)) if isinstance(node, (Scalar, Text))}


def _free(name: str, taken: Iterable[str]) -> str:
    return f"{name}_" if name in taken else name


def _depth(expr: Expr) -> int:
    level, depth = [expr], 0
    while level:
        depth += 1
        level = [child for node in level for child in node.children()]
    return depth

