"""Provide PyTorch operators in JAX, with shapes from its meta kernels and gradients of any order from its autograd."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import torch

from opbridge._core import infer_target
from opbridge.base.errors import CallError, UnsupportedError
from opbridge.frameworks import FRAMEWORKS
from opbridge.frameworks.aten.aten_operator import AtenOperator, needs_values, target_names, translated
from opbridge.frameworks.jax.call import Array, Like
from opbridge.frameworks.jax.formula_functions import CODES, DTYPES
from opbridge.frameworks.jax.handler import register_handler
from opbridge.frameworks.jax.mesh_types import described
from opbridge.frameworks.jax.primitives import bind_call
from opbridge.frameworks.jax.run import RUNTIME_ERRORS, compiled, is_traced, traced
from opbridge.frameworks.jax.run import translated as translated_of_program
from opbridge.frameworks.mixing import refuse_foreign
from opbridge.frameworks.numpy.aten import view as numpy_view
from opbridge.frameworks.torch.native import load_native
from opbridge.waist.rules import DTYPES as NAMES
from opbridge.waist.rules.sharding import Layout, Shape, paired

Said = tuple[str, Any]
"""An argument that JSON can represent: its kind and its value."""

_NO_GRADIENT = CODES[DTYPES["bool"]]
"""The element type code for the gradient of an output that has none."""


_NEEDS_VALUES = "meta"
"""The word in PyTorch errors for a tensor without values, where the shape of the result depends on them."""


class AtenFunction:
    """A PyTorch operator that can be called with arrays and with anything that JAX traces."""

    def __init__(self, operator: AtenOperator) -> None:
        self.operator = operator
        self.__name__ = operator.name
        self.__doc__ = "\n".join(str(one._schema) for one in operator.functional)
        self._names = target_names(operator)
        self._run_in_numpy = numpy_view(operator)

    def __call__(self, *args: object, **kwargs: object) -> Any:
        """Run the operator; raise UnsupportedError for random draws, or if a trace lacks values that it needs."""
        tensors: list[Array] = []
        said = tuple(self._described(value, tensors) for value in args)
        named = tuple((name, self._described(value, tensors)) for name, value in kwargs.items())
        call = _known(self, said, named)
        if not tensors or call.needs_values(tensors):
            return self._run_at_once(args, kwargs, tensors)
        if call.draws:
            raise UnsupportedError(
                f"{call.name}: it draws from PyTorch's generator, and what JAX runs depends on its arguments alone; "
                "draw with jax.random and pass what was drawn"
            )
        try:
            return (traced if any(map(is_traced, tensors)) else compiled)(call)(*tensors)
        except CallError as error:
            if _NEEDS_VALUES not in str(error):
                raise
            return self._run_at_once(args, kwargs, tensors)
        except RUNTIME_ERRORS as error:
            raise translated_of_program(call.name, error) from None

    def __repr__(self) -> str:
        return f"<jax function {self.operator.full_name}>"

    def target_of(self, said: Mapping[str, object], device: str) -> object:
        """Return the Target of a call from its representation in a program."""
        return AtenCall(self, *(_frozen(said[part]) for part in ("args", "kwargs", "gradients"))).target(device)

    def bound(self, said: tuple[Said, ...], named: tuple[tuple[str, Said], ...]) -> tuple[object, Any, bool]:
        """Return the Target of a described call, the overload that it selects, and whether it draws random numbers."""
        args, kwargs = [_read(value) for value in said], {name: _read(value) for name, value in named}
        try:
            target, index, draws = load_native().operator_target(self._names, *args, **kwargs)
        except Exception as error:
            raise translated(self.operator.full_name, error) from error.__cause__
        return target, self.operator.functional[index], draws

    def _run_at_once(self, args: tuple[object, ...], kwargs: Mapping[str, object], tensors: Sequence[Array]) -> object:
        name = self.operator.full_name
        if any(map(is_traced, tensors)):
            raise UnsupportedError(
                f"{name}: what it returns depends on the values of its tensors, which are not known before the program "
                "runs; call it outside of jax.jit, jax.grad and jax.vmap"
            )
        given, named = jax.tree.map(_in_numpy, (list(args), dict(kwargs)))
        return jax.tree.map(lambda value: _from_numpy(name, value), self._run_in_numpy(*given, **named))

    def _described(self, value: object, tensors: list[Array]) -> Said:
        """Describe an argument for JSON; append tensors, of which only the element type is described, to `tensors`."""
        if isinstance(value, (jax.Array, np.ndarray)):
            if value.dtype not in CODES:
                raise CallError(f"{self.operator.full_name}: PyTorch has no elements of type {value.dtype}")
            tensors.append(value)
            return "tensor", NAMES[CODES[value.dtype]]
        if isinstance(value, (list, tuple)):
            return "list", tuple(self._described(item, tensors) for item in value)
        if isinstance(value, np.generic):
            return self._described(value.item(), tensors)
        if value is None or isinstance(value, (bool, int, str)):
            return type(value).__name__, value
        if isinstance(value, float):
            return "float", value.hex()
        if isinstance(value, complex):
            return "complex", (value.real.hex(), value.imag.hex())
        if isinstance(value, torch.device):
            return "device", str(value)
        if isinstance(value, (torch.layout, torch.memory_format)):
            return "torch", str(value).removeprefix("torch.")
        name = str(value).removeprefix("torch.") if isinstance(value, torch.dtype) else _dtype_name(value)
        if name is None:
            kind = f"{type(value).__module__}.{type(value).__qualname__}"
            refuse_foreign(self.operator.full_name, FRAMEWORKS["jax"], value)
            raise CallError(f"{self.operator.full_name}: expected arrays of JAX and plain values, got {kind}")
        return "dtype", name


@dataclass(frozen=True)
class AtenCall:
    """A Call of a PyTorch operator, or of a gradient of one."""

    function: AtenFunction
    args: tuple[Said, ...]
    kwargs: tuple[tuple[str, Said], ...]
    gradients: tuple[tuple[tuple[int, ...], tuple[int, ...]], ...] = ()
    """The element types of the given outputs and of the gradients, for each time the call was differentiated."""

    devices = ("cpu",)
    written = ()
    returns = True
    least_ranks = ()
    advice = ""  # PyTorch knows the operator best

    def __repr__(self) -> str:
        return self.name

    @property
    def name(self) -> str:
        """The full name of the operator."""
        return self.function.operator.full_name

    @cached_property
    def text(self) -> str:
        """The representation of the call in a program, as JSON."""
        said = {"op": self.name, "args": self.args, "kwargs": self.kwargs, "gradients": self.gradients}
        return json.dumps(said)

    @cached_property
    def _bound(self) -> tuple[object, Any, bool]:
        return self.function.bound(self.args, self.kwargs)

    @property
    def overload(self) -> Any:
        """The overload that the arguments select."""
        return self._bound[1]

    @property
    def draws(self) -> bool:
        """Whether the call would draw from the PyTorch generator."""
        return self._bound[2]

    @property
    def elementwise(self) -> bool:
        """Whether the operator treats every element alone."""
        return torch.Tag.pointwise in self.overload.tags and not self.overload._schema.is_mutable

    @property
    def broadcasts(self) -> bool:
        """Whether inputs of different shapes are allowed."""
        # A gradient has the shape of its input, so a batch of the other inputs would not reach it.
        return not self.gradients

    def layout(self, inputs: Sequence[Shape], outputs: Sequence[Shape]) -> Layout | None:
        """Return how the call may be divided over devices; only elementwise calls can be."""
        return paired(self.name, inputs, outputs) if self.elementwise and self.broadcasts else None

    def needs_values(self, tensors: Sequence[Like]) -> bool:
        """Return whether only a run can determine the results."""
        if needs_values(self.overload):
            return True
        if torch.Tag.dynamic_output_shape not in self.overload.tags:
            return False
        try:
            self.outputs(tensors)
        except CallError:
            return True
        return False

    @cached_property
    def _target(self) -> object:
        target = self._bound[0]
        for known, kinds in self.gradients:
            target = load_native().vjp_target(target, known, kinds)
        return target

    def target(self, device: str | None = None) -> object:
        """Return the Target, which runs on the CPU."""
        return self._target

    def outputs(self, inputs: Sequence[Like]) -> list[jax.ShapeDtypeStruct]:
        """Return the shapes and element types of the outputs; raise UnsupportedError for symbolic sizes."""
        shapes = [tuple(value.shape) for value in inputs]
        if not all(isinstance(size, int) for shape in shapes for size in shape):
            raise UnsupportedError(
                f"{self.name}: PyTorch does not tell the shapes of its results for symbolic sizes; export the program "
                "for fixed ones"
            )
        return [jax.ShapeDtypeStruct(shape, DTYPES[NAMES[code]]) for shape, code in infer_target(self._target, shapes)]

    def arranged(self, outputs: Sequence[Array]) -> Any:
        """Return the outputs as the PyTorch operator returns them: a list, a tensor or a tuple."""
        kinds = [str(output.type) for output in self.overload._schema.returns]
        if kinds == ["List[Tensor]"]:
            return list(outputs)
        return outputs[0] if len(outputs) == 1 else tuple(outputs)

    def pullback(
        self, inputs: Sequence[Array], outputs: Sequence[Array], moving: tuple[int, ...]
    ) -> tuple[AtenLinear, list[Array]]:
        """Return the derivative for the inputs that move, and its residuals."""
        likes = tuple(map(described, outputs))
        # The gradient of a gradient does not need its results.
        known = () if self.gradients else tuple(outputs)
        return AtenLinear(self, len(inputs) + len(known), len(known), moving, likes), [*inputs, *known]


@dataclass(frozen=True)
class AtenLinear:
    """A Linear by PyTorch autograd: the derivative of one call for the inputs that move."""

    call: AtenCall
    residuals: int
    """The number of inputs and given outputs."""
    known: int
    """The number of given outputs: all or none."""
    moving: tuple[int, ...]
    all_outputs: tuple[Like, ...]

    @property
    def outputs(self) -> tuple[Like, ...]:
        """The outputs that have tangents."""
        return tuple(filter(_is_inexact, self.all_outputs))

    def __call__(self, residuals: Sequence[Array], cotangents: Sequence[Array]) -> list[Array]:
        """Return the gradients of the inputs that move."""
        given = iter(cotangents)
        # A gradient in PyTorch is the conjugate of a cotangent in JAX.
        gradients = [
            jnp.conj(next(given)) if _is_inexact(output) else jnp.zeros(output.shape, bool)
            for output in self.all_outputs
        ]
        known = tuple(CODES[output.dtype] for output in self.all_outputs[: self.known])
        kinds = tuple(CODES[output.dtype] if _is_inexact(output) else _NO_GRADIENT for output in self.all_outputs)
        gradient = replace(self.call, gradients=(*self.call.gradients, (known, kinds)))
        found = bind_call(gradient, *residuals, *gradients)
        return [jnp.conj(found[place]) for place in self.moving]


@lru_cache(maxsize=1024)
def _known(function: AtenFunction, args: tuple[Said, ...], kwargs: tuple[tuple[str, Said], ...]) -> AtenCall:
    """Return the call, cached: finding the overload takes longer than most calls."""
    return AtenCall(function, args, kwargs)


def view(operator: AtenOperator) -> AtenFunction:
    """Return the operator as a JAX function; register the handler first."""
    register_handler()
    return AtenFunction(operator)


def _is_inexact(value: Like) -> bool:
    return bool(jnp.issubdtype(value.dtype, jnp.inexact))


def _dtype_name(value: object) -> str | None:
    if not isinstance(value, (type, np.dtype)):
        return None
    try:
        name = np.dtype(value).name
    except TypeError:
        return None
    return name if isinstance(getattr(torch, name, None), torch.dtype) else None


def _read(said: Said) -> object:
    """Return the value that represents an argument when PyTorch selects the overload."""
    match said:
        case ("list", items):
            return [_read(item) for item in items]
        case ("tensor", name):
            return torch.empty((), dtype=getattr(torch, name), device="meta")
        case ("dtype" | "torch", name):
            return getattr(torch, name)
        case ("device", name):
            return torch.device(name)
        case ("float", number):
            return float.fromhex(number)
        case ("complex", (real, imaginary)):
            return complex(float.fromhex(real), float.fromhex(imaginary))
    return said[1]


def _frozen(value: object) -> Any:
    """Convert the lists that JSON made of tuples back to tuples."""
    return tuple(map(_frozen, value)) if isinstance(value, list) else value


def _in_numpy(value: object) -> object:
    return np.asarray(value) if isinstance(value, jax.Array) else value


def _from_numpy(name: str, value: object) -> object:
    if not isinstance(value, np.ndarray):
        return value
    narrow = jax.dtypes.canonicalize_dtype(value.dtype)
    if narrow != value.dtype and value.dtype.kind not in "iu":
        raise UnsupportedError(
            f"{name}: its result is {value.dtype}, which JAX has with 64-bit types enabled only: "
            'jax.config.update("jax_enable_x64", True)'
        )
    return jnp.asarray(value)
