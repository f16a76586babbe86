"""Apply `shard` rules in PyTorch: define how DTensor divides an operator.

DTensor asks a strategy for all ways to run an operator, takes the cheapest, moves the tensors and remembers it. It
moves only positional tensors, and recognizes writes only by a name that ends in `_`. Operators that take a tensor
by keyword only or that write are therefore run here, in the same ways.
"""

from __future__ import annotations

import itertools
import math
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import torch
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.tensor import DTensor, Partial, Placement, Replicate, Shard
from torch.distributed.tensor._collective_utils import redistribute_cost
from torch.distributed.tensor._dtensor_spec import DTensorSpec, TensorMeta
from torch.distributed.tensor._op_schema import OpSchema, OpSpec, OpStrategy, RuntimeSchemaInfo, TupleStrategy

from opbridge.base.errors import CallError, OpbridgeError
from opbridge.waist.rules.sharding import Layout, Names, Shape, ShardingWarning, Tensor, check_parts, lay_out, undivided
from opbridge.waist.schema import Schema

if TYPE_CHECKING:
    from opbridge.frameworks.interface import Library

Placements = tuple[Placement, ...]
Bound = Mapping[str, object]
"""The arguments of a call by name, without defaults that were not given."""

_REMEMBERED = 1024
"""The number of choices to remember for an operator; more only result from sizes that change with every call."""


def tell_dtensor(library: Library, overloads: Mapping[int, object]) -> None:
    """Register operators of a library with DTensor, by their places in it."""
    dispatcher = DTensor._op_dispatcher
    for index, overload in overloads.items():
        operator = ShardedOperator(library, index)
        dispatcher._custom_op_handlers.pop(overload, None)
        if operator.runs_itself:
            dispatcher._custom_op_handlers[overload] = operator.run
        dispatcher.sharding_propagator.register_op_strategy(overload, operator.strategy, operator.remembered_by())
    # Clear caches, which may have redefined operators; their place depends on the PyTorch version.
    known = dispatcher.sharding_propagator.propagate_op_sharding
    for forget in ((known, "cache_clear"), (torch._C, "_clear_DTensor_sharding_propagator_cache")):
        getattr(*forget, lambda: None)()


