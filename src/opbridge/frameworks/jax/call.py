"""What JAX's programs hold of one call: everything but the sizes and contents of its tensors."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any, Protocol

import jax
import numpy as np

from opbridge.errors import UnsupportedError
from opbridge.rules.sharding import Layout, Shape

Array = Any
"""An array or a tracer."""
Like = Any
"""Whatever has a shape and a dtype."""


class Linear(Protocol):
    """A function of tangents that is linear in them, given by its transpose; hashable."""

    @property
    def residuals(self) -> int:
        """How many values beside tangents and cotangents it takes."""

    @property
    def outputs(self) -> tuple[Like, ...]:
        """What it returns: the tangents of those outputs of the operator that have some."""

    def __call__(self, residuals: Sequence[Array], cotangents: Sequence[Array]) -> Sequence[Array]:
        """The transpose: from cotangents of outputs to those of inputs."""


class Call(Protocol):
    """A call of an operator with its attributes, for tensors of certain element types; hashable."""

    @property
    def name(self) -> str: ...

    @property
    def text(self) -> str:
        """What a program holds of it; any process that loads the operator's library knows what it means."""

    @property
    def devices(self) -> tuple[str, ...]:
        """Those it has kernels for."""

    @property
    def written(self) -> tuple[int, ...]:
        """The inputs it writes to: their new values are the first outputs."""

    @property
    def elementwise(self) -> bool:
        """Whether every element is treated alone, so that more dimensions are more elements."""

    @property
    def broadcasts(self) -> bool:
        """Whether an elementwise one takes inputs of different shapes."""

    @property
    def leads(self) -> tuple[bool, ...]:
        """Which inputs may have more leading dimensions; empty where that is not known."""

    @property
    def advice(self) -> str:
        """What to do about jax.vmap calling it slice by slice; empty where that is accepted."""

    def layout(self, inputs: Sequence[Shape], outputs: Sequence[Shape]) -> Layout | None:
        """How it may be divided over devices, for tensors and new outputs of these shapes; None where nobody knows."""

    def target(self, device: str | None = None) -> object:
        """A capsule with the Target of native/target.h."""

    def outputs(self, inputs: Sequence[Like]) -> list[jax.ShapeDtypeStruct]:
        """What the kernel writes, with the element types it writes."""

    @property
    def returns(self) -> bool:
        """Whether it has outputs; one that has none runs for what it does elsewhere."""

    def arranged(self, outputs: Sequence[Array]) -> Any:
        """The outputs as the caller gets them."""

    def pullback(
        self, inputs: Sequence[Array], outputs: Sequence[Array], moving: tuple[int, ...]
    ) -> tuple[Linear, list[Array]]:
        """The derivative with respect to the inputs that move, and its residuals."""


def in_program(call: Call) -> dict[str, Any]:
    """What a program holds of a call, as the handler looks for it: the digest finds what was found before."""
    digest = hashlib.sha256(call.text.encode()).digest()[:8]
    return {"call": call.text, "digest": np.int64(int.from_bytes(digest, "little", signed=True))}


def in_jax(call: Call, dtype: np.dtype[Any], what: str) -> np.dtype[Any]:
    """The element type that JAX has for what a kernel writes: integers are narrowed as JAX narrows its own."""
    narrow: np.dtype[Any] = jax.dtypes.canonicalize_dtype(dtype)
    if narrow != dtype and dtype.kind not in "iu":
        raise UnsupportedError(
            f"{call.name}: {what} is {dtype}, which JAX has with 64-bit types enabled only: "
            'jax.config.update("jax_enable_x64", True)'
        )
    return narrow
