"""A call's way to the framework whose tensors it has: the operators of the process, each by its name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from opbridge._core import Dispatcher, enable_vectorcall
from opbridge.errors import CallError
from opbridge.frameworks import FRAMEWORKS, Framework, brought_framework_of, framework_of
from opbridge.op import Op

Method = TypeVar("Method", bound=Callable[..., None])


def _untraced(method: Method) -> Method:
    """torch.compile runs such a method once, while it traces, instead of tracing it.

    It is what torch.compiler.assume_constant_result does, which is not to be had before torch is imported.  Such a
    method takes no int, which may have become a symbol.
    """
    method._dynamo_marked_constant = True  # type: ignore[attr-defined]
    return method


class NativeOp(Dispatcher, Op):
    """An Op whose call costs no Python: CPython enters the native dispatcher and never reads `__call__` below.

    torch.compile traces Python and does read it; what it finds there is the operator in torch.ops.
    """

    def __init__(self, name: str) -> None:
        self.name = name  # bind makes the rest, each time anew

    def bind(self, runtime: Any, index: int) -> None:
        super().bind(runtime, index)
        self.forget()
        self._torch: Any = None  # what was compiled with the operator's former self guards on this
        self.__doc__ = runtime.schema_text(index)
        Dispatcher.__init__(self, lambda args, kwargs: runtime.callable_for(index, self, args, kwargs))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.torch(*args, **kwargs)

    @property
    def torch(self) -> Any:
        """The operator in `torch.ops`."""
        self._meet_torch()
        return self._torch

    @_untraced
    def _meet_torch(self) -> None:
        self._torch = self._runtime.view(self._index, "torch")


enable_vectorcall(NativeOp)

operators: dict[str, NativeOp] = {}
"""Every operator of the process by full name: defining a name again changes what the one Op of that name does."""


def framework_for(
    name: str, schema: str, args: tuple[object, ...], kwargs: Mapping[str, object]
) -> tuple[Framework, type]:
    """Whose tensors a call has, and the type that decided it."""
    types = [type(value) for value in _leaves((*args, *kwargs.values()))]
    for whose in (framework_of, brought_framework_of):
        for value_type in types:
            found = whose(value_type)
            if found is not None:
                return found, value_type
    got = ", ".join(type(value).__name__ for value in (*args, *kwargs.values())) or "nothing"
    tensors = ", ".join(row.tensor for row in FRAMEWORKS.values())
    raise CallError(
        f"{name}: expected tensors of one framework ({tensors}), got {got}\n  {schema}\n"
        "  an operator without tensor arguments is called through op.torch or op.numpy"
    )


def _leaves(values: tuple[object, ...]) -> list[object]:
    found: list[object] = []
    for value in values:
        found.extend(value if isinstance(value, (list, tuple)) else (value,))
    return found
