"""Define the modules that the folder of a framework provides, and what they receive.

Other packages can implement this interface.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from opbridge._core import Kernel
    from opbridge.build.sources import KernelStore
    from opbridge.native.catalog import Catalog
    from opbridge.waist.manifest import OpSpec
    from opbridge.waist.op import Op


class Library(Protocol):
    """The operators of one library, each identified by its place in the catalog."""

    catalog: Catalog
    """Names, schemas and the plan, which need no declaration to be read."""
    kernels: KernelStore

    def spec(self, index: int) -> OpSpec:
        """Return the schema and rules of an operator."""

    def op(self, index: int) -> Op:
        """Return the Op that users hold, whichever library defined it last."""

    def schema_text(self, index: int) -> str:
        """Return the schema as text, without reading a declaration."""

    def kernel(self, index: int, device: str) -> Kernel:
        """Return the kernel, building it on first use."""

    def view(self, index: int, framework: str) -> Any:
        """Return the view of an operator in a framework, such as `op.numpy`."""


class Adapter(Protocol):
    """The interface of the module `adapter`."""

    def define(self, library: Library) -> None:
        """Make every operator of the library known to the framework, once."""

    def view(self, library: Library, index: int) -> Any:
        """Return the native object of the framework for an operator; unlike a function, an instance can be pickled."""

    def call(self, library: Library, index: int) -> Callable[..., Any]:
        """Return what `op(...)` runs when the arguments are tensors of the framework."""


class AtenAdapter(Protocol):
    """The interface of the module `aten`, for frameworks that `ob.aten` supports."""

    def view(self, operator: object) -> Any:
        """Return the native object of the framework for an AtenOperator."""
