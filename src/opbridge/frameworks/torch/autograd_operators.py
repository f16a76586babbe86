"""Implement `ob.autograd` with a schema: the functions become operators in `torch.ops`, one for each derivative order.

`ns::cell` calls forward and `ns::cell_backward` calls backward. The second also takes shape and dtype of the
arguments that are not saved, so that its outputs are known without running it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import Tensor

from opbridge.base.errors import CallError, KernelError, SchemaError, UnsupportedError
from opbridge.frameworks.torch.autograd_functions import (
    Step,
    check_graded,
    check_gradients,
    described,
    differentiable,
    graded_places,
    gradient_step,
    keep,
    kept,
    presented,
    slices,
    transformed,
    values_for,
    zeros_for,
)
from opbridge.waist.functions.gradient_pairs import NEEDS, Callee, GradientPair
from opbridge.waist.functions.signatures import REQUIRED, FunctionParameter
from opbridge.waist.rules import OutRule, evaluate_out, parse_out
from opbridge.waist.schema import Schema

if TYPE_CHECKING:
    from torch._functorch.autograd_function import VmapInfo
    from torch.library import CustomOpDef

Values = Sequence[Any]
"""The arguments or results of an operator: tensors, lists of tensors, and plain values."""


def operator(
    pair: GradientPair, double_backward: Callable[..., object] | bool, schema: Schema, out: object
) -> Callable[..., object]:
    """Define the operators of a pair and return the function that calls them.

    Raises:
        SchemaError: The schema has no namespace.
        UnsupportedError: The schema cannot be an operator of this kind.
    """
    _check(pair, double_backward, schema)
    rules = parse_out(out, schema)
    forward = _Forward(pair, schema, rules)
    overload = _define(forward, schema, pair, double_backward)
    returned = len(pair.outputs or ())

    direct = differentiable(pair, double_backward)

    def call(*args: object, **kwargs: object) -> object:
        if not torch.compiler.is_compiling() and _unseen(args, kwargs):
            return direct(*args, **kwargs)
        results = overload(*args, **kwargs)
        if isinstance(results, Tensor):
            return results
        return results[0] if returned == 1 else results[:returned]

    return presented(call, pair)


def _unseen(args: tuple[object, ...], kwargs: dict[str, object]) -> bool:
    """Return whether to bypass the dispatcher, which takes longer than a small function.

    Under a torch.func transform this is required: operators registered from Python are not differentiated there.
    """
    if transformed():
        return True
    if torch._C._len_torch_dispatch_stack() or torch._C._len_torch_function_stack() or _autocasting():
        return False
    return all(_is_plain(value) for value in (*args, *kwargs.values()))


def _autocasting() -> bool:
    return bool(torch._C._is_any_autocast_enabled())


def _is_plain(value: object) -> bool:
    if isinstance(value, Tensor):
        return type(value) in (Tensor, torch.nn.Parameter) and not value.is_meta
    return not isinstance(value, (list, tuple)) or all(map(_is_plain, value))


def _check(pair: GradientPair, double_backward: Callable[..., object] | bool, schema: Schema) -> None:
    if schema.namespace is None:
        raise SchemaError(f"the schema needs a namespace: mylib::{schema}")
    if schema.overload:
        raise UnsupportedError(f"{schema.full_name}: such an operator has no overloads; leave '.{schema.overload}' out")
    if schema.mutable_arguments:
        raise UnsupportedError(
            f"{schema.full_name}: '{schema.mutable_arguments[0].name}' is written to, and forward has to return new "
            "tensors here; opbridge.load takes kernels that write to their arguments"
        )
    if double_backward is True:
        raise UnsupportedError(
            f"{schema.full_name}: an operator hides from PyTorch what backward does; "
            "give double_backward= the function that differentiates it, or leave schema= out"
        )
    for name in pair.gradients or ():
        if not schema.argument(name).is_tensor:
            raise CallError(
                f"{schema.full_name}: gradients= names '{name}', which is not a tensor but {schema.argument(name)}"
            )
    for name in _gradient_names(pair, schema):
        if schema.argument(name).type.is_list:
            raise UnsupportedError(
                f"{schema.full_name}: '{name}' is a list of tensors, and backward returns single ones; "
                "gradients= names the arguments that have a gradient"
            )


def _gradient_names(pair: GradientPair, schema: Schema) -> tuple[str, ...]:
    names = pair.gradients or tuple(item.name for item in pair.inputs)
    return tuple(name for name in names if schema.argument(name).is_tensor)


class _Like(NamedTuple):
    """The part of a tensor that a rule reads."""

    shape: torch.Size
    dtype: torch.dtype


@dataclass(frozen=True)
class _Forward:
    pair: GradientPair
    schema: Schema
    rules: tuple[OutRule, ...]

    def __post_init__(self) -> None:
        # In training, the same shapes repeat.
        object.__setattr__(self, "expected", lru_cache(maxsize=256)(self._outputs))

    expected: Callable[..., list[_Like]] = field(init=False)

    def _outputs(self, *values: object) -> list[_Like]:
        arguments = {item.name: value for item, value in zip(self.pair.inputs, values, strict=True)}
        described = evaluate_out(self.rules, self.schema, arguments, lambda dtype: str(dtype).removeprefix("torch."))
        return [_Like(shape, getattr(torch, dtype)) for shape, dtype in described]

    def run(self, values: Values) -> list[Tensor]:
        results = self.pair.results(self.pair.forward(values))
        names = (*(self.pair.outputs or ()), *self.pair.hidden)
        for name, result, (shape, dtype) in zip(names, results, self.expected(*map(_like, values)), strict=True):
            if not isinstance(result, Tensor) or result.shape != shape or result.dtype != dtype:
                got = f"{list(result.shape)} of {result.dtype}" if isinstance(result, Tensor) else type(result).__name__
                raise KernelError(
                    f"{self.pair.title}: the out rule of '{name}' says {list(shape)} of {dtype}, "
                    f"and {self.pair.forward.name} returned {got}"
                )
        return _independent(results, values)

    def fake(self, values: Values) -> list[Tensor]:
        device = _device(values)
        return [torch.empty(shape, dtype=dtype, device=device) for shape, dtype in self._outputs(*values)]


def _like(value: object) -> Any:
    if isinstance(value, Tensor):
        return _Like(value.shape, value.dtype)
    return tuple(map(_like, value)) if isinstance(value, (list, tuple)) else value


@dataclass(frozen=True)
class _Backward:
    """The gradient operator; it takes gradients, saved values, descriptions of the rest, and what is needed."""

    pair: GradientPair
    schema: Schema
    names: tuple[str, ...]
    """The arguments whose gradients the operator returns."""
    unsaved: tuple[str, ...]
    """The arguments among them that are not saved."""

    @classmethod
    def of(cls, pair: GradientPair, forward: Schema) -> _Backward:
        names = _gradient_names(pair, forward)
        unsaved = tuple(name for name in names if name not in pair.saved)
        types = {item.name: str(item.type) for item in forward.arguments}
        arguments = [f"Tensor grad_{name}" for name in pair.differentiable]
        arguments += [f"{types.get(name, 'Tensor')} {name}" for name in pair.saved]
        for name in unsaved:
            absent = "?" if forward.argument(name).type.is_optional else ""
            arguments += [f"SymInt[]{absent} {name}_shape", f"ScalarType{absent} {name}_dtype"]
        if pair.backward.wants_needs:
            arguments.append(f"bool[] {NEEDS}")
        returns = "Tensor" if len(names) == 1 else f"({', '.join(['Tensor'] * len(names))})"
        schema = Schema.parse(f"{forward.qualified_name}_backward({', '.join(arguments)}) -> {returns}")
        return cls(pair, schema, names, unsaved)

    def likes(self, values: Values) -> dict[str, _Like | None]:
        """Return the shape and element type of each gradient; None if its argument is absent."""
        first = len(self.pair.differentiable)
        saved = dict(zip(self.pair.saved, values[first:], strict=False))
        extras = values[first + len(saved) :]
        found: dict[str, _Like | None] = {}
        for name in self.names:
            if name in saved:
                found[name] = _like(saved[name])
            else:
                shape, dtype = extras[:2]
                extras = extras[2:]
                found[name] = None if shape is None else _Like(shape, dtype)
        return found

    def wanted(self, values: Values) -> set[str]:
        inputs = [item.name for item in self.pair.inputs]
        if not self.pair.backward.wants_needs:
            return set(inputs)
        return {name for name, needed in zip(inputs, values[-1], strict=True) if needed}

    def run(self, values: Values) -> list[Tensor]:
        pair, likes, wanted = self.pair, self.likes(values), self.wanted(values)
        passed = list(values[: len(pair.differentiable) + len(pair.saved)])
        if pair.backward.wants_needs:
            passed.append(values[-1])
        inputs = [item.name for item in pair.inputs]
        returned = pair.by_input(pair.backward(passed), [likes.get(name) is not None for name in inputs])
        shapes = [like and like.shape for like in map(likes.get, inputs)]
        check_gradients(pair, returned, shapes)
        gradients = dict(zip(inputs, returned, strict=True))
        settled = []
        for name, like in likes.items():
            if like is None or name not in wanted:
                settled.append(_nothing(values))
            elif gradients[name] is None:
                raise CallError(
                    f"{pair.title}: {pair.backward.name} returned None for the gradient of '{name}', and an operator "
                    "returns tensors; leave that argument out of gradients="
                )
            else:
                settled.append(gradients[name].sum_to_size(like.shape).to(like.dtype))
        return _independent(settled, values)

    def fake(self, values: Values) -> list[Tensor]:
        device, wanted = _device(values), self.wanted(values)
        return [
            torch.empty(like.shape, dtype=like.dtype, device=device) if like and name in wanted else _nothing(values)
            for name, like in self.likes(values).items()
        ]


def _nothing(values: Values) -> Tensor:
    """Return an empty tensor for a gradient that is not needed: operator outputs are tensors."""
    return torch.empty(0, device=_device(values))


def _device(values: Values) -> torch.device:
    tensors = (item for value in values for item in (value if isinstance(value, (list, tuple)) else (value,)))
    return next((tensor.device for tensor in tensors if isinstance(tensor, Tensor)), torch.device("cpu"))


def _independent(results: Values, values: Values) -> list[Tensor]:
    """Make results contiguous, sharing no memory with arguments or each other, as the fake tensors promise."""
    taken = {value.untyped_storage()._cdata for value in values if isinstance(value, Tensor)}
    settled = []
    for result in results:
        storage = result.untyped_storage()._cdata
        if storage in taken:
            result = result.clone(memory_format=torch.contiguous_format)
        taken.add(storage)
        settled.append(result.contiguous())
    return settled


def _define(
    body: _Forward | _Backward,
    schema: Schema,
    pair: GradientPair | None,
    double_backward: Callable[..., object] | bool = False,
) -> torch._ops.OpOverload:
    """Register an operator and, if a pair defines its gradient, the gradient operator."""
    parameters = [
        FunctionParameter(item.name, REQUIRED if item.default is None else item.default.value)
        for item in schema.arguments
    ]
    names = replace(body.pair, inputs=tuple(parameters))

    def unwrapped(results: list[Tensor]) -> Tensor | tuple[Tensor, ...]:
        return results[0] if len(schema.returns) == 1 else tuple(results)

    def run(*args: object, **kwargs: object) -> Tensor | tuple[Tensor, ...]:
        values = names.bind(args, kwargs)
        if not _autocasting():
            return unwrapped(body.run(values))
        # The out rules cannot know the dtypes that PyTorch operators inside would choose under autocast.
        with torch.autocast(_device(values).type, enabled=False):
            return unwrapped(body.run(values))

    def fake(*args: object, **kwargs: object) -> Tensor | tuple[Tensor, ...]:
        return unwrapped(body.fake(names.bind(args, kwargs)))

    def batched(info: VmapInfo, in_dims: Sequence[object], *args: object, **kwargs: object) -> object:
        def one(*values: object) -> tuple[Tensor, ...]:
            results = defined(*values, **kwargs)
            return (results,) if isinstance(results, Tensor) else tuple(results)

        columns, dims = slices(one, info, in_dims, args)
        return (columns[0], dims[0]) if len(columns) == 1 else (columns, dims)

    signature = str(schema).removeprefix(schema.full_name)
    try:
        defined = torch.library.custom_op(schema.qualified_name, run, mutates_args=(), schema=signature)
    except (RuntimeError, ValueError, NotImplementedError) as error:
        reason = str(error).partition("\n")[0]
        raise UnsupportedError(f"{schema.full_name}: PyTorch refuses the operator: {reason}\n  {schema}") from error
    defined.register_fake(fake)
    defined.register_vmap(batched)
    if pair is not None:
        _differentiate(defined, pair, schema, double_backward)
    namespace = getattr(torch.ops, schema.namespace or "")
    overload: torch._ops.OpOverload = getattr(namespace, schema.name).default
    return overload


def _differentiate(
    defined: CustomOpDef, pair: GradientPair, schema: Schema, double_backward: Callable[..., object] | bool
) -> None:
    backward = _Backward.of(pair, schema)
    if not callable(double_backward):
        gradient = _define(backward, backward.schema, None)
        return _register(defined, pair, backward, gradient_step(pair, lambda values: gradient(*values), False))
    second = replace(
        pair.second(Callee.of(double_backward)),
        inputs=tuple(FunctionParameter(item.name) for item in backward.schema.arguments),
        outputs=tuple(f"grad_{name}" for name in backward.names),
    )
    twice = _define(backward, backward.schema, second)
    return _register(defined, pair, backward, lambda g, s, _, needs: twice(*values_for(pair, g, s, needs)))


def _register(defined: CustomOpDef, pair: GradientPair, backward: _Backward, step: Step) -> None:
    names = [item.name for item in pair.inputs]
    saved_places, n_saved = pair.saved_places, len(pair.saved)
    places = graded_places(pair, 0)

    def setup_context(
        ctx: torch.autograd.function.FunctionCtx,
        inputs: Values,
        output: Tensor | tuple[Tensor, ...],
        keyword_only_inputs: dict[str, object] | None = None,
    ) -> None:
        values = [*inputs, *(keyword_only_inputs or {}).values()]
        results = (output,) if isinstance(output, Tensor) else tuple(output)
        check_graded(pair, results, places)
        ctx.set_materialize_grads(False)
        ctx.mark_non_differentiable(*(value for place, value in enumerate(results) if place not in places))
        everything = (*values, *results)
        saved = [everything[place] for place in saved_places]
        keep(ctx, [*saved, *values] if pair.saves_untracked else saved)
        ctx.extras = []
        for name in backward.unsaved:
            value = values[names.index(name)]
            ctx.extras += [None, None] if value is None else [value.shape, value.dtype]
        ctx.likes = [described(results[place]) for place in places]

    def gradients(ctx: torch.autograd.function.FunctionCtx, *grads: Tensor | None) -> tuple[Tensor | None, ...]:
        given = [grads[place] for place in places]
        if all(grad is None for grad in given):
            return (None,) * len(ctx.needs_input_grad)
        values = kept(ctx)
        # The dispatcher omits arguments that equal their default.
        needs = [*ctx.needs_input_grad, *([False] * (len(names) - len(ctx.needs_input_grad)))]
        arguments = [*values[:n_saved], *ctx.extras]
        found = step(zeros_for(given, ctx.likes), arguments, values[n_saved:], needs)
        found = (found,) if isinstance(found, Tensor) else found
        by_name = dict(zip(backward.names, found, strict=True))
        taken = zip(names, ctx.needs_input_grad, strict=False)
        return tuple(by_name.get(name) if needed else None for name, needed in taken)

    defined.register_autograd(gradients, setup_context=setup_context)
