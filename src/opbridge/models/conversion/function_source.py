"""Render one graph as the lines of a function: names, arguments, writes, nested graphs."""

from __future__ import annotations

import builtins
import keyword
import math
import operator
import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch._ops import HigherOrderOperator, OpOverload

from opbridge.base.errors import UnsupportedError
from opbridge.models.conversion.autocast_casts import cast_as_autocast
from opbridge.models.conversion.constants import numpy_text
from opbridge.models.conversion.exported_graphs import Exported
from opbridge.models.conversion.native_operators import Natives
from opbridge.models.conversion.package_operators import Operators
from opbridge.models.conversion.source_lines import user_line
from opbridge.models.conversion.written_views import (
    bases,
    is_one_of_parts,
    is_view,
    merged,
    order_in_memory,
    share_memory,
    turned_back,
    written_inputs,
)
from opbridge.models.scan.mindspore_names import PYTORCH_ONLY
from opbridge.models.scan.operator_recorder import functional

MARK = "Made by `opbridge convert`"
"""The text in every file that a later run may overwrite."""

_aten = torch.ops.aten
_SAME = ("contiguous", "alias", "lift_fresh_copy", "lift_fresh")
"""Operators that change nothing in a framework that manages memory itself."""
_DROPOUTS = ("dropout", "dropout_", "feature_dropout", "alpha_dropout", "feature_alpha_dropout")
"""Operators that do nothing outside of training."""
_NORMS = ("batch_norm", "instance_norm")
"""Operators that update statistics in training although their schemas do not tell."""
_CHECKS = ("_assert", "sym_constrain_range", "_functional_assert")
_CONTROL = {"cond": "branch", "while_loop": "repeat", "map_impl": "each", "scan": "accumulate"}
"""PyTorch control flow, and its name in the source of another framework."""
_ARITHMETIC = {
    operator.add: "+",
    operator.sub: "-",
    operator.mul: "*",
    operator.floordiv: "//",
    operator.mod: "%",
    operator.truediv: "/",
    operator.pow: "**",
    operator.eq: "==",
    operator.ne: "!=",
    operator.lt: "<",
    operator.le: "<=",
    operator.gt: ">",
    operator.ge: ">=",
}


@dataclass(frozen=True)
class Origin:
    """The node that a name in the source represents."""

    node: torch.fx.Node
    inputs: Mapping[str, Any]
    """The nodes that it is computed from, by their names in the source."""

    @property
    def line(self) -> str:
        """The line of the network: `File "net.py", line 12, in forward`; empty if PyTorch does not know it."""
        return user_line(self.node)


def parameters(modes: Sequence[list[str]]) -> list[str]:
    """Return the inputs of a module's function, which may need more in one mode than in the other."""
    longest, needed = max(modes, key=len), min(map(len, modes))
    return longest[:needed] + [f"{name}=None" for name in longest[needed:]]


