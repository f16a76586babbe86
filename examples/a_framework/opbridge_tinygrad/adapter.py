"""Call operators with tinygrad tensors through NumPy: kernels run at once, formulas become part of tinygrad's graph."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
from tinygrad import Tensor, dtypes

from opbridge.errors import CallError, UnsupportedError
from opbridge.frameworks.interface import Library
from opbridge.op import signature_of
from opbridge.rules import ARRAY_FUNCTIONS, evaluate, formula_environment


def define(library: Library) -> None:
    """Do nothing: tinygrad keeps no table of operators."""


def view(library: Library, index: int) -> TinygradOperator:
    return TinygradOperator(library, index)


def call(library: Library, index: int) -> Callable[..., Any]:
    function: Callable[..., Any] = library.view(index, "tinygrad")
    return function


class TinygradOperator:
    """A function of tinygrad tensors, differentiable as often as its formulas are."""

    def __init__(self, library: Library, index: int) -> None:
        spec = library.spec(index)
        self.schema, self.derivatives = spec.schema, spec.rules.gradients
        self.name, self.__doc__ = spec.schema.full_name, str(spec.schema)
        self.__signature__ = signature_of(spec.schema)
        self._functions = _Functions(library)
        self._in_numpy = library.view(index, "numpy")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self.schema.mutable_arguments:
            raise UnsupportedError(f"{self.name} writes to its argument, which tinygrad's tensors are not made for")
        lent = partial(_mapped, self._array)
        results = self._in_numpy(*map(lent, args), **{name: lent(value) for name, value in kwargs.items()})
        bound = self.__signature__.bind(*args, **kwargs)
        bound.apply_defaults()
        arguments = bound.arguments
        tensors = [(name, leaf) for name, value in arguments.items() for leaf in _leaves(value)]
        outputs: list[Tensor] = []
        for number, result in enumerate(results if isinstance(results, tuple) else (results,)):
            value = Tensor(np.ascontiguousarray(result))
            backward = partial(self._backward, number, arguments, tensors, outputs)
            inputs = [leaf for _, leaf in tensors]
            # This is how tinygrad attaches a custom gradient to a value.
            output = (
                Tensor.call(*inputs, value, fxn=value.as_param(len(inputs)), grad_fxn=backward) if inputs else value
            )
            outputs.append(output)
        return tuple(outputs) if isinstance(results, tuple) else outputs[0]

    def _backward(
        self, number: int, arguments: Mapping[str, Any], tensors: list[tuple[str, Tensor]], outputs: list[Tensor],
        grad: Any, call: Any,
    ) -> tuple[Any, ...]:  # fmt: skip
        """Return the gradients of the inputs, and none for the value itself."""
        environment = formula_environment(self.schema, arguments, {number: Tensor(grad)}, dict(enumerate(outputs)))
        found: dict[str, Any] = {}
        for derivative in self.derivatives:
            value = evaluate(derivative.formula.expr, environment, self._functions)
            several = len(derivative.arguments) > 1
            found |= dict(zip(derivative.arguments, value if several else (value,), strict=True))
        places: dict[str, int] = {}
        gradients = []
        for name, tensor in tensors:
            place = places[name] = places.get(name, -1) + 1
            gradients.append(self._gradient(found, name, place, arguments, tensor))
        return (*gradients, None)

    def _gradient(
        self, found: Mapping[str, Any], name: str, place: int, arguments: Mapping[str, Any], tensor: Tensor
    ) -> Any:
        if not dtypes.is_float(tensor.dtype):
            return None
        if name not in found:
            raise UnsupportedError(f"{self.name} has no derivative for '{name}'; add one, or pass {name}.detach()")
        value = found[name][place] if isinstance(arguments[name], (list, tuple)) else found[name]
        value = value if isinstance(value, Tensor) else tensor.const_like(value or 0)
        return _sum_to(value, tensor.shape).cast(tensor.dtype).uop

    def _array(self, value: Any) -> Any:
        if hasattr(value, "__dlpack__") or isinstance(value, np.ndarray):
            raise CallError(f"{self.name}: the tensors of a call come from one framework; got a {type(value).__name__}")
        return value.numpy() if isinstance(value, Tensor) else value


class _Functions(dict[str, Any]):
    """The functions of formulas: methods of tensors by their array API names, and operators of the library."""

    def __init__(self, library: Library) -> None:
        super().__init__({name: getattr(dtypes, name) for name in ("float16", "float32", "float64", "int32", "int64")})
        self._library = library

    def __missing__(self, name: str) -> Any:
        entries = [entry.name for entry in self._library.catalog.entries]
        if name in entries:
            return self._library.view(entries.index(name), "tinygrad")
        function = _NAMED.get(name) or getattr(Tensor, name, None)
        if name not in ARRAY_FUNCTIONS or function is None:
            raise UnsupportedError(f"a derivative calls {name}, which tinygrad has not")
        return lambda *args, **kwargs: function(*ARRAY_FUNCTIONS[name].values(args, kwargs))


def _sum_to(x: Tensor, shape: tuple[int, ...]) -> Tensor:
    """Undo a broadcast."""
    added = x.ndim - len(shape)
    stretched = [added + axis for axis, size in enumerate(shape) if size == 1 != x.shape[added + axis]]
    return x.sum((*range(added), *stretched), keepdim=True).reshape(shape)


_NAMED = {
    "add": operator.add, "subtract": operator.sub, "multiply": operator.mul, "divide": operator.truediv,
    "negative": operator.neg, "greater": operator.gt, "less": operator.lt, "equal": operator.eq,
    "concat": lambda arrays, axis: Tensor.cat(*arrays, dim=axis), "astype": Tensor.cast, "sum_to": _sum_to,
    "expand_dims": Tensor.unsqueeze, "permute_dims": Tensor.permute, "broadcast_to": Tensor.expand,
    "zeros_like": Tensor.zeros_like, "ones_like": Tensor.ones_like, "matrix_transpose": Tensor.transpose,
}  # fmt: skip


def _mapped(function: Callable[[Any], Any], value: Any) -> Any:
    return [function(item) for item in value] if isinstance(value, (list, tuple)) else function(value)


def _leaves(value: Any) -> list[Tensor]:
    return [item for item in (value if isinstance(value, (list, tuple)) else [value]) if isinstance(item, Tensor)]
