"""Implement the Autograd keys of an operator by its formulas."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor
from torch._functorch.eager_transforms import enable_inplace_requires_grad
from torch._functorch.utils import enable_single_level_autograd_function
from torch.autograd import forward_ad
from torch.autograd.function import _SingleLevelFunction
from torch.utils import _pytree

from opbridge.base.errors import UnsupportedError
from opbridge.frameworks.torch.fake_outputs import bound
from opbridge.frameworks.torch.uncompiled.formula_functions import FUNCTIONS, TORCH_DTYPES
from opbridge.waist.manifest import OpSpec
from opbridge.waist.rules import evaluate, formula_environment


class FormulaGradient:
    """The gradient of an operator; it saves only the tensors that the formulas read."""

    def __init__(self, spec: OpSpec, operator: torch._ops.OpOverload) -> None:
        self.spec = spec
        self.schema = spec.schema
        self.operator = operator
        self.derivatives = spec.rules.gradients
        self.names = [item.name for item in self.schema.arguments]
        self.read = {name for one in self.derivatives for name in one.formula.arguments}
        words = self.schema.name.split("_")
        # The class name becomes the name of the node, to which PyTorch adds "Backward".
        self.node: type[_Node] = type("".join(word[:1].upper() + word[1:] for word in words), (_Node,), {})
        self.results = sorted({place for one in self.derivatives for place in one.formula.results})

    def __call__(self, keys: torch._C.DispatchKeySet, *args: object, **kwargs: object) -> Tensor | tuple[Tensor, ...]:
        """Run a call, recording the gradient or the tangents that its arguments require."""
        leaves, form = _pytree.tree_flatten((args, kwargs))
        if any(tangent is not None for _, tangent in map(_dual, leaves)):
            return self._with_tangents(keys, leaves, form)
        if torch.is_grad_enabled() and any(isinstance(leaf, Tensor) and leaf.requires_grad for leaf in leaves):
            if any(item.alias for item in self.schema.arguments):
                raise UnsupportedError(
                    f"{self.schema.full_name} writes to its argument, which has a gradient where the native adapter is "
                    "compiled; install a C++ compiler, or call it under torch.no_grad()"
                )
            with enable_single_level_autograd_function():
                return self.node.apply(self, keys, form, *leaves)
        return self.below(keys, args, kwargs)

    def _with_tangents(
        self, keys: torch._C.DispatchKeySet, leaves: Sequence[object], form: _pytree.TreeSpec
    ) -> Tensor | tuple[Tensor, ...]:
        """Run a call in forward mode: a formula is linear in its gradient, and its derivative gives the tangent."""
        args, kwargs = _pytree.tree_unflatten([primal for primal, _ in map(_dual, leaves)], form)
        moving = self.arguments(*_pytree.tree_unflatten([tangent for _, tangent in map(_dual, leaves)], form))
        results = self(keys, *args, **kwargs)
        outputs = (results,) if isinstance(results, Tensor) else tuple(results)
        wanted = {name for name in self.names if _has_tensors(moving.get(name))}
        with torch.enable_grad(), enable_inplace_requires_grad(True):
            probes = [torch.zeros_like(output) for output in outputs]
            sources = [probe.requires_grad_() for probe in probes if _is_inexact(probe)]
            environment = formula_environment(
                self.schema, self.arguments(args, kwargs), dict(enumerate(probes)), dict(enumerate(outputs))
            )
            found = self.gradients(wanted, environment)
            pairs = [pair for name in wanted for pair in _moved(found[name], moving[name]) if pair[0].requires_grad]
            values, directions = [value for value, _ in pairs], [direction for _, direction in pairs]
            found_tangents: Sequence[Tensor | None] = [None] * len(sources)
            if values:
                found_tangents = torch.autograd.grad(values, sources, directions, create_graph=True, allow_unused=True)
        if not torch.is_grad_enabled():
            found_tangents = [None if tangent is None else tangent.detach() for tangent in found_tangents]
        tangents = iter(found_tangents)
        dual = [_made_dual(output, next(tangents)) if _is_inexact(output) else output for output in outputs]
        return dual[0] if isinstance(results, Tensor) else tuple(dual)

    def below(
        self, keys: torch._C.DispatchKeySet, args: Sequence[object], kwargs: Mapping[str, object]
    ) -> Tensor | tuple[Tensor, ...]:
        """Run the operator below the Autograd keys."""
        with torch._C._AutoDispatchBelowAutograd():
            return self.operator.redispatch(keys & torch._C._after_autograd_keyset, *args, **kwargs)

    def arguments(self, args: Sequence[object], kwargs: Mapping[str, object]) -> dict[str, Any]:
        """Return the arguments of a call by name, with defaults."""
        return bound(self.spec, args, kwargs)

    def gradients(self, wanted: set[str], environment: Mapping[str, object]) -> dict[str, Any]:
        """Evaluate the formulas of the wanted arguments; raise UnsupportedError if one has none."""
        found: dict[str, object] = {}
        for derivative in self.derivatives:
            if wanted & set(derivative.arguments):
                value = evaluate(derivative.formula.expr, environment, _Functions())
                several = len(derivative.arguments) > 1
                found |= dict(zip(derivative.arguments, value if several else (value,), strict=True))
        for name in sorted(wanted - found.keys()):
            raise UnsupportedError(
                f"{self.schema.full_name} has no derivative for '{name}'; add one under `derivatives:` (or a "
                "`backward:`), or pass a tensor that does not require grad"
            )
        return found


class _Functions(dict[str, object]):
    """The functions and names of a formula; operators are looked up when a formula calls them."""

    def __init__(self) -> None:
        super().__init__({**FUNCTIONS, **TORCH_DTYPES})

    def __missing__(self, name: str) -> object:
        namespace, _, operator = name.partition("::")
        return getattr(getattr(torch.ops, namespace), operator)


class _Node(_SingleLevelFunction):  # type: ignore[misc]
    """The autograd node of one call; under a torch.func transform, it is on one level, as a C++ node would be."""

    @staticmethod
    def forward(
        ctx: torch.autograd.function.FunctionCtx,
        gradient: FormulaGradient,
        keys: torch._C.DispatchKeySet,
        form: _pytree.TreeSpec,
        *leaves: object,
    ) -> Tensor | tuple[Tensor, ...]:
        args, kwargs = _pytree.tree_unflatten(list(leaves), form)
        # Both modes are off here, and would be off for the outer levels of a transform too.
        with torch.enable_grad(), forward_ad._set_fwd_grad_enabled(True):
            results = gradient.below(keys, args, kwargs)
        outputs = (results,) if isinstance(results, Tensor) else tuple(results)
        ctx.mark_non_differentiable(*(value for value in outputs if not _is_inexact(value)))
        arguments = gradient.arguments(args, kwargs)
        unread = {name: None for name, value in arguments.items() if name not in gradient.read and _has_tensors(value)}
        saved, ctx.saved_form = _pytree.tree_flatten(
            ({**arguments, **unread}, {place: outputs[place] for place in gradient.results})
        )
        ctx.rest = [None if isinstance(value, Tensor) else value for value in saved]
        ctx.save_for_backward(*(value if isinstance(value, Tensor) else None for value in saved))
        ctx.gradient, ctx.form = gradient, form
        ctx.likes = [_Like(value) if isinstance(value, Tensor) else None for value in leaves]
        return results

    @staticmethod
    def backward(ctx: torch.autograd.function.FunctionCtx, *grads: Tensor | None) -> tuple[Tensor | None, ...]:
        gradient: FormulaGradient = ctx.gradient
        saved = [rest if value is None else value for value, rest in zip(ctx.saved_tensors, ctx.rest, strict=True)]
        arguments, outputs = _pytree.tree_unflatten(saved, ctx.saved_form)
        environment = formula_environment(gradient.schema, arguments, dict(enumerate(grads)), outputs)
        likes = _pytree.tree_unflatten(
            [like if needed else None for like, needed in zip(ctx.likes, ctx.needs_input_grad[3:], strict=True)],
            ctx.form,
        )
        by_name = gradient.arguments(*likes)
        wanted = {name for name in gradient.names if _holds(by_name.get(name), _Like)}
        found = gradient.gradients(wanted, environment)
        values = [_gradients(found.get(name), like) for like, name in _named(likes, gradient.names)]
        return (None, None, None, *_pytree.tree_leaves(values, is_leaf=lambda value: value is None))


class _Like:
    """The shape, element type and device of a tensor."""

    def __init__(self, tensor: Tensor) -> None:
        self.shape, self.dtype, self.device = tensor.shape, tensor.dtype, tensor.device


def _named(likes: tuple[Sequence[object], Mapping[str, object]], names: Sequence[str]) -> list[tuple[object, str]]:
    args, kwargs = likes
    return [*zip(args, names, strict=False), *((value, name) for name, value in kwargs.items())]


def _holds(value: object, kind: type) -> bool:
    return isinstance(value, kind) or (isinstance(value, (list, tuple)) and any(_holds(item, kind) for item in value))


def _has_tensors(value: object) -> bool:
    return _holds(value, Tensor)


def _gradients(value: Tensor, like: object) -> object:
    if isinstance(like, (list, tuple)):
        values = value if isinstance(value, (list, tuple)) else [value] * len(like)
        return [_gradients(one, item) for one, item in zip(values, like, strict=True)]
    return _gradient(value, like) if isinstance(like, _Like) else None


def _gradient(value: Tensor, like: _Like) -> Tensor:
    if not isinstance(value, Tensor):
        return torch.full(like.shape, 0 if value is None else value, dtype=like.dtype, device=like.device)
    if value.shape != like.shape:
        common = torch.broadcast_shapes(value.shape, like.shape)
        value = value.expand(common).sum_to_size(like.shape)
    if value.is_complex() and not like.dtype.is_complex:
        value = value.real
    return value.to(like.dtype)


def _dual(value: object) -> tuple[object, Tensor | None]:
    """Return a value and its tangent."""
    return torch._VF._unpack_dual(value, level=0) if isinstance(value, Tensor) else (value, None)


def _made_dual(output: Tensor, tangent: Tensor | None) -> object:
    return torch._VF._make_dual(output, torch.zeros_like(output) if tangent is None else tangent, level=0)


def _moved(value: Tensor | Sequence[Tensor], tangent: object) -> list[tuple[Tensor, Tensor]]:
    """Pair the gradients of an argument with its tangents; both are lists if the argument is one."""
    if isinstance(tangent, (list, tuple)):
        return [pair for one, item in zip(value, tangent, strict=True) for pair in _moved(one, item)]
    if not isinstance(tangent, Tensor) or not isinstance(value, Tensor):
        return []
    common = torch.broadcast_shapes(value.shape, tangent.shape)
    return [(value.expand(common).sum_to_size(tangent.shape).to(tangent.dtype), tangent)]


def _is_inexact(value: Tensor) -> bool:
    return bool(value.is_floating_point() or value.is_complex())