class Body(ABC):
    """The lines that compute a graph; a framework defines how its values and modules are written."""

    def __init__(
        self, operators: Operators, exported: Exported, natives: Natives | None, mode: str, place: str
    ) -> None:
        self.operators = operators
        self.natives = natives
        self.exported = exported
        self.mode = mode
        self.nested: Mapping[str, Any] = exported.nested(mode, place)
        """Nested graphs of this module, by name."""
        self.place = place
        self.lines: list[str] = []
        self.env: dict[object, str] = {}
        self.taken: set[str] = (
            set(keyword.kwlist)
            | set(dir(builtins))
            | {"self", "ms", "np", "mint", "forms", "jax_forms", "jnp", "ops", "nn", *_CONTROL.values()}
        )
        self.factories: dict[str, str] = {}
        """Expressions of tensors that depend on no input, by name."""
        self.origins: dict[str, Origin] = {}
        """Origins by the name that first holds the result of a node."""

    # Each framework defines these.
    @abstractmethod
    def attribute(self, path: str) -> str:
        """Return the expression for a value of the module, by its PyTorch path."""

    @abstractmethod
    def called(self, path: str, arguments: str) -> str:
        """Return the call of the submodule at a path."""

    @abstractmethod
    def dtype(self, name: str) -> str:
        """Return the framework's expression of a dtype."""

    @abstractmethod
    def stopped(self, value: str) -> str:
        """Return the expression that stops the gradient of a value."""

    @abstractmethod
    def assigned(self, path: str, value: str) -> str:
        """Return the line that assigns a value of the module."""

    @abstractmethod
    def factory(self, name: str, value: str) -> str:
        """Return the expression for a constant tensor; `name` is free for it."""

    def size(self, tensor: str, dim: int) -> str:
        """Return the expression for the size of one axis."""
        return f"{tensor}.shape[{dim}]"

    # All frameworks share these.
    def inputs(self, graph: torch.fx.Graph, names: tuple[str, ...]) -> list[str]:
        """Name the inputs of a graph, with `names` where there are enough, and return their names."""
        nodes = [node for node in graph.nodes if node.op == "placeholder"]
        for index, node in enumerate(nodes):
            self.env[node] = self.fresh(names[index] if index < len(names) else f"x{index or ''}")
            self.origins[self.env[node]] = Origin(node, {})
        return [self.env[node] for node in nodes]

    def fresh(self, wanted: str) -> str:
        """Return an unused name like `wanted`, and reserve it."""
        base = re.sub(r"\W+", "_", wanted).lstrip("0123456789_").rstrip("_") or "value"
        name, number = base, 0
        while name in self.taken:
            number += 1
            name = f"{base}_{number}"
        self.taken.add(name)
        return name

    def graph(self, graph: torch.fx.Graph) -> Any:
        """Render all nodes, and return the output value of the PyTorch graph."""
        for node in graph.nodes:
            if node.op == "output":
                return node.args[0]
            if node.op != "placeholder":
                self.node(node)
        return None

    def node(self, node: torch.fx.Node) -> None:
        """Render one node; raise UnsupportedError if it is not a PyTorch operator."""
        if node.op == "get_attr":
            if node.target not in self.nested:
                self.env[node] = self.attribute(node.target)
            return
        if node.op == "call_module":
            self.call_cell(node)
            return
        target = node.target
        if isinstance(target, HigherOrderOperator):
            self.nest(node)
        elif isinstance(target, OpOverload):
            self.call(node, target)
        elif target is operator.getitem:
            self.pick(node)
        elif target in _ARITHMETIC:
            left, right = map(self.value, node.args)
            self.put(node, "size", f"{left} {_ARITHMETIC[target]} {right}")
        elif getattr(target, "__name__", "") == "sym_size":
            self.put(node, "size", self.size(self.value(node.args[0]), node.args[1]))
        else:
            raise self.refusal(node, f"{getattr(target, '__name__', target)} is not a PyTorch operator")

    def put(self, node: torch.fx.Node, wanted: str, text: str) -> None:
        """Append a line that assigns `text` to a fresh name, which represents the node from then on."""
        name = self.fresh(wanted)
        if node not in self.env:
            self.origins[name] = Origin(
                node, {self.env[each]: each for each in node.all_input_nodes if each in self.env}
            )
        self.env[node] = name
        self.lines.append(f"{name} = {text}")

    def pick(self, node: torch.fx.Node) -> None:
        """Render a getitem node; a result of an inlined graph needs no line."""
        source, index = node.args
        inlined = self.env.get((source, index))
        if inlined is not None:
            self.env[node] = inlined
        else:
            self.put(node, f"{self.env[source]}_{index}", f"{self.value(source)}[{index}]")

    def call(self, node: torch.fx.Node, op: OpOverload) -> None:
        """Render the call of an operator; checks and unused results give no line."""
        name = op._opname
        if name.startswith(_CHECKS) or not (node.users or op._schema.is_mutable or name in _NORMS):
            return
        if name in _SAME or (name in _DROPOUTS and not all(node.args[1:3])):
            self.env[node] = self.value(node.args[0])
        elif name in ("detach", "detach_"):
            self.put(node, "detached", self.stopped(self.value(node.args[0])))
        elif name == "sym_size":
            self.put(node, "size", self.size(self.value(node.args[0]), node.args[1]))
        elif name in _NORMS and node.args[5]:
            self.normalise(node, op)
        elif op._schema.is_mutable:
            self.write(node, op)
        elif self.is_factory(node, op):
            text = self.factory_text(node, op)
            self.env[node] = self.factory(self.fresh(name), text)
        elif op is torch.ops.aten.as_strided.default:
            self.stride(node, op)
        elif op is torch.ops.aten.one_hot.default and node.args[1] > 0:
            self.one_hot(node, *node.args)
        elif op is torch.ops.aten.to.device:
            self.put(node, name, self.operator(torch.ops.aten.to.dtype, self.bound(node, op)))
        else:
            self.put(node, name, self.operator(op, self.bound(node, op)))

    def stride(self, node: object, op: OpOverload) -> None:
        """Render as_strided: its strides are those of PyTorch memory, while tensors here lie in axis order."""
        bound = self.bound(node, op)
        order = order_in_memory(bound["self"].meta["val"], bound)
        if order is None:
            raise self.refusal(node, "it reads memory outside its tensor, or a tensor with gaps")
        operand = self.value(bound["self"])
        if order != sorted(order):
            operand = f"{self.brought(torch.ops.aten.permute.default)}({operand}, {order})"
        strided = f"{operand}, {self.value(bound['size'])}, {self.value(bound['stride'])}"
        self.put(node, op._opname, f"{self.operators.name(op)}({strided})")

    def one_hot(self, node: object, given: object, count: int) -> None:
        """Render one_hot by a comparison: the PyTorch operator reads the values, which a graph does not know."""
        places = self.factory(self.fresh("places"), f"np.arange({count})")
        names = (self.brought(op) for op in (_aten.unsqueeze.default, _aten.eq.Tensor, _aten.to.dtype))
        unsqueeze, equal, cast = names
        compared = f"{equal}({unsqueeze}({self.value(given)}, -1), {places})"
        self.put(node, "one_hot", f"{cast}({compared}, {self.value(torch.int64)})")

    def bound(self, node: torch.fx.Node, op: OpOverload) -> dict[str, Any]:
        """Return the arguments of a node by parameter name."""
        names = [argument.name for argument in op._schema.arguments]
        return dict(zip(names, node.args, strict=False)) | dict(node.kwargs)

    def native(self, op: OpOverload, bound: Mapping[str, object]) -> str | None:
        """Return the framework's own call of an operator; None if there is none that agrees."""
        found = self.natives.call(op, bound, self.value) if self.natives else None
        if found is not None:
            self.operators.native.add(op._name)
        return found

    def operator(self, op: OpOverload, bound: Mapping[str, object]) -> str:
        """Return the call of an operator, by the framework itself if that agrees."""
        return self.native(op, bound) or f"{self.operators.name(op)}({self.arguments(op, bound)})"

    def brought(self, op: OpOverload) -> str:
        """Return the name of an operator that the conversion adds and the network does not call itself."""
        own = self.natives.brought(op) if self.natives else None
        if own is None:
            return self.operators.name(op)
        self.operators.native.add(op._name)
        return own

    def arguments(self, op: OpOverload, bound: Mapping[str, object]) -> str:
        """Return the text of a call's arguments, without PyTorch-only ones that have a default."""
        texts: list[str] = []
        by_name = False
        for argument in op._schema.arguments:
            if argument.name not in bound or (argument.name in PYTORCH_ONLY and argument.has_default_value()):
                by_name = True
                continue
            text = self.value(bound[argument.name])
            texts.append(f"{argument.name}={text}" if by_name or argument.kwarg_only else text)
        return ", ".join(texts)

    def is_factory(self, node: torch.fx.Node, op: OpOverload) -> bool:
        """Return whether a node makes a tensor without inputs and without drawing."""
        return not node.all_input_nodes and torch.Tag.nondeterministic_seeded not in op.tags

    def factory_text(self, node: Any, op: OpOverload) -> str:
        """Return the expression that makes such a tensor: with NumPy, or with PyTorch where that takes too much."""
        made = op(*node.args, **node.kwargs) if self.natives else None
        if isinstance(made, torch.Tensor) and (found := numpy_text(made.cpu())):
            self.operators.native.add(op._name)
            return found
        self.operators.needs_pytorch = True
        bound = {name: _plain(value) for name, value in self.bound(node, op).items()}
        return f'ob.aten("{op._name.removesuffix(".default")}").numpy({self.arguments(op, bound)})'

    def write(self, node: torch.fx.Node, op: OpOverload) -> None:
        """Render an in-place operator in its functional form, whose result represents the tensor from then on."""
        if op is _aten.fill_diagonal_.default and self.fill_diagonal(node, self.bound(node, op)):
            return
        form = torch.ops.aten.dropout.default if op is torch.ops.aten.dropout_.default else functional(op)
        if form is op:
            raise self.refusal(node, f"{op._name} writes to its argument and has no form that does not")
        bound = self.bound(node, op)
        if op is torch.ops.aten.copy_.default:
            self.copy(node, *node.args[:2])
            return
        written = [each.name for each in op._schema.arguments if each.alias_info and each.alias_info.is_write]
        target = bound[written[0]]
        self.put(node, form._opname, self.operator(form, bound))
        self.written(node, target)

    def fill_diagonal(self, node: torch.fx.Node, bound: Mapping[str, Any]) -> bool:
        """Render fill_diagonal_ by a mask; return False if it is not a matrix or its diagonal begins again."""
        target = bound["self"]
        sizes = tuple(target.meta["val"].shape)
        if len(sizes) != 2 or (bound.get("wrap") and sizes[0] > sizes[1]):
            return False
        mask = self.factory(self.fresh("diagonal"), f'np.eye({sizes[0]}, {sizes[1]}, dtype="bool")')
        fill = self.brought(_aten.masked_fill.Scalar)
        self.put(node, "fill_diagonal", f"{fill}({self.value(target)}, {mask}, {self.value(bound['fill_value'])})")
        self.written(node, target)
        return True

    def copy(self, node: object, target: Any, source: Any) -> None:
        """Put a copied tensor, with the type and sizes of the target, in its place: `copy` has no gradient."""
        want, have = (each.meta["val"] for each in (target, source))
        self.env[node] = self.value(source)
        if want.dtype != have.dtype:
            cast = self.brought(torch.ops.aten.to.dtype)
            self.put(node, "to", f"{cast}({self.env[node]}, {self.value(want.dtype)})")
        if want.shape != have.shape:
            expand = self.brought(torch.ops.aten.expand_as.default)
            self.put(node, "expand", f"{expand}({self.env[node]}, {self.value(target)})")
        self.written(node, target)

    def written(self, node: object, target: object) -> None:
        """Make the result of a node represent the tensor that was written to, from here on.

        The bases of the tensor are written to as well, and views of them that are used later are rendered again.
        """
        self.replaced(node, target)
        child, changed = target, [target]
        if any(map(is_one_of_parts, (target, *bases(target)))):
            raise self.refusal(node, "it writes to a part of a tensor, made by an operator that gives several")
        for base in bases(target):
            self.env[base], old = self.put_back(node, child), self.env[base]
            self.replaced(base, base, old)
            child = base
            changed.append(base)
        for view in [each for each in self.env if isinstance(each, torch.fx.Node) and is_view(each)]:
            is_stale = view not in changed and any(base in changed for base in bases(view))
            if is_stale and any(user > node for user in view.users):
                self.put(view, view.target._opname, self.operator(view.target, self.bound(view, view.target)))

    def replaced(self, node: object, target: object, old: str | None = None) -> None:
        """Rename all nodes that share memory with the target, and assign the module values among them."""
        new, old = self.env[node], old or self.env[target]
        for other in [each for each in self.env if self.env[each] == old and isinstance(each, torch.fx.Node)]:
            if share_memory(other, target):
                if other.op == "get_attr":
                    self.lines.append(self.assigned(other.target, new))
                self.env[other] = new

    def put_back(self, node: torch.fx.Node, view: torch.fx.Node) -> str:
        """Append the line that puts a changed view back into its base, and return the new name of the base."""
        bound = self.bound(view, view.target)
        if found := turned_back(view, bound):
            op, given = found
            values = (self.env[view], *map(self.value, given))
        elif found := merged(view, bound):
            op, given = found
            values = (self.env[view.args[0]], self.env[view], *map(self.value, given))
        else:
            raise self.refusal(node, f"it writes to a view, made by {view.target._opname}, of a tensor")
        name = self.fresh("written")
        self.lines.append(f"{name} = {self.brought(op)}({', '.join(values)})")
        return name

    def call_cell(self, node: torch.fx.Node) -> None:
        """Render the call of a module, and its writes to its arguments."""
        arguments = ", ".join(self.value(each) for each in (*node.args, *node.kwargs.values()))
        self.put(node, node.target.rpartition(".")[2].partition("@")[0], self.called(node.target, arguments))
        path = f"{self.place}.{node.target}".lstrip(".")
        for place, last in written_inputs(lambda each: self.exported.graph(self.mode, each), path).items():
            target = node.args[place]
            outputs = [each for each in last.graph.nodes if each.op == "output"]
            if outputs[0].args[0] in (last, (last,), [last]):
                self.written(node, target)
            elif any(user > node for each in (target, *bases(target)) for user in each.users):
                raise self.refusal(node, "it writes to its argument, which is used again")

    def normalise(self, node: object, op: OpOverload) -> None:
        """Render a training norm and the update of its statistics.

        An instance norm updates them by the mean of all instances.
        """
        bound = self.bound(node, op)
        mean, variance, momentum = bound["running_mean"], bound["running_var"], bound["momentum"]
        own = self.native(op, bound) if mean is not None and op is _aten.batch_norm.default else None
        if own is not None:
            self.put(node, op._opname, own)
            self.move(bound)
            return
        of_batch = {**bound, "running_mean": None, "running_var": None}
        # PyTorch's operator for both has no gradient without a weight.
        is_whole = None not in (mean, bound["weight"], bound["bias"]) and op is _aten.batch_norm.default
        if is_whole and not self.native(op, of_batch):
            self.normalise_and_move(node, bound)
            return
        self.put(node, op._opname, self.operator(op, of_batch))
        if mean is None:
            return
        image = self.stopped(self.value(bound["input"]))
        of_instances = op._opname == "instance_norm"
        axes = [axis for axis in range(bound["input"].meta["val"].ndim) if axis != 1 and (axis or not of_instances)]
        names = self.fresh("variance"), self.fresh("mean")
        moments = self.brought(torch.ops.aten.var_mean.correction)
        self.lines.append(f"{names[0]}, {names[1]} = {moments}({image}, {axes}, correction=1)")
        for old, new in ((mean, names[1]), (variance, names[0])):
            if of_instances:
                self.lines.append(f"{new} = {self.brought(torch.ops.aten.mean.dim)}({new}, [0])")
            moved = f"{self.value(old)} * {1 - momentum!r} + {new} * {momentum!r}"
            self.lines.append(self.assigned(old.target, moved))

    def move(self, bound: Mapping[str, Any]) -> None:
        """Render the update of a norm's statistics by the framework; a form of the norm leaves them unchanged."""
        given = ", ".join(self.value(bound[name]) for name in ("input", "running_mean", "running_var", "momentum"))
        moved = self.fresh("mean"), self.fresh("variance")
        assert self.natives is not None
        self.lines.append(f"{', '.join(moved)} = {self.natives.forms}.moved_statistics({given})")
        for name, new in zip(("running_mean", "running_var"), moved, strict=True):
            self.lines.append(self.assigned(bound[name].target, new))

    def normalise_and_move(self, node: Any, bound: Mapping[str, Any]) -> None:
        """Render a norm by the PyTorch operator that also returns the new statistics, after its other results."""
        moving = _aten._batch_norm_with_update.default
        name = self.fresh("normalised")
        self.lines.append(f"{name} = {self.operator(moving, bound)}")
        self.put(node, "batch_norm", f"{name}[0]")
        results = len(moving._schema.returns)
        for place, statistic in enumerate(("running_mean", "running_var"), results):
            self.lines.append(self.assigned(bound[statistic].target, f"{name}[{place}]"))

    def nest(self, node: torch.fx.Node) -> None:
        """Render a nested graph: inline if it sets a mode, as a function if it is control flow."""
        name = node.target.__name__
        if name == "wrap_with_set_grad_enabled":
            enabled, inner, *arguments = node.args
            self.inline(node, inner, arguments, stops=not enabled)
        elif name == "wrap_with_autocast":
            device, dtype, enabled, _, inner, *arguments = node.args
            if enabled:
                cast_as_autocast(self.nested[inner.target].graph, device, dtype)
            self.inline(node, inner, arguments, stops=False)
        elif name in _CONTROL:
            first = name == "cond"
            functions = [self.function(node, each) for each in node.args if _is_graph(each, self.nested)]
            rest = [each for each in node.args if not _is_graph(each, self.nested)]
            texts = [*map(self.value, rest[:first]), *functions, *map(self.value, rest[first:])]
            self.operators.helpers.add(_CONTROL[name])
            self.put(node, name, f"{_CONTROL[name]}({', '.join(texts)})")
        else:
            raise self.refusal(node, f"{name} has no form here yet")

    def inline(self, node: torch.fx.Node, inner: Any, arguments: Any, *, stops: bool) -> None:
        """Render a nested graph in place; `stops` stops the gradients of its results."""
        graph = self.nested[inner.target].graph
        places = (each for each in graph.nodes if each.op == "placeholder")
        for place, argument in zip(places, arguments, strict=True):
            self.env[place] = self.value(argument)
        outer, self.nested = self.nested, _children(self.nested[inner.target])
        outputs = self.graph(graph)
        self.nested = outer
        values = [self.stopped(self.value(output)) if stops else self.value(output) for output in outputs]
        self.env[node] = f"({', '.join(values)},)"
        for index, value in enumerate(values):
            self.env[(node, index)] = value

    def function(self, node: torch.fx.Node, inner: Any) -> str:
        """Render a nested graph as a function before the line that calls it, and return its name."""
        module = self.nested[inner.target]
        names = []
        for place in (each for each in module.graph.nodes if each.op == "placeholder"):
            self.env[place] = self.fresh(place.name)
            names.append(self.env[place])
        name = self.fresh(inner.target)
        (outer, self.nested), (before, self.lines) = (self.nested, _children(module)), (self.lines, [])
        drawn = len(self.operators.drawn)
        result = self.value(self.graph(module.graph))
        if len(self.operators.drawn) > drawn:
            raise self.refusal(node, "it draws random numbers, whose key would be the same in every turn")
        body = [f"    {line}" for line in (*self.lines, f"return {result}")]
        self.nested, self.lines = outer, [*before, f"def {name}({', '.join(names)}):", *body]
        return name

    def value(self, value: object) -> str:
        """Return the expression of a node, a constant, or a sequence of them."""
        if isinstance(value, torch.fx.Node):
            return self.env[value]
        if isinstance(value, (list, tuple)):
            inner = ", ".join(map(self.value, value))
            if isinstance(value, list):
                return f"[{inner}]"
            return f"({inner},)" if len(value) == 1 else f"({inner})"
        if isinstance(value, slice):
            return f"slice({self.value(value.start)}, {self.value(value.stop)}, {self.value(value.step)})"
        if isinstance(value, torch.dtype):
            return self.dtype(str(value).removeprefix("torch."))
        if isinstance(value, float) and not math.isfinite(value):
            return f'float("{value}")'
        return repr(value)

    def refusal(self, node: torch.fx.Node, why: str) -> UnsupportedError:
        """Return the error that a node cannot be converted, with its line."""
        where = f"\n  at {line}" if (line := user_line(node)) else ""
        return UnsupportedError(f"{self.place or 'the network'}: {node.target} cannot be converted: {why}{where}")


