"""Provide `op.jax`: a function of JAX arrays and of anything that JAX traces."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, NoReturn

import jax
import jax.numpy as jnp
import numpy as np

from opbridge._core import PrimitiveTable
from opbridge.base.errors import CallError, KernelError
from opbridge.frameworks.jax.formula_functions import CODES
from opbridge.frameworks.jax.library import Kinds, LibraryCall, LibraryOperator
from opbridge.frameworks.jax.run import RUNTIME_ERRORS, compiled, is_traced, traced, translated
from opbridge.waist.rules import DTYPE_CODES
from opbridge.waist.schema import Argument

if TYPE_CHECKING:
    import inspect


class JaxOperator:
    """An operator as a function for `jax.jit`, `jax.grad`, `jax.vmap` and other transformations."""

    def __init__(self, operator: LibraryOperator) -> None:
        schema = operator.schema
        self.operator = operator
        self.__name__ = schema.name
        self.__doc__ = str(schema)
        self._table: PrimitiveTable | None = None

    def __call__(self, *args: object, **kwargs: object) -> Any:
        """Run the operator on arrays or on values that JAX traces."""
        try:
            return (self._table or self._made_table())(*args, **kwargs)
        except RUNTIME_ERRORS as error:
            raise translated(self.operator.name, error) from None

    def __repr__(self) -> str:
        return f"<jax function {self.operator.schema}>"

    @property
    def __signature__(self) -> inspect.Signature:
        from opbridge.waist.op import signature_of

        return signature_of(self.operator.schema)

    def target_of(self, said: Mapping[str, Any], device: str) -> object:
        """Return the Target of a call from its form in a program; raise KernelError if the declaration changed."""
        operator = self.operator
        if operator.declared != said["declared"]:
            raise KernelError(
                f"{operator.name} is declared otherwise than when this program was made; trace or export it again: "
                f"now it is {operator.schema}"
            )
        return operator.target(operator.attributes(said["attributes"]), _coded(said["tensors"]), device)

    def _made_table(self) -> PrimitiveTable:
        schema = self.operator.schema
        self._table = PrimitiveTable(
            self.operator.name,
            str(schema),
            [(item.name, not item.has_default, item.is_tensor) for item in schema.arguments],
            len(schema.positional),
            _array_type(),
            dict(CODES),
            self._function_for,
        )
        return self._table

    def _function_for(self, arguments: Mapping[str, object]) -> Callable[..., object]:
        """Return the function that runs on the tensors of a call with these arguments."""
        schema = self.operator.schema
        kinds = tuple(self._kind(item, arguments.get(item.name)) for item in schema.tensor_arguments)
        attributes = {
            item.name: self._attribute(item, arguments[item.name])
            for item in schema.attributes
            if item.name in arguments
        }
        call = LibraryCall(self.operator, self.operator.attributes(attributes), kinds)
        return traced(call) if any(map(is_traced, jax.tree.leaves(dict(arguments)))) else compiled(call)

    def _kind(self, argument: Argument, value: object) -> object:
        if "[" not in str(argument.type):
            return self._tensor_kind(argument, argument.name, value, argument.type.is_optional)
        if value is None and argument.type.is_optional:
            return None
        if not isinstance(value, (list, tuple)):
            self._refuse(argument, argument.name, value)
        optional = "?[" in str(argument.type)
        return tuple(
            self._tensor_kind(argument, f"{argument.name}[{place}]", item, optional) for place, item in enumerate(value)
        )

    def _tensor_kind(self, argument: Argument, name: str, value: object, optional: bool) -> int | None:
        if value is None and optional:
            return None
        if not isinstance(value, (jax.Array, np.ndarray)):
            self._refuse(argument, name, value)
        if value.dtype not in CODES:
            raise CallError(
                f"{self.operator.name}: argument '{name}' has elements of type {value.dtype}, which kernels do not "
                "take; convert it, as with .astype(jax.numpy.float32)"
            )
        if isinstance(value, np.ndarray) and jax.dtypes.canonicalize_dtype(value.dtype) != value.dtype:
            raise CallError(
                f"{self.operator.name}: argument '{name}' is a NumPy array of {value.dtype}, which JAX has with 64-bit "
                'types enabled only: jax.config.update("jax_enable_x64", True), or convert it with .astype'
            )
        return CODES[value.dtype]

    def _refuse(self, argument: Argument, name: str, value: object) -> NoReturn:
        kind = type(value)
        got = kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
        is_list = "[" in str(argument.type)
        expected = "a list of jax.Array" if is_list and name == argument.name else "a jax.Array"
        hint = ""
        if is_list and name == argument.name:
            hint = "; write [x] for one array"
        elif hasattr(value, "__dlpack__") or hasattr(value, "__array__"):
            hint = f"; the tensors of a call come from one framework: write jax.numpy.asarray({argument.name})"
        elif isinstance(value, (bool, int, float, complex)):
            hint = f"; write jax.numpy.asarray({value!r}, dtype=...)"
        raise CallError(f"{self.operator.name}: argument '{name}' expects {expected}, got {got}{hint}")

    def _attribute(self, argument: Argument, value: object) -> object:
        """Return the value as NumPy represents it, which the native reader of attributes accepts."""
        if isinstance(value, (list, tuple)):
            return [self._attribute(argument, item) for item in value]
        if is_traced(value):
            raise CallError(
                f"{self.operator.name}: argument '{argument.name}' ({argument.type}) expects a constant, got "
                f"{jax.typeof(value).str_short()} that is traced; pass a Python number, mark the argument static "
                f"(static_argnames of jax.jit), or declare '{argument.name}' as a Tensor"
            )
        if isinstance(value, jax.Array) and value.ndim == 0:
            return np.asarray(value)[()]
        return value


@cache
def _array_type() -> type:
    """Return the type of concrete arrays; call this late, because it makes JAX find its devices."""
    with jax.ensure_compile_time_eval():
        return type(jnp.zeros(()))


def _coded(kinds: list[Any]) -> Kinds:
    return tuple(
        _coded(kind) if isinstance(kind, list) else None if kind is None else DTYPE_CODES[kind] for kind in kinds
    )
