"""What stands behind the operators of one library: their plan, their kernels, and what each framework made of them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

from opbridge._core import Dispatcher, Kernel, enable_vectorcall
from opbridge.errors import CallError
from opbridge.frameworks import FRAMEWORKS, Framework, adapter, framework_of, installed
from opbridge.native.catalog import Catalog
from opbridge.op import Op, OpLibrary
from opbridge.sources import KernelStore

if TYPE_CHECKING:
    from opbridge.manifest import OpSpec

Reopen = tuple[Callable[..., OpLibrary | Op], tuple[object, ...]]


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


class LibraryRuntime:
    def __init__(
        self, catalog: Catalog, kernels: KernelStore, specs: Callable[[], tuple[OpSpec, ...]], reopen: Reopen
    ) -> None:
        self.catalog = catalog
        self.kernels = kernels
        self._read_specs = specs
        self._reopen = reopen
        self._defined: set[str] = set()
        self._views: dict[tuple[int, str], Any] = {}
        self._calls: dict[tuple[int, str], Callable[..., Any]] = {}
        for index, entry in enumerate(catalog.entries):
            # All at once: a dictionary that grew while torch.compile traces would not be seen to have grown.
            if entry.name not in operators:
                operators[entry.name] = NativeOp(entry.name)
            operators[entry.name].bind(self, index)
        for framework in FRAMEWORKS.values():
            if framework.finds_by_name and framework.packages[0] in sys.modules:
                self._define(framework.name)
        if any(entry.operator for entry in catalog.entries) and installed(FRAMEWORKS["torch"]):
            self._define("torch")  # which holds their schemas against PyTorch's

    @cached_property
    def specs(self) -> tuple[OpSpec, ...]:
        return self._read_specs()

    def library(self) -> OpLibrary:
        names = tuple(entry.name for entry in self.catalog.entries)
        return OpLibrary(self.catalog.namespace, names, self.op)

    def op(self, index: int) -> Op:
        return operators[self.catalog.entries[index].name]

    def spec(self, index: int) -> OpSpec:
        return self.specs[index]

    def schema_text(self, index: int) -> str:
        return self.catalog.entries[index].schema

    def kernel(self, index: int, device: str) -> Kernel:
        return self.kernels.kernel(index, device)

    def view(self, index: int, framework: str) -> Any:
        if (index, framework) not in self._views:
            self._views[index, framework] = self._made(index, framework, "view")
        return self._views[index, framework]

    def callable_for(self, index: int, op: Op, args: tuple[object, ...], kwargs: Mapping[str, object]) -> Any:
        """What a call with these arguments runs; remembered by the type of the argument that decided."""
        entry = self.catalog.entries[index]
        framework, decided_by = framework_for(entry.name, entry.schema, args, kwargs)
        place = (index, framework.name)
        if place not in self._calls:
            self._calls[place] = self._made(index, framework.name, "call")
        if isinstance(op, NativeOp):
            op.remember(decided_by, self._calls[place])
        return self._calls[place]

    def reopen(self, index: int) -> tuple[Callable[..., Op], tuple[object, ...]]:
        return _reopened, (*self._reopen, self.catalog.entries[index].name)

    def _made(self, index: int, framework: str, what: str) -> Any:
        entry = self.catalog.entries[index]
        if entry.operator is not None and framework != "torch":
            self._define("torch")
            from opbridge.frameworks.aten.operators import AtenOperator, view

            return view(AtenOperator.registered(entry.name), framework)
        self._define(framework)
        return getattr(adapter(framework), what)(self, index)

    def _define(self, framework: str) -> None:
        if framework not in self._defined:
            adapter(framework).define(self)
            self._defined.add(framework)


def framework_for(
    name: str, schema: str, args: tuple[object, ...], kwargs: Mapping[str, object]
) -> tuple[Framework, type]:
    """Whose tensors a call has, and the type that decided it."""
    for value in _leaves((*args, *kwargs.values())):
        framework = framework_of(type(value))
        if framework is not None:
            return framework, type(value)
    got = ", ".join(type(value).__name__ for value in (*args, *kwargs.values())) or "nothing"
    tensors = ", ".join(framework.tensor for framework in FRAMEWORKS.values())
    raise CallError(
        f"{name}: expected tensors of one framework ({tensors}), got {got}\n  {schema}\n"
        "  an operator without tensor arguments is called through op.torch or op.numpy"
    )


def _leaves(values: tuple[object, ...]) -> list[object]:
    found: list[object] = []
    for value in values:
        found.extend(value if isinstance(value, (list, tuple)) else (value,))
    return found


def _reopened(load: Callable[..., OpLibrary | Op], arguments: tuple[object, ...], name: str) -> Op:
    if name in operators:
        return operators[name]
    loaded = load(*arguments)
    return loaded if isinstance(loaded, Op) else loaded[name.removeprefix(f"{loaded.namespace}::")]
