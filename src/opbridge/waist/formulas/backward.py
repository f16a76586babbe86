"""The backward of a formula: one kernel that takes the gradients of the outputs and the tensors it needs from the call.

It recomputes what it needs from the inputs. Only an output is saved instead, if no more tensors are read for
it. The gradients of the backward itself are formulas of array functions, which frameworks can differentiate.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from itertools import zip_longest

from opbridge.base.errors import RuleError
from opbridge.waist.formulas.array_text import ArrayText
from opbridge.waist.formulas.generated_kernels import Generated, output_names, stored_form
from opbridge.waist.formulas.gradients import gradients, seeded
from opbridge.waist.formulas.loops import Output, loops
from opbridge.waist.formulas.make_nodes import plus
from opbridge.waist.formulas.moved_slices import CutError, scattered, sliced, with_one_size
from opbridge.waist.formulas.nodes import (
    GRID,
    Apply,
    Extent,
    Join,
    Node,
    Scalar,
    Tensor,
    Text,
    grid_tensors,
    is_cut,
    made,
    ordered,
    rebuilt,
)
from opbridge.waist.formulas.parser import Program
from opbridge.waist.formulas.part_text import PartText
from opbridge.waist.formulas.printer import is_index
from opbridge.waist.formulas.rules import flops_rule, in_order, mapping_rules
from opbridge.waist.formulas.size_text import names_of
from opbridge.waist.rules.formulas import depth
from opbridge.waist.rules.parser import MAX_DEPTH
from opbridge.waist.rules.syntax import Binary, Expr, Index, Int, Name
from opbridge.waist.schema import Schema

_LONGEST = 20_000
"""The length of a second derivative beyond which there is none: each name in it is one framework operator."""
_INSTEAD = (
    "make it two operators, say its gradient: derivatives, or write a mean of slices as sum(...) / (x.shape[-1] - 1)"
)

Gradients = Mapping[Tensor, Node]
Seeds = Sequence[tuple[Node, Tensor]]
"""Pairs of a value and its gradient."""


@dataclass(frozen=True)
class Backward:
    """The backward operator of a formula."""

    generated: Generated
    targets: tuple[str, ...]
    call: str
    """The call of the backward operator in the forward operator's rules."""
    gradients: tuple[tuple[str, str], ...]


def backward_of(program: Program) -> Backward | None:
    """Return the backward of a formula; None if no tensor has a gradient.

    Raises:
        RuleError: The gradient needs more than one pass over memory.
    """
    return _Deriving(program).backward()


