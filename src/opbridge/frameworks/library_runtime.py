"""Run the operators of one library: their plan, their kernels, and what each framework made of them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING, Any

from opbridge._core import Kernel
from opbridge.base.errors import ToolchainError
from opbridge.build.sources import KernelStore
from opbridge.frameworks import FRAMEWORKS, adapter, installed, names
from opbridge.frameworks.dispatch import NativeOp, framework_for, operators
from opbridge.frameworks.pickling import pickle_by_operator
from opbridge.native.catalog import Catalog
from opbridge.waist.op import Op, OpLibrary

if TYPE_CHECKING:
    from opbridge.waist.manifest import OpSpec

Reopen = tuple[Callable[..., OpLibrary | Op], tuple[object, ...]]


class LibraryRuntime:
    """The runtime of one library, which every framework adapter receives as its Library."""

    def __init__(
        self, catalog: Catalog, kernels: KernelStore, specs: Callable[[], tuple[OpSpec, ...]], reopen: Reopen
    ) -> None:
        self.catalog = catalog
        self.kernels = kernels
        self._read_specs = specs
        self._reopen = reopen
        self._defined: set[str] = set()
        self._views: dict[tuple[int, str], object] = {}
        self._calls: dict[tuple[int, str], Callable[..., object]] = {}
        self._index = dict(zip(catalog.names, range(len(catalog.names)), strict=True))
        operators.declare(catalog.names, self)
        for framework in FRAMEWORKS.values():
            if framework.finds_by_name and framework.packages[0] in sys.modules:
                with suppress(ToolchainError):  # reported when the framework is called; others continue
                    self._define(framework.name)
        if any(ref.operator for kernels in catalog.kernels for ref in kernels) and installed(FRAMEWORKS["torch"]):
            self._define("torch")  # compares their schemas with those of PyTorch

    @cached_property
    def specs(self) -> tuple[OpSpec, ...]:
        """The declarations, read on first use."""
        return self._read_specs()

    def library(self) -> OpLibrary:
        """Return the library that users hold."""
        return _library(*self._reopen, self.catalog.namespace, self.catalog.names)

    def index(self, name: str) -> int:
        """Return the place of an operator in the catalog."""
        return self._index[name]

    def op(self, index: int) -> Op:
        """Return the Op that users hold, whichever library defined it last."""
        return operators[self.catalog.names[index]]

    def spec(self, index: int) -> OpSpec:
        """Return the schema and rules of an operator."""
        return self.specs[index]

    def schema_text(self, index: int) -> str:
        """Return the schema as text, without reading a declaration."""
        return self.catalog.entries[index].schema

    def kernel(self, index: int, device: str) -> Kernel:
        """Return the kernel, building it on first use."""
        return self.kernels.kernel(index, device)

    def frameworks(self) -> tuple[str, ...]:
        """Return the names of all frameworks."""
        return names()

    def view(self, index: int, framework: str) -> Any:
        """Return the view of an operator in a framework, creating it on first use."""
        if (index, framework) not in self._views:
            self._views[index, framework] = self._made(index, framework, "view")
            pickle_by_operator(self._views[index, framework], self.op(index), framework)
        return self._views[index, framework]

    def callable_for(self, index: int, op: Op, args: tuple[object, ...], kwargs: Mapping[str, object]) -> Any:
        """Return what runs a call with these arguments; remember it for the type of the argument that decided."""
        entry = self.catalog.entries[index]
        framework, decided_by = framework_for(entry.name, entry.schema, args, kwargs)
        place = (index, framework.name)
        if place not in self._calls:
            self._calls[place] = self._made(index, framework.name, "call")
        if isinstance(op, NativeOp):
            op.remember(decided_by, self._calls[place])
        return self._calls[place]

    def reopen(self, index: int) -> tuple[Callable[..., Op], tuple[object, ...]]:
        """Return the function and arguments that open an operator again when it is unpickled."""
        return _reopened, (*self._reopen, self.catalog.names[index])

    def _made(self, index: int, framework: str, what: str) -> Any:
        entry = self.catalog.entries[index]
        if entry.operator is not None and framework != "torch":
            self._define("torch")
            from opbridge.frameworks.aten.aten_operator import AtenOperator
            from opbridge.frameworks.aten.aten_runtime import view

            return view(AtenOperator.registered(entry.name), framework)
        self._define(framework)
        return getattr(adapter(framework), what)(self, index)

    def _define(self, framework: str) -> None:
        if framework not in self._defined:
            adapter(framework).define(self)
            self._defined.add(framework)


def _library(
    load: Callable[..., OpLibrary | Op], arguments: tuple[object, ...], namespace: str, names: tuple[str, ...]
) -> OpLibrary:
    reopen = (_reopened_library, (load, arguments, namespace, names))
    return OpLibrary(namespace, names, operators.__getitem__, reopen)


def _reopened_library(
    load: Callable[..., OpLibrary], arguments: tuple[object, ...], namespace: str, names: tuple[str, ...]
) -> OpLibrary:
    known = all(name in operators for name in names)
    return _library(load, arguments, namespace, names) if known else load(*arguments)


def _reopened(load: Callable[..., OpLibrary | Op], arguments: tuple[object, ...], name: str) -> Op:
    if name in operators:
        return operators[name]
    loaded = load(*arguments)
    return loaded if isinstance(loaded, Op) else loaded[name.removeprefix(f"{loaded.namespace}::")]