class ShardedOperator:
    """An operator as DTensor runs it."""

    def __init__(self, library: Library, index: int) -> None:
        self.schema = Schema.parse(library.schema_text(index))
        self.name = self.schema.full_name
        self._library = library
        self._index = index
        self._said = False
        self._choices: dict[tuple[object, ...], Choice] = {}

    @property
    def runs_itself(self) -> bool:
        """Whether DTensor would run it wrongly."""
        return any(item.mutable or (item.is_tensor and item.kwarg_only) for item in self.schema.arguments)

    def remembered_by(self) -> RuntimeSchemaInfo:
        """Return the attributes that determine the outputs: DTensor reuses results for all values of the others."""
        places = [place for place, item in enumerate(self.schema.positional) if item.name in self._deciding]
        keywords = [item.name for item in self.schema.keyword_only if item.name in self._deciding]
        lists = any("[" in str(item.type) for item in self.schema.tensor_arguments)
        return RuntimeSchemaInfo(min(places, default=len(self.schema.arguments)), keywords or None, needs_pytree=lists)

    def strategy(self, op: OpSchema) -> OpStrategy:
        """Return all strategies to run a call, with the cost of moving its tensors."""
        call = self._call(op.op, self._bound(op.args_schema, op.kwargs_schema), _spec_of_strategy)
        strategies = []
        for strategy in call.strategies():
            inputs = [lying(spec, placements) for spec, placements in zip(call.specs, strategy.inputs, strict=True)]
            outputs = tuple(DTensorSpec(call.mesh, placements) for placements in strategy.outputs)
            costs = [[cost] for cost in strategy.costs(call.specs)]
            strategies.append(OpSpec(outputs[0] if len(outputs) == 1 else outputs, inputs, costs))
        return OpStrategy(strategies)

    def run(self, op: Any, args: tuple[object, ...], kwargs: dict[str, object]) -> Any:
        """Run a call as DTensor would."""
        bound = self._bound(args, kwargs)
        choice = self._choice(op, bound)
        targets = iter(choice.inputs)
        local = self._mapped(bound, lambda _, value: _moved(value, next(targets)))
        if choice.mesh.get_coordinate() is None:  # this process is not part of the mesh
            made = [torch.empty(0, dtype=spec.tensor_meta.dtype) for spec in choice.outputs]
        else:
            made = self._new(op(**local))
        outputs = (DTensor(value, spec, requires_grad=False) for value, spec in zip(made, choice.outputs, strict=True))
        returns = [
            next(outputs) if argument is None else bound[argument.name]
            for argument in map(self.schema.aliased_argument, self.schema.returns)
        ]
        return returns[0] if len(returns) == 1 else tuple(returns) or None

    def _choice(self, op: object, bound: Bound) -> Choice:
        """Return the strategy to run a call, remembered for similar calls."""
        likes = self._mapped(bound, self._spec_of_tensor)
        deciding = ((name, value) for name, value in likes.items() if name in self._deciding or name in self._tensors)
        key = tuple((name, tuple(value) if isinstance(value, list) else value) for name, value in deciding)
        try:
            found = self._choices.get(key)
        except TypeError:  # the symbolic sizes of torch.compile are not hashable
            return self._made_choice(op, bound)
        if found is None:
            if len(self._choices) >= _REMEMBERED:
                self._choices.clear()
            found = self._choices[key] = self._made_choice(op, bound)
        return found

    def _made_choice(self, op: object, bound: Bound) -> Choice:
        call = self._call(op, bound, self._spec_of_tensor)
        strategy = self._cheapest_strategy(call)
        metas = (TensorMeta(like.shape, like.stride(), like.dtype) for like in call.made)
        outputs = zip(strategy.outputs, metas, strict=True)
        specs = tuple(DTensorSpec(call.mesh, placements, tensor_meta=meta) for placements, meta in outputs)
        return Choice(call.mesh, strategy.inputs, specs)

    def _cheapest_strategy(self, call: Call) -> Strategy:
        """Return the cheapest strategy that does not move written tensors; raise CallError if there is none."""
        specs = call.specs
        written = [place for place, item in enumerate(call.tensors) if self.schema.arguments[item.argument].mutable]
        strategies = [
            each for each in call.strategies() if all(each.inputs[at] == specs[at].placements for at in written)
        ]
        if not strategies:
            raise self._cannot_move(call, written)
        return min(strategies, key=lambda each: (sum(each.costs(specs)), each.disturbed(specs), each.moves(specs)))

    def _new(self, results: object) -> list[torch.Tensor]:
        """Return the results of an operator that are not its arguments."""
        values = results if isinstance(results, (list, tuple)) else (results,)
        returned = zip(values if self.schema.returns else (), self.schema.returns, strict=True)
        return [value for value, output in returned if output.alias is None]

    @cached_property
    def _tensors(self) -> frozenset[str]:
        return frozenset(item.name for item in self.schema.tensor_arguments)

    @cached_property
    def _deciding(self) -> frozenset[str]:
        """The attributes that determine the shapes and element types of outputs."""
        return frozenset(item.name for item in self.schema.attributes if self._decides(item.name, item.type.base))

    def _decides(self, attribute: str, kind: str) -> bool:
        if kind not in ("float", "Scalar"):
            return True
        try:
            rules = self._library.spec(self._index).rules.out
        except OpbridgeError:
            return True  # the manifest has changed; importing DTensor must not fail for that
        return any(attribute in re.findall(r"\w+", str(rule.field())) for rule in rules)

    def _bound(self, args: Sequence[object], kwargs: Mapping[str, object]) -> Bound:
        return dict(zip((item.name for item in self.schema.positional), args, strict=False)) | dict(kwargs)

    def _mapped(self, bound: Bound, change: Callable[[tuple[int, int | None], Any], object]) -> dict[str, object]:
        """Return the arguments with every tensor changed, in the order of the schema."""
        changed = dict(bound)
        for place, argument in enumerate(self.schema.arguments):
            value = bound.get(argument.name)
            items = value.children if isinstance(value, TupleStrategy) else value
            if not argument.is_tensor or value is None:
                continue
            if isinstance(items, (list, tuple)):
                pairs = enumerate(items)
                changed[argument.name] = [None if one is None else change((place, item), one) for item, one in pairs]
            else:
                changed[argument.name] = change((place, None), value)
        return changed

    def _call(self, op: Any, bound: Bound, spec_of: Callable[[tuple[int, int | None], Any], DTensorSpec]) -> Call:
        tensors: list[Tensor] = []
        specs: list[DTensorSpec] = []

        def described(place: tuple[int, int | None], value: object) -> DTensorSpec:
            spec = spec_of(place, value)
            tensors.append(Tensor(*place, tuple(spec.shape)))
            specs.append(spec)
            return spec

        with_specs = self._mapped(bound, described)
        if any(spec.mesh != specs[0].mesh for spec in specs):
            raise CallError(f"{self.name}: its tensors are on different meshes; move them to one before the call")

        def outputs_for(likes: Iterable[torch.Tensor]) -> list[torch.Tensor]:
            given = iter(likes)
            return self._new(op(**self._mapped(with_specs, lambda *_: next(given))))

        metas = [spec.tensor_meta for spec in specs]
        made = outputs_for(torch.empty_strided(*meta[:2], dtype=meta.dtype, device="meta") for meta in metas)

        def shapes_for(shapes: Sequence[Shape]) -> list[Shape]:
            parts = zip(shapes, metas, strict=True)
            likes = outputs_for(torch.empty(shape, dtype=meta.dtype, device="meta") for shape, meta in parts)
            return [tuple(like.shape) for like in likes]

        rule = self._library.spec(self._index).rules.shard
        inputs, outputs = [tensor.shape for tensor in tensors], [tuple(one.shape) for one in made]
        if rule is None:
            self._say_unknown(specs)
            return Call(tensors, specs, made, undivided(inputs, outputs))
        layout = lay_out(rule, self.schema, tensors, outputs)
        check_parts(self.name, layout, inputs, outputs, shapes_for)
        return Call(tensors, specs, made, layout)

    def _spec_of_tensor(self, place: tuple[int, int | None], value: object) -> DTensorSpec:
        if isinstance(value, DTensor):
            return value._spec
        argument, item = place
        name = self.schema.arguments[argument].name + ("" if item is None else f"[{item}]")
        raise CallError(
            f"{self.name}: argument '{name}' is a torch.Tensor where others are DTensors; "
            "distribute_tensor(...) or DTensor.from_local(...) makes it one"
        )

    def _say_unknown(self, specs: Sequence[DTensorSpec]) -> None:
        if self._said or all(spec.is_replicated() for spec in specs):
            return
        self._said = True
        warnings.warn(
            f"nothing says how {self.name} may be divided: its divided inputs are gathered and each process computes "
            "the whole. A `shard` rule says it, such as `shard: elementwise` or `shard: b s h, h -> b s h`",
            ShardingWarning,
            stacklevel=2,
        )

    def _cannot_move(self, call: Call, written: Sequence[int]) -> CallError:
        place = next((place for place in written if not call.specs[place].is_replicated()), written[0])
        tensor, spec = call.tensors[place], call.specs[place]
        name = self.schema.arguments[tensor.argument].name
        rule = self._library.spec(self._index).rules.shard
        return CallError(
            f"{self.name}: argument '{name}' is written to and lies as {spec.placements} on a mesh of shape "
            f"{tuple(spec.mesh.shape)}, in which the operator cannot run (its `shard` rule is {rule}); "
            f"move it to another placement before the call: {name} = {name}.redistribute(placements=...)"
        )


