"""The interface of a framework in a trial: its tensors, and the module that handles them (`jax_values`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class Tensor(Protocol):
    """The part of a framework's tensor that a trial uses."""

    @property
    def shape(self) -> Sequence[int]:
        """The sizes."""

    @property
    def dtype(self) -> object:
        """The element type of the framework."""

    @property
    def ndim(self) -> int:
        """The number of sizes."""

    def sum(self) -> Tensor:
        """Return the sum of all elements."""

    def transpose(self, first: int, second: int, /) -> Tensor:
        """Return the tensor with two dimensions exchanged."""

    def contiguous(self) -> Tensor:
        """Return the tensor without gaps; only frameworks with views have this."""

    def __mul__(self, other: Tensor, /) -> Tensor: ...

    def __add__(self, other: Tensor, /) -> Tensor: ...


class Layout(Protocol):
    """A way in which the tensors of a trial lie in memory."""

    def turned(self, tensor: Tensor) -> Tensor:
        """Return the view of a copy in which it holds the tensor that was copied."""

    def copied(self, tensor: Tensor) -> Tensor:
        """Return the tensor whose view is the given one."""


class TrialFramework(Protocol):
    """A module that handles a framework's tensors."""

    @property
    def VERSION(self) -> str:  # noqa: N802
        """The version of the framework."""

    @property
    def TENSOR(self) -> type[Tensor]:  # noqa: N802
        """The class of its tensors."""

    @property
    def ROOT(self) -> ModuleType:  # noqa: N802
        """The module below which its functions are."""

    @property
    def FUNCTIONS(self) -> ModuleType:  # noqa: N802
        """The module with its `real`."""

    @property
    def LAYOUTS(self) -> Sequence[Layout]:  # noqa: N802
        """The layouts in which its gradients are tried."""

    def prepare(self) -> None:
        """Configure the framework for a trial."""

    def device(self) -> str:
        """Return the device of the trial, for which the verdicts hold."""

    def called(self, function: Callable[..., object], args: tuple[object, ...], kwargs: dict[str, object]) -> object:
        """Call a function as a network of this framework does."""

    def leaf(self, value: object) -> object:
        """Return a PyTorch tensor or element type as that of this framework, and other values unchanged."""

    def dtype_of(self, tensor: Tensor) -> str:
        """Return the element type by its PyTorch name."""

    def numbers_of(self, tensor: Tensor) -> NDArray[np.generic]:
        """Return a tensor as a NumPy array; bfloat16 is widened to float32."""

    def gradients(self, total: Callable[..., object], tensors: Sequence[object]) -> Sequence[Tensor]:
        """Return the gradients of a function by all its tensors."""