def leaves(output: object) -> Any:
    """Return a network's results as a flat tuple, or the only result."""
    found: list[Any] = []

    def collect(value: object) -> None:
        if isinstance(value, dict):
            value = tuple(value.values())
        if isinstance(value, (tuple, list)):
            for each in value:
                collect(each)
        elif value is not None:
            found.append(value)

    collect(output)
    return found[0] if len(found) == 1 else tuple(found)


def _plain(value: object) -> Any:
    """Return a dtype as its name: NumPy has no types of its own that need an import."""
    return str(value).removeprefix("torch.") if isinstance(value, torch.dtype) else value


def returned(body: Body, output: object) -> str:
    """Return the expression of a return statement: a dict or an object becomes its values."""
    values = output if isinstance(output, (tuple, list)) else (output,)
    texts = [body.value(value) for value in values]
    return texts[0] if len(texts) == 1 else f"({', '.join(texts)})"


def _is_graph(value: object, nested: Mapping[str, object]) -> bool:
    return isinstance(value, torch.fx.Node) and value.op == "get_attr" and value.target in nested


def _children(module: torch.nn.Module) -> dict[str, torch.nn.Module]:
    return {name: child for name, child in module.named_children() if isinstance(child, torch.fx.GraphModule)}


def wrapped(head: str, items: list[str], tail: str) -> Iterator[str]:
    """Yield a bracketed list on one line if it fits into 110 columns, else with one item a line."""
    line = f"{head}{', '.join(items)}{tail}"
    if len(line) <= 110:
        yield line
    else:
        yield head
        yield from (f"    {item}," for item in items)
        yield tail
