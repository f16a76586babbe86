"""What a framework's folder offers and what it is given: the contract of opbridge.frameworks, open to others."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from opbridge._core import Kernel
    from opbridge.manifest import OpSpec
    from opbridge.native.catalog import Catalog
    from opbridge.op import Op
    from opbridge.sources import KernelStore


class Library(Protocol):
    """The operators of one library, each by its place in the catalog."""

    catalog: Catalog
    """Names, schemas and the plan: known without reading any declaration."""
    kernels: KernelStore

    def spec(self, index: int) -> OpSpec:
        """Schema and rules."""

    def op(self, index: int) -> Op:
        """What a user holds, whichever library defined it last."""

    def schema_text(self, index: int) -> str:
        """Without reading any declaration."""

    def kernel(self, index: int, device: str) -> Kernel:
        """Built where it has not been."""

    def view(self, index: int, framework: str) -> Any:
        """What `op.numpy` and the others are."""


class Adapter(Protocol):
    """The module `adapter`."""

    def define(self, library: Library) -> None:
        """Make every operator of the library known to the framework, once."""

    def view(self, library: Library, index: int) -> Any:
        """The framework's own object for an operator; one of a class, unlike a function, can be pickled."""

    def call(self, library: Library, index: int) -> Callable[..., Any]:
        """What `op(...)` runs when the framework's tensors are its arguments."""


class AtenAdapter(Protocol):
    """The module `aten`, of frameworks that `ob.aten` reaches."""

    def view(self, operator: Any) -> Any:
        """The framework's own object for an AtenOperator."""
