"""Implement `ob.autograd` without a schema: an autograd.Function around two functions.

Both are called as they are, so they can be anything that takes and returns tensors: functions of an extension,
ctypes or Python. Under vmap they run once for each slice, because nothing is known about them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

import torch
from torch import Tensor
from torch.autograd import Function

from opbridge.base.errors import CallError, UnsupportedError
from opbridge.waist.functions.gradient_pairs import Callee, GradientPair, unnamed
from opbridge.waist.functions.signatures import REQUIRED

if TYPE_CHECKING:
    from torch._functorch.autograd_function import VmapInfo

Like = tuple[torch.Size, torch.dtype, torch.device]
"""The part of a tensor that its gradient shares."""
Step = Callable[[Sequence[Tensor], Sequence[object], Sequence[object], Sequence[bool]], Any]
"""Computes gradients from output gradients, saved values, the inputs that the rest depends on, and what is needed."""


def differentiable(pair: GradientPair, double_backward: Callable[..., object] | bool) -> Callable[..., object]:
    """Return the differentiable function of a pair."""
    function = _function_class(pair, gradient_step(pair, pair.backward, double_backward))
    taken, returned = len(pair.inputs), None if pair.outputs is None else len(pair.outputs)

    def run(*args: object, **kwargs: object) -> object:
        if kwargs or len(args) != taken:
            args = tuple(pair.bind(args, kwargs))
        results = applied(function, *args)[:returned]
        return results[0] if len(results) == 1 else results

    outside = torch.compiler.disable(run, reason=f"{pair.title} is not an operator; schema= and out= make it one")

    def call(*args: object, **kwargs: object) -> object:
        # The detour takes longer than a small function, so only compiled code takes it.
        return outside(*args, **kwargs) if torch.compiler.is_compiling() else run(*args, **kwargs)

    return presented(call, pair)


def presented(call: Callable[..., object], pair: GradientPair) -> Callable[..., object]:
    """Give `call` the name, docstring and signature of the function that it replaces, and return it."""
    import inspect

    call.__name__ = call.__qualname__ = getattr(pair.forward.function, "__name__", "function")
    call.__doc__ = getattr(pair.forward.function, "__doc__", None)
    kinds = inspect.Parameter
    shown: list[inspect.Parameter] = []
    for item in reversed(pair.inputs):
        kind = kinds.KEYWORD_ONLY if item.keyword_only else kinds.POSITIONAL_OR_KEYWORD
        # A schema allows a default before a required argument; Python does not.
        given = any(later.default is REQUIRED for later in shown if later.kind is kind is kinds.POSITIONAL_OR_KEYWORD)
        shown.append(kinds(item.name, kind, default=REQUIRED if given else item.default))
    call.__signature__ = inspect.Signature(shown[::-1])  # type: ignore[attr-defined]
    return call


def values_for(
    pair: GradientPair, grads: Sequence[object], saved: Sequence[object], needs: Sequence[bool]
) -> tuple[object, ...]:
    """Return the arguments of the backward function."""
    return (*grads, *saved, list(needs)) if pair.backward.wants_needs else (*grads, *saved)


def gradient_step(
    pair: GradientPair, run: Callable[[Sequence[object]], object], double_backward: Callable[..., object] | bool
) -> Step:
    """Return `step(grads, saved, sources, needs)`; it can be differentiated once more or raises an error."""
    message = (
        f"{pair.title} has no second derivative: nothing says what the gradient of {pair.backward.name} is; "
        "double_backward= does"
    )

    def once(
        grads: Sequence[object], saved: Sequence[object], sources: Sequence[object], needs: Sequence[bool]
    ) -> object:
        values = values_for(pair, grads, saved, needs)
        if torch.is_grad_enabled() or transformed():
            return applied(Once, run, message, len(values), *values, *sources)
        return run(values)

    def recorded(
        grads: Sequence[Tensor], saved: Sequence[object], _: Sequence[object], needs: Sequence[bool]
    ) -> object:
        if not torch.is_grad_enabled() or transformed():
            return run(values_for(pair, grads, saved, needs))
        # A gradient is linear in the output gradients, so it depends on them if PyTorch recorded the work.
        probes = [grad if grad.requires_grad else grad.detach().requires_grad_() for grad in grads]
        found = run(values_for(pair, probes, saved, needs))
        for gradient in found if isinstance(found, (list, tuple)) else (found,):
            if isinstance(gradient, Tensor) and not gradient.requires_grad:
                raise UnsupportedError(
                    f"{pair.title}: double_backward=True, but PyTorch did not see how {pair.backward.name} computes "
                    "its results; give double_backward= the function that differentiates it"
                )
        return found

    if double_backward is True:
        return recorded
    if double_backward is False:
        return once
    second_link = pair.second(Callee.of(double_backward))
    second = _function_class(second_link, gradient_step(second_link, second_link.backward, False))

    def twice(grads: Sequence[object], saved: Sequence[object], _: Sequence[object], needs: Sequence[bool]) -> object:
        values = values_for(pair, grads, saved, needs)
        return applied(second, *values) if torch.is_grad_enabled() or transformed() else run(values)

    return twice


def transformed() -> bool:
    """Return whether a torch.func transform is active."""
    return bool(torch._C._are_functorch_transforms_active())


def slices(
    call: Callable[..., object], info: VmapInfo, in_dims: Sequence[object], args: Sequence[object]
) -> tuple[tuple[object, ...], tuple[int | None, ...]]:
    """Run the call, which returns a tuple, once for each slice of a vmap."""
    if info.batch_size == 0:
        raise UnsupportedError("vmap over no element at all: the shapes of the outputs would be unknown")
    rows = [
        call(*(_slice(arg, dim, at) for arg, dim in zip(args, in_dims, strict=True))) for at in range(info.batch_size)
    ]
    columns = tuple(
        torch.stack(column) if isinstance(column[0], Tensor) else column[0] for column in zip(*rows, strict=True)
    )
    return columns, tuple(0 if isinstance(column, Tensor) else None for column in columns)


def _slice(value: Tensor, dim: object, at: int) -> object:
    if isinstance(dim, (list, tuple)):
        return [_slice(item, inner, at) for item, inner in zip(value, dim, strict=True)]
    return value if dim is None else value.select(dim, at)


def applied(function: type[Function], *args: object) -> tuple[object, ...]:
    """Call `function.apply` without its search for defaults of `forward`, which dominates small calls.

    Under a torch.func transform, call `apply` itself.
    """
    if transformed():
        results: tuple[object, ...] = function.apply(*args)
    else:
        results = super(Function, function).apply(*args)
    return results


class Once(Function):  # type: ignore[misc]
    """A gradient that cannot be differentiated again: an attempt raises an error instead of giving zeros."""

    @staticmethod
    def forward(run: Callable[[Sequence[object]], object], _: str, count: int, *values: object) -> tuple[object, ...]:
        """Run the gradient on the first `count` values."""
        # The values after `count` are passed so that the result depends on them.
        found = run(values[:count])
        return tuple(found) if isinstance(found, (list, tuple)) else (found,)

    @staticmethod
    def setup_context(ctx: torch.autograd.function.FunctionCtx, inputs: tuple[object, ...], output: object) -> None:
        """Keep the error message."""
        ctx.message = inputs[1]

    @staticmethod
    def backward(ctx: torch.autograd.function.FunctionCtx, *_: object) -> NoReturn:
        """Raise UnsupportedError."""
        raise UnsupportedError(ctx.message)

    @staticmethod
    def vmap(info: object, in_dims: Sequence[int | None], *args: object) -> object:
        """Run the gradient once for each slice."""
        return slices(Once.apply, info, in_dims, args)


def keep(ctx: torch.autograd.function.FunctionCtx, values: Sequence[object]) -> None:
    """Save values for the backward pass: tensors as PyTorch requires, others as attributes."""
    plain = [None if isinstance(value, Tensor) else value for value in values]
    ctx.plain = plain if any(value is not None for value in plain) else None
    if ctx.plain is not None:
        values = [value if isinstance(value, Tensor) else None for value in values]
    ctx.save_for_backward(*values)


def kept(ctx: torch.autograd.function.FunctionCtx) -> tuple[object, ...]:
    """Return the values that `keep` saved."""
    tensors = ctx.saved_tensors
    if ctx.plain is None:
        return tuple(tensors)
    return tuple(other if tensor is None else tensor for tensor, other in zip(tensors, ctx.plain, strict=True))


def zeros_for(grads: Sequence[Tensor | None], likes: Sequence[Like | None]) -> list[Tensor]:
    """Replace missing gradients by zeros: nothing was computed from those outputs."""
    return [
        torch.zeros(like[0], dtype=like[1], device=like[2]) if grad is None and like is not None else grad
        for grad, like in zip(grads, likes, strict=True)
    ]


def graded_places(pair: GradientPair, count: int) -> list[int]:
    """Return the places of the outputs that have a gradient."""
    named = unnamed(count) if pair.outputs is None else pair.outputs
    return [place for place, name in enumerate(named) if name not in pair.nondifferentiable]


def check_graded(pair: GradientPair, results: Sequence[object], places: Sequence[int]) -> None:
    """Raise CallError if an output that should have a gradient cannot have one."""
    for place in places:
        value = results[place]
        if isinstance(value, Tensor) and (value.dtype.is_floating_point or value.dtype.is_complex):
            continue
        name = (pair.outputs or unnamed(len(results)))[place]
        kind = f"a tensor of {value.dtype}" if isinstance(value, Tensor) else type(value).__name__
        raise CallError(
            f"{pair.title}: '{name}' is {kind}, which has no gradient; name it in nondifferentiable=('{name}',)"
        )


def described(value: object) -> Like | None:
    """Return the shape, element type and device of a tensor; None for other values."""
    return (value.shape, value.dtype, value.device) if isinstance(value, Tensor) else None


def check_gradients(pair: GradientPair, gradients: Sequence[Tensor | None], shapes: Sequence[torch.Size]) -> None:
    """Raise CallError if a gradient has the wrong shape; name its argument, which PyTorch only numbers."""
    for item, gradient, shape in zip(pair.inputs, gradients, shapes, strict=True):
        if gradient is not None and gradient.shape != shape and not _expands(shape, gradient.shape):
            raise CallError(
                f"{pair.title}: the gradient of '{item.name}' has shape {list(gradient.shape)}, "
                f"expected {list(shape)}; "
                f"gradients= says in which order {pair.backward.name} returns them"
            )


def _expands(shape: Sequence[int], larger: Sequence[int]) -> bool:
    """Return whether the shape broadcasts to the larger one: PyTorch then sums the gradient down to it."""
    pairs = zip(reversed(shape), reversed(larger), strict=False)
    return len(shape) <= len(larger) and all(size in (1, other) for size, other in pairs)


def _refuse_lists(pair: GradientPair, args: Sequence[object]) -> None:
    """Raise UnsupportedError for a list of tensors that require a gradient."""
    for item, value in zip(pair.inputs, args, strict=True):
        if isinstance(value, (list, tuple)) and any(isinstance(v, Tensor) and v.requires_grad for v in value):
            raise UnsupportedError(
                f"{pair.title}: '{item.name}' is a list of tensors, which no gradient would reach; pass them one by one"
            )


def _function_class(pair: GradientPair, step: Step) -> type[Function]:
    places, taken, n_saved = pair.saved_places, len(pair.inputs), len(pair.saved)
    places_if_named, untracked = graded_places(pair, 0), pair.saves_untracked
    counts: set[int] = set()

    def forward(*args: object) -> tuple[object, ...]:
        _refuse_lists(pair, args)
        results = pair.results(pair.forward(args))
        if pair.outputs is None and len(results) not in counts:
            pair.check_backward(unnamed(len(results)))
            counts.add(len(results))
        check_graded(pair, results, graded(results))
        return results

    def graded(results: Sequence[object]) -> list[int]:
        return graded_places(pair, len(results)) if pair.outputs is None else places_if_named

    def setup_context(
        ctx: torch.autograd.function.FunctionCtx, inputs: tuple[object, ...], output: tuple[object, ...]
    ) -> None:
        ctx.set_materialize_grads(False)
        chosen = graded(output)
        ctx.mark_non_differentiable(
            *(value for place, value in enumerate(output) if isinstance(value, Tensor) and place not in chosen)
        )
        everything = (*inputs, *output)
        saved = [everything[place] for place in places]
        keep(ctx, [*saved, *inputs] if untracked else saved)
        ctx.shapes = [value.shape if isinstance(value, Tensor) else None for value in inputs]
        ctx.wanted = chosen
        ctx.likes = [described(output[place]) for place in chosen]

    def backward(ctx: torch.autograd.function.FunctionCtx, *grads: Tensor | None) -> tuple[Tensor | None, ...]:
        given = [grads[place] for place in ctx.wanted]
        if all(grad is None for grad in given):
            return (None,) * taken
        values = kept(ctx)
        needs = ctx.needs_input_grad
        found = step(zeros_for(given, ctx.likes), values[:n_saved], values[n_saved:], needs)
        gradients = pair.by_input(found, [shape is not None for shape in ctx.shapes])
        check_gradients(pair, gradients, ctx.shapes)
        return tuple(gradients)

    def vmap(info: object, in_dims: Sequence[int | None], *args: object) -> object:
        return slices(made.apply, info, in_dims, args)

    name = getattr(pair.forward.function, "__name__", "function")
    members: dict[str, Callable[..., object]] = {
        "forward": forward,
        "setup_context": setup_context,
        "backward": backward,
        "vmap": vmap,
    }
    made: type[Function] = type(name, (Function,), {key: staticmethod(member) for key, member in members.items()})
    return made
