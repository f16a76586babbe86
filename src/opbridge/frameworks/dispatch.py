"""Dispatch a call to the framework of its tensors, and keep the operators of the process by name."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from threading import RLock
from typing import Any, Protocol

from opbridge._core import Dispatcher, enable_vectorcall
from opbridge.base.errors import CallError, OpbridgeError, UnsupportedError
from opbridge.frameworks import FRAMEWORKS, Framework, brought_framework_of, framework_of
from opbridge.frameworks.mixing import mixed_frameworks
from opbridge.waist.op import Op, untraced


def static_graph(name: str) -> str:
    """Return why an operator is not called in a Paddle graph."""
    return (
        f"{name} cannot be part of a static graph of Paddle's, as paddle.jit.to_static makes one\n"
        "  call it outside of the function that is made static, on tensors that have values"
    )


class DeclaredLibrary(Protocol):
    """The implementation of operators that are declared by name."""

    def index(self, name: str) -> int:
        """Return the place of an operator in its library."""


class _OfCompiler:
    """The operator of the framework whose compiler asks for this attribute.

    MindSpore's parser would read the source of a property; it gets the value of any other descriptor.
    """

    def __get__(self, op: NativeOp, owner: object = None) -> Any:
        if op._asked_by_mindspore():
            return op.mindspore
        op._expect_torch()
        return op.torch


class NativeOp(Dispatcher, Op):
    """An Op whose call runs no Python: CPython enters the native dispatcher and never reads `__call__` below.

    Compilers of Python source do read it: torch.compile finds the operator in torch.ops there, and MindSpore its Cell.
    """

    _of_compiler = _OfCompiler()

    def __init__(self, name: str) -> None:
        self.name = name  # bind sets the rest, every time

    def bind(self, runtime: Any, index: int) -> None:
        """Connect the Op to an operator of a runtime, replacing an earlier one."""
        super().bind(runtime, index)
        self.forget()
        self._torch: object = None  # programs compiled with the earlier operator guard on this
        self.__doc__ = runtime.schema_text(index)
        Dispatcher.__init__(
            self,
            lambda args, kwargs: runtime.callable_for(index, self, args, kwargs),
            lambda args, kwargs, error: _explained(self.name, args, kwargs, error),
        )

    def __call__(self, *args: object, **kwargs: object) -> Any:
        """Call the operator of the framework that compiles this line; nobody else reads it."""
        return self._of_compiler(*args, **kwargs)

    @property
    def torch(self) -> Any:
        """The operator in `torch.ops`."""
        self._meet_torch()
        return self._torch

    @untraced
    def _expect_torch(self) -> None:
        """Raise unless PyTorch reads `__call__`: Paddle's to_static reads it, too."""
        if "torch" not in sys.modules:
            raise UnsupportedError(static_graph(self.name))

    @untraced
    def _asked_by_mindspore(self) -> bool:
        """Say whether MindSpore's parser asks for `_of_compiler`."""
        return str(sys._getframe(2).f_globals.get("__name__")).startswith("mindspore.")

    @untraced
    def _meet_torch(self) -> None:
        self._torch = self._runtime.view(self._index, "torch")


enable_vectorcall(NativeOp)


class Operators(dict[str, NativeOp]):
    """The operators of a process by full name; redefining a name changes what its one Op does.

    The Ops of libraries are created when they are first requested.
    """

    def __init__(self) -> None:
        self._declared: dict[str, DeclaredLibrary] = {}
        self._lock = RLock()

    def declare(self, names: Sequence[str], runtime: DeclaredLibrary) -> None:
        """Declare operators of a runtime by name, and rebind existing Ops of these names."""
        with self._lock:
            self._declared.update(dict.fromkeys(names, runtime))
            for name in self.keys() & set(names):
                self[name].bind(runtime, runtime.index(name))

    def __missing__(self, name: str) -> NativeOp:
        with self._lock:
            if not dict.__contains__(self, name):
                runtime = self._declared[name]
                op = NativeOp(name)
                op.bind(runtime, runtime.index(name))
                self[name] = op
            return self[name]

    def __contains__(self, name: object) -> bool:
        return dict.__contains__(self, name) or name in self._declared


operators = Operators()


def _explained(name: str, args: tuple[Any, ...], kwargs: Mapping[str, Any], error: Exception) -> BaseException | None:
    """Return the error to raise instead of the one of a framework; None to keep that."""
    if isinstance(error, OpbridgeError) and "one framework" in str(error):
        return None
    better = mixed_frameworks(name, args, kwargs)
    if better is not None:
        better.__cause__ = error
    return better


def framework_for(
    name: str, schema: str, args: tuple[object, ...], kwargs: Mapping[str, object]
) -> tuple[Framework, type]:
    """Return the framework of the tensors in a call, and the type that decided it.

    Raises:
        CallError: No argument is a tensor of a known framework.
    """
    types = [type(value) for value in _leaves((*args, *kwargs.values()))]
    for whose in (framework_of, brought_framework_of):
        for value_type in types:
            found = whose(value_type)
            if found is not None:
                return found, value_type
    got = ", ".join(type(value).__name__ for value in (*args, *kwargs.values())) or "nothing"
    tensors = ", ".join(row.tensor for row in FRAMEWORKS.values())
    views = ", ".join(f"op.{row.name}" for row in FRAMEWORKS.values() if row.runs_aten)
    raise CallError(
        f"{name}: expected tensors of one framework ({tensors}), got {got}\n  {schema}\n"
        f"  an operator without tensor arguments is called through a framework's view: {views}"
    )


def _leaves(values: tuple[object, ...]) -> list[object]:
    found: list[object] = []
    for value in values:
        found.extend(value if isinstance(value, (list, tuple)) else (value,))
    return found
