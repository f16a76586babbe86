"""Provide operators on Paddle CPU tensors: NumPy calls on their memory, and a PyLayer if a gradient is needed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import paddle

from opbridge._core import NumpyOp
from opbridge.base.errors import CallError, UnsupportedError
from opbridge.frameworks.dispatch import static_graph
from opbridge.frameworks.paddle.formula_functions import DTYPES, FUNCTIONS, sum_to
from opbridge.waist.op import signature_of
from opbridge.waist.rules import Derivative, evaluate, formula_environment
from opbridge.waist.schema import Schema

if TYPE_CHECKING:
    from opbridge.frameworks.interface import Library

Tensor = Any


def define(library: Library) -> None:
    """Do nothing: Paddle keeps no table of operators."""


def view(library: Library, index: int) -> PaddleOperator:
    """Return the operator as a function of Paddle tensors."""
    return PaddleOperator(library, index)


def call(library: Library, index: int) -> Callable[..., object]:
    """Return the view, which runs calls too."""
    function: Callable[..., object] = library.view(index, "paddle")
    return function


class PaddleOperator:
    """A function of `paddle.Tensor` that can be differentiated as often as its formulas."""

    def __init__(self, library: Library, index: int) -> None:
        spec = library.spec(index)
        self.schema: Schema = spec.schema
        self.name = spec.schema.full_name
        self.__name__ = spec.schema.name
        self.__doc__ = str(spec.schema)
        self.__signature__ = signature_of(spec.schema)
        self.derivatives = spec.rules.gradients
        self._library = library
        self._numpy: NumpyOp = library.view(index, "numpy")

    def __call__(self, *args: object, **kwargs: object) -> Any:
        """Run the operator, recording the gradient if an argument requires one."""
        if not paddle.in_dynamic_mode():
            raise UnsupportedError(static_graph(self.name))
        if paddle.is_grad_enabled() and any(_wants_gradient(value) for value in _leaves((*args, *kwargs.values()))):
            return _Gradient(self, args, kwargs).run()
        return self.run(args, kwargs)

    def __repr__(self) -> str:
        return f"<paddle function {self.schema}>"

    def run(self, args: Sequence[object], kwargs: Mapping[str, object]) -> Tensor | tuple[Tensor, ...]:
        """Run the call without its gradient."""
        lent: dict[int, Tensor] = {}

        def array(value: object) -> object:
            if isinstance(value, (list, tuple)):
                return [array(item) for item in value]
            if not isinstance(value, paddle.Tensor):
                return self._attribute(value)
            view = self._array(value)
            lent[id(view)] = value
            return view

        def tensor(result: object) -> object:
            if not isinstance(result, np.ndarray):
                return result
            # Return the original tensor for an array that the operator wrote to.
            return lent[id(result)] if id(result) in lent else paddle.from_dlpack(result)

        results = self._numpy(*map(array, args), **{name: array(value) for name, value in kwargs.items()})
        return tuple(map(tensor, results)) if isinstance(results, tuple) else tensor(results)

    def function(self, name: str) -> Callable[..., object]:
        """Return the function or operator that a formula calls by this name."""
        if name in FUNCTIONS:
            return FUNCTIONS[name]
        names = self._library.catalog.names
        if name not in names:
            raise UnsupportedError(f"{self.name}: its derivative calls {name}, which Paddle has not")
        found: Callable[..., object] = self._library.view(names.index(name), "paddle")
        return found

    def _array(self, tensor: Tensor) -> object:
        if not tensor.place.is_cpu_place():
            raise CallError(f"{self.name}: a tensor lies on {tensor.place}; operators run on Paddle's CPU: x.cpu()")
        if tensor.dtype == paddle.bfloat16:
            raise CallError(
                f"{self.name}: Paddle cannot share bfloat16 with kernels; convert it, as with x.astype('float32')"
            )
        return np.from_dlpack(tensor.detach())

    def _attribute(self, value: object) -> object:
        if hasattr(value, "__dlpack__"):
            kind = type(value)
            raise CallError(
                f"{self.name}: the tensors of a call must come from one framework, got a paddle.Tensor next to a "
                f"{kind.__module__}.{kind.__qualname__}; write paddle.from_dlpack(x)"
            )
        return _DTYPE_NAMES[value] if isinstance(value, paddle.dtype) else value


_DTYPE_NAMES = {dtype: name for name, dtype in DTYPES.items()}


class _Functions(dict[str, Any]):
    def __init__(self, operator: PaddleOperator) -> None:
        super().__init__({**FUNCTIONS, **DTYPES})
        self._operator = operator

    def __missing__(self, name: str) -> object:
        return self._operator.function(name)


class _Gradient:
    """One call that may be differentiated."""

    def __init__(self, operator: PaddleOperator, args: Sequence[object], kwargs: Mapping[str, object]) -> None:
        self.operator = operator
        schema = operator.schema
        try:
            bound = operator.__signature__.bind(*args, **kwargs)
        except TypeError:
            operator.run(args, kwargs)  # raises a clearer error
            raise
        bound.apply_defaults()
        self.arguments = dict(bound.arguments)
        self.places: list[tuple[str, int | None]] = []
        """The argument of each tensor in the call, and its place in a list."""
        self.tensors: list[Tensor] = []
        for argument in schema.tensor_arguments:
            value = self.arguments[argument.name]
            items = enumerate(value) if isinstance(value, (list, tuple)) else [(None, value)]
            for place, item in items:
                if item is not None:
                    self.places.append((argument.name, place))
                    self.tensors.append(item)

    def run(self) -> object:
        operator = self.operator
        if operator.schema.mutable_arguments:
            raise UnsupportedError(
                f"{operator.name} writes to its argument, which Paddle cannot differentiate here; call it under "
                "paddle.no_grad(), or on x.detach()"
            )
        if not operator.derivatives:
            raise UnsupportedError(
                f"{operator.name} has no derivative; add `derivatives` or `backward` to its declaration, "
                "or call it under paddle.no_grad()"
            )
        wanted = {name for (name, _), tensor in zip(self.places, self.tensors, strict=True) if _wants_gradient(tensor)}
        for name in wanted - {name for derivative in operator.derivatives for name in derivative.arguments}:
            raise UnsupportedError(
                f"{operator.name} has no derivative for '{name}'; add one to its `derivatives`, or pass {name}.detach()"
            )
        used = tuple(item for item in operator.derivatives if wanted & set(item.arguments))
        return _Layer.apply(self, used, wanted, *self.tensors)

    def forward(self, tensors: Sequence[Tensor]) -> Tensor | tuple[Tensor, ...]:
        arguments = self.grouped(tensors)
        names = self.operator.schema.positional
        positional = [arguments.pop(item.name) for item in names]
        return self.operator.run(positional, arguments)

    def grouped(self, tensors: Sequence[Tensor]) -> dict[str, Any]:
        """Return the arguments of the call, with its tensors replaced by these."""
        arguments = {
            name: [None] * len(value) if isinstance(value, (list, tuple)) and name in self._lists() else value
            for name, value in self.arguments.items()
        }
        for (name, place), tensor in zip(self.places, tensors, strict=True):
            if place is None:
                arguments[name] = tensor
            else:
                arguments[name][place] = tensor
        return arguments

    def _lists(self) -> set[str]:
        return {name for name, place in self.places if place is not None}

    def backward(
        self,
        used: tuple[Derivative, ...],
        wanted: set[str],
        tensors: Sequence[Tensor],
        outputs: Sequence[Tensor],
        grads: Sequence[Tensor],
    ) -> list[Tensor | None]:
        environment = formula_environment(
            self.operator.schema, self.grouped(tensors), dict(enumerate(grads)), dict(enumerate(outputs))
        )
        functions = _Functions(self.operator)
        found: dict[str, Any] = {}
        for derivative in used:
            value = evaluate(derivative.formula.expr, environment, functions)
            several = len(derivative.arguments) > 1
            found |= dict(zip(derivative.arguments, value if several else (value,), strict=True))
        results: list[Tensor | None] = []
        for (name, place), tensor in zip(self.places, tensors, strict=True):
            value = found.get(name) if name in wanted else None
            value = value if place is None or value is None else value[place]
            results.append(None if tensor.stop_gradient else _as_gradient(value, tensor))
        return results


def _as_gradient(value: Tensor, tensor: Tensor) -> Tensor:
    if value is None:
        return paddle.zeros_like(tensor)
    if not isinstance(value, paddle.Tensor):
        return paddle.full_like(tensor, value)
    if value.shape != tensor.shape:
        common = np.broadcast_shapes(tuple(value.shape), tuple(tensor.shape))
        value = sum_to(paddle.broadcast_to(value, list(common)), tensor.shape)
    if value.is_complex() and not tensor.is_complex():
        value = paddle.real(value)
    return value.astype(tensor.dtype)


class _Layer(paddle.autograd.PyLayer):  # type: ignore[misc]
    @staticmethod
    def forward(
        ctx: paddle.autograd.PyLayerContext,
        call: _Gradient,
        used: tuple[Derivative, ...],
        wanted: set[str],
        *tensors: Tensor,
    ) -> Tensor | tuple[Tensor, ...]:
        results = call.forward(tensors)
        outputs = results if isinstance(results, tuple) else (results,)
        ctx.call, ctx.used, ctx.wanted, ctx.inputs = call, used, wanted, len(tensors)
        ctx.mark_non_differentiable(*(output for output in outputs if not _is_inexact(output)))
        ctx.save_for_backward(*tensors, *outputs)
        return results

    @staticmethod
    def backward(ctx: paddle.autograd.PyLayerContext, *grads: Tensor) -> Tensor | tuple[Tensor, ...]:
        saved = ctx.saved_tensor()
        found = ctx.call.backward(ctx.used, ctx.wanted, saved[: ctx.inputs], saved[ctx.inputs :], grads)
        return found[0] if len(found) == 1 else tuple(found)


def _wants_gradient(value: object) -> bool:
    return isinstance(value, paddle.Tensor) and not value.stop_gradient and _is_inexact(value)


def _is_inexact(tensor: Tensor) -> bool:
    return bool(tensor.is_floating_point() or tensor.is_complex())


def _leaves(values: Sequence[object]) -> list[object]:
    return [item for value in values for item in (value if isinstance(value, (list, tuple)) else (value,))]