class _Deriving:
    def __init__(self, program: Program) -> None:
        self.program = program
        self.schema = program.schema
        self.names = output_names(program.schema)
        self.taken = {argument.name for argument in self.schema.arguments}
        self.spelled: dict[str, Expr] = {}
        """The gradients and values of outputs by their names in the backward, as expressions of the forward."""
        self.reached: list[tuple[Node, set[Node]]] = []
        """The inputs of each output, or of a part of one."""

    def backward(self) -> Backward | None:
        seeds: dict[Node, Node] = {}
        grads: list[tuple[Node, Tensor]] = []
        for place, (node, name) in enumerate(zip(with_one_size(self.program.outputs), self.names, strict=True)):
            if not node.is_truth and not is_index(node):
                grad = made(Tensor, self.fresh(f"grad_{name}", "grads", place), stored_form(node))
                grads.append((node, grad))
                for part, of_part, _ in _seeds(node, grad):
                    seeds[part] = plus(seeds[part], of_part) if part in seeds else of_part
                    self.reached.append((part, {*ordered((part,))}))
        try:
            parts = gradients(seeds)
            shapes = self.shapes(parts)
            found = _of_whole(parts)
        except CutError as error:
            message = f"{self.schema.full_name}: one pass over memory does not give {error}, in its gradient"
            raise RuleError(message, hint=_INSTEAD) from None
        if not found:
            return None
        texts = self.texts(found, grads)
        values = self.with_results(found)
        return self.declared(dict(zip(found, values, strict=True)), texts, shapes)

    def fresh(self, name: str, group: str, place: int) -> str:
        while name in self.taken:
            name += "_"
        self.taken.add(name)
        self.spelled[name] = _output_of(self.schema, group, place)
        return name

    def shapes(self, parts: Gradients) -> dict[str, Node]:
        """Return what gives the grid its shape, for the gradient of each tensor: a sum of tensors, part by part.

        An output of elements has the shape itself; for a reduced output only the inputs have it.
        """
        found = {part: shape for part in parts if (shape := self.shape_of_part(part)) is not None}
        names = {part.name for part in found}
        shaped = _of_whole({part: found.get(part, value) for part, value in parts.items() if part.name in names})
        return {node.name: shape for node, shape in shaped.items()}

    def shape_of_part(self, part: Tensor) -> Node | None:
        tensors: dict[Node, None] = {}
        for root, nodes in self.reached if part.form == GRID else ():
            if part in nodes and root.form != GRID:
                roots = (root,) if is_cut(self.program.outputs) else self.program.outputs
                tensors |= dict.fromkeys(node for node in _tensors(roots) if node.form == GRID)
        return reduce(lambda a, b: made(Apply, "add", (a, b), GRID), tensors) if tensors else None

    def texts(self, found: Gradients, grads: Seeds) -> tuple[tuple[str, str], ...]:
        """Return the gradients as text for people."""
        if is_cut(found.values()):
            return tuple((name, str(text)) for name, text in self.of_parts(self.spelled, grads).items())
        printer = ArrayText(self.spelled, in_order(grid_tensors(self.program.outputs), self.schema))
        return tuple((node.name, str(printer.gradient(value, node.name, node.form))) for node, value in found.items())

    def is_alone(self, node: Tensor) -> bool:
        """Return whether no other tensor affects the grid's shape; then a gradient has the tensor's shape."""
        is_only = node.form == GRID and grid_tensors(self.program.outputs) == (node.name,)
        return is_only and all(map(_is_even, self.program.outputs))

    def with_results(self, found: Gradients) -> tuple[Node, ...]:
        """Return the gradients computed from saved outputs, if that does not need more tensors."""
        values = tuple(found.values())
        shapes = {node.name for node in found if not self.is_alone(node)}

        def read(nodes: tuple[Node, ...]) -> int:
            return len({node.name for node in _tensors(nodes)} | shapes)

        for place, (node, name) in enumerate(zip(self.program.outputs, self.names, strict=True)):
            is_whole = node.form == GRID and isinstance(node, Apply) and node.function != "astype"
            if not is_whole or node.is_truth or node not in ordered(values):
                continue
            saved = made(Tensor, name)
            changed = rebuilt(values, partial(_replaced, node, saved))
            if read(changed) <= read(values):
                self.spelled[name] = _output_of(self.schema, "results", place)
                values = changed
        return values

    def declared(
        self,
        values: Gradients,
        texts: tuple[tuple[str, str], ...],
        shapes_of: Mapping[str, Node],
    ) -> Backward:
        used = {node.name: node for node in _tensors(values.values())}
        shaping = {node.name: self.unread(value, shapes_of.get(node.name)) for node, value in values.items()}
        alone = {node for node in values if self.is_alone(node)}
        has_grid = any(node.form == GRID for node in used.values())
        sizes = names_of(ordered(tuple(values.values())))
        shapes = {node.name for node in values if node not in alone or not has_grid}
        shapes |= {node.name for shape in shaping.values() if shape is not None for node in _tensors((shape,))}
        if sizes:
            shapes |= {node.name for node in values} | sizes & {item.name for item in self.schema.tensor_arguments}
        tensors = [name for name in self.spelled if name in used]
        tensors += in_order({*used, *shapes} - {*tensors}, self.schema)
        attributes = [
            argument for argument in self.schema.attributes if argument.name in _attributes(values.values()) | sizes
        ]
        outputs = tuple(
            Output(f"grad_{node.name}", value, node.form, node not in alone, shape=shaping[node.name])
            for node, value in values.items()
        )
        schema = self.backward_schema([f"Tensor {name}" for name in tensors], outputs, list(map(str, attributes)))
        kernel = loops(schema, f"the gradient of {self.program.text}", outputs, self.program.names)
        like = next((name for name in tensors if name in used and used[name].form == GRID), "")
        rules: dict[str, object] = {"out": [node.name if node.name in tensors else like for node in values]}
        rules |= {**mapping_rules(kernel), "flops": flops_rule(tuple(values.values()))}
        if derivatives := self.second(schema, values, outputs):
            rules["derivatives"] = derivatives
        given = [str(self.spelled.get(name, Name(name))) for name in tensors] + [item.name for item in attributes]
        call = f"{schema.full_name}({', '.join(given)})"
        return Backward(Generated(schema, rules, kernel), tuple(node.name for node in values), call, texts)

    def unread(self, value: Node, shape: Node | None) -> Node | None:
        """Return what shapes the grid of a gradient besides the values it is computed from."""
        read = {node.name for node in _tensors((value,)) if node.form == GRID}
        is_whole = not isinstance(value, Join) and any(name in self.spelled for name in read)
        return None if is_whole else shape

    def backward_schema(self, tensors: list[str], outputs: tuple[Output, ...], attributes: list[str]) -> Schema:
        plain = [attribute.partition("=")[0] for attribute in attributes]
        returns = ", ".join(f"Tensor {output.name}" for output in outputs)
        overload = f".{self.schema.overload}" if self.schema.overload else ""
        name = f"{self.schema.qualified_name}_backward{overload}"
        return Schema.parse(f"{name}({', '.join([*tensors, *plain])}) -> ({returns})")

    def second(self, schema: Schema, values: Gradients, outputs: tuple[Output, ...]) -> dict[str, str]:
        """Return the gradients of the gradients; none if they are too long to run as formulas."""
        spelled = {f"d {output.name}": _output_of(schema, "grads", place) for place, output in enumerate(outputs)}
        seeds = [made(Tensor, name, node.form) for name, node in zip(spelled, values, strict=True)]
        given = [(output.value, seed) for output, seed in zip(outputs, seeds, strict=True)]
        try:
            if is_cut(values.values()):
                found = self.of_parts(spelled, given, [output.shape for output in outputs])
            else:
                found = self.of_whole(spelled, given, schema, outputs)
        except CutError:
            return {}
        if any(depth(text) >= MAX_DEPTH or len(str(text)) > _LONGEST for text in found.values()):
            return {}
        names = [argument.name for argument in schema.tensor_arguments]
        return {name: str(found[name]) if name in found else f"zeros_like({name})" for name in names}

    def of_whole(
        self, spelled: Mapping[str, Expr], seeds: Seeds, schema: Schema, outputs: tuple[Output, ...]
    ) -> dict[str, Expr]:
        joined: dict[Node, Node] = {}
        for value, seed in seeds:
            if value.form.extent is not Extent.CALL:
                of_value = seeded(value, seed)
                joined[value] = plus(joined[value], of_value) if value in joined else of_value
        alike = {f"d {output.name}": output.name.removeprefix("grad_") for output in outputs}
        shaping = {node.name for output in outputs for node in output.shapes}
        whole = in_order({*grid_tensors(value for value, _ in seeds), *shaping}, schema)
        # Values that come from the outputs have the grid's shape, whatever the other tensors have.
        printer = ArrayText(spelled, whole, tuple(name for name in whole if name in self.spelled), alike)
        return {node.name: printer.gradient(value, node.name, node.form) for node, value in gradients(joined).items()}

    def of_parts(
        self, spelled: Mapping[str, Expr], seeds: Seeds, shapes: Iterable[Node | None] = ()
    ) -> dict[str, Expr]:
        """Return the gradients of each part by itself; its shape comes from its values and the tensors of `shapes`."""
        alike = {seed.name: seed.name.removeprefix("d grad_") for _, seed in seeds}
        found: dict[Tensor, Expr] = {}
        for (value, seed), shape in zip_longest(seeds, shapes):
            for part, of_part, of_shape in _seeds(value, seed, shape):
                roots = (part, of_part) if of_shape is None else (part, of_part, of_shape)
                printer = PartText(spelled, roots, self.spelled, alike)
                for node, each in gradients({part: seeded(part, of_part)}).items():
                    text = printer.gradient_of_part(each, node)
                    found[node] = Binary("+", found[node], text) if node in found else text
        printer = PartText(spelled, found, self.spelled, alike)
        texts: dict[str, Expr] = {}
        for node, of_node in found.items():
            text = printer.beside_zeros(of_node, node)
            texts[node.name] = Binary("+", texts[node.name], text) if node.name in texts else text
        return texts