@dataclass(frozen=True)
class Choice:
    """How to run a call: where to move its tensors, and what its new outputs are."""

    mesh: DeviceMesh
    inputs: tuple[Placements, ...]
    outputs: tuple[DTensorSpec, ...]


@dataclass(frozen=True)
class Strategy:
    """A way to run a call: the placements of its tensors, and of its new outputs."""

    inputs: tuple[Placements, ...]
    outputs: tuple[Placements, ...]

    def costs(self, specs: Sequence[DTensorSpec]) -> list[float]:
        """Return the cost of moving each tensor."""
        return [
            redistribute_cost(spec, lying(spec, placements))
            for spec, placements in zip(specs, self.inputs, strict=True)
        ]

    def disturbed(self, specs: Sequence[DTensorSpec]) -> int:
        """Return how many divided dimensions would change, which costs nothing on a mesh of one process."""
        return sum(
            old != new and not old.is_replicate()
            for spec, placements in zip(specs, self.inputs, strict=True)
            for old, new in zip(spec.placements, placements, strict=True)
        )

    def moves(self, specs: Sequence[DTensorSpec]) -> bool:
        """Return whether any tensor has to move."""
        return any(spec.placements != placements for spec, placements in zip(specs, self.inputs, strict=True))


@dataclass(frozen=True)
class Call:
    """The tensors of a call, their placements, and how it may be divided."""

    tensors: Sequence[Tensor]
    specs: Sequence[DTensorSpec]
    made: Sequence[torch.Tensor]
    """Meta tensors like its new outputs."""
    layout: Layout

    @property
    def mesh(self) -> DeviceMesh:
        """The mesh of the tensors."""
        return self.specs[0].mesh

    def strategies(self) -> list[Strategy]:
        """Return all strategies to run the call, the least disturbing first: DTensor takes the first of equal cost."""
        return sorted(self._strategies(), key=lambda strategy: strategy.disturbed(self.specs))

    def _strategies(self) -> Iterator[Strategy]:
        """Yield the strategies: along each mesh dimension, a call is divided along one name or none."""
        for names in itertools.product((None, *self.layout.names), repeat=self.mesh.ndim):
            strategy = Strategy(
                tuple(_placements(one, names, {}) for one in self.layout.inputs),
                tuple(_placements(one, names, self.layout.reductions) for one in self.layout.outputs),
            )
            if self._has_parts(names, strategy) and all(map(_is_one_reduction, strategy.outputs)):
                yield strategy

    def _has_parts(self, names: Sequence[str | None], strategy: Strategy) -> bool:
        """Return whether all processes get a part: an empty part has no maximum, and few are not worth a move."""
        for name in {name for name in names if name is not None}:
            parts = math.prod(size for size, one in zip(self.mesh.shape, names, strict=True) if one == name)
            if self.layout.reductions.get(name, "sum") != "sum":
                if self.layout.sizes[name] % parts:
                    return False
            elif self.layout.sizes[name] < parts and strategy.moves(self.specs):
                return False
        return True


def _moved(value: DTensor, placements: Placements) -> torch.Tensor:
    """Return the part of this process, after a move if the placements differ."""
    if value._spec.placements != placements:
        with torch.no_grad():
            value = value.redistribute(placements=placements)
    return value._local_tensor


def lying(spec: DTensorSpec, placements: Placements) -> DTensorSpec:
    """Return the spec with other placements."""
    return DTensorSpec(spec.mesh, placements, tensor_meta=spec.tensor_meta)


def _placements(own: Names, names: Sequence[str | None], reductions: Mapping[str, str]) -> Placements:
    def placement(name: str | None) -> Placement:
        if name is not None and name in own:
            return Shard(own.index(name))
        return Partial(reductions[name]) if name is not None and name in reductions else Replicate()

    return tuple(map(placement, names))


def _is_one_reduction(placements: Placements) -> bool:
    """Return whether at most one kind of reduction is pending: a sum of maxima is not a maximum of sums."""
    return len({one.reduce_op for one in placements if isinstance(one, Partial)}) < 2


def _spec_of_strategy(_: tuple[int, int | None], strategy: OpStrategy) -> DTensorSpec:
    return strategy.strategies[0].output_spec