def _seeds(node: Node, grad: Node, shape: Node | None = None) -> Iterator[tuple[Node, Node, Node | None]]:
    """Return an output, its gradient and what has its shape, part by part."""
    if not isinstance(node, Join):
        yield node, grad, shape
        return
    shapes = shape.parts if isinstance(shape, Join) else [shape] * len(node.parts)
    for part, cut, of_part in zip(node.parts, node.cuts, shapes, strict=True):
        if part.form.extent is not Extent.CALL:
            yield from _seeds(part, sliced(grad, cut), of_part)


def _of_whole(found: Gradients) -> dict[Tensor, Node]:
    """Return the gradients of whole tensors from the gradients of their parts."""
    whole: dict[Tensor, Node] = {}
    for part, value in found.items():
        node = made(Tensor, part.name, part.form, part.is_mask)
        for cut in reversed(part.cuts):
            value = scattered(value, cut)
        whole[node] = plus(whole[node], value) if node in whole else value
    return whole


def _is_even(node: Node) -> bool:
    """Return whether all tensors computed together have the same shape, so that no part broadcasts along another."""
    if isinstance(node, Join):
        return all(map(_is_even, node.parts))
    shapes = {frozenset((cut.axis, cut.count) for cut in tensor.cuts) for tensor in _tensors((node,))}
    return len(shapes) <= 1


def _replaced(node: Node, saved: Node, part: Node) -> Node | None:
    return saved if part is node else None


def _output_of(schema: Schema, group: str, place: int) -> Expr:
    """Return the expression for the gradient or value of an output in a formula for derivatives."""
    plain = group.removesuffix("s")
    is_free = plain not in {argument.name for argument in schema.arguments}
    return Name(plain) if len(schema.returns) == 1 and is_free else Index(Name(group), (Int(place),))


def _tensors(nodes: Iterable[Node]) -> tuple[Tensor, ...]:
    return tuple(node for node in ordered(tuple(nodes)) if isinstance(node, Tensor))


def _attributes(nodes: Iterable[Node]) -> set[str]:
    return {node.name for node in ordered(tuple(nodes)) if isinstance(node, (Scalar, Text))}
