"""Define what a JAX program stores about a call: everything except the sizes and contents of its tensors."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any, Protocol

import jax
import numpy as np

from opbridge.base.errors import UnsupportedError
from opbridge.waist.rules.sharding import Layout, Shape

Array = Any
"""An array or a tracer."""
Like = Any
"""Anything with a shape and a dtype."""


class Linear(Protocol):
    """A linear function of tangents, given by its transpose; hashable."""

    @property
    def residuals(self) -> int:
        """The number of values that it takes in addition to tangents and cotangents."""

    @property
    def outputs(self) -> tuple[Like, ...]:
        """What it returns: the tangents of the operator outputs that have some."""

    def __call__(self, residuals: Sequence[Array], cotangents: Sequence[Array]) -> Sequence[Array]:
        """Apply the transpose: convert cotangents of the outputs to cotangents of the inputs."""


class Call(Protocol):
    """A call of an operator with its attributes, for tensors of certain element types; hashable."""

    @property
    def name(self) -> str:
        """The full name of the operator."""

    @property
    def text(self) -> str:
        """The representation in a program; any process that loads the library of the operator can read it."""

    @property
    def devices(self) -> tuple[str, ...]:
        """The devices that it has kernels for."""

    @property
    def written(self) -> tuple[int, ...]:
        """The inputs that it writes to; their new values are the first outputs."""

    @property
    def elementwise(self) -> bool:
        """Whether every element is treated alone, so that more dimensions are just more elements."""

    @property
    def broadcasts(self) -> bool:
        """Whether inputs that take a batch may differ in rank."""

    @property
    def least_ranks(self) -> tuple[int | None, ...]:
        """The number of dimensions that a sample of each input has at least, None if it takes no batch.

        Empty if that is unknown.
        """

    @property
    def advice(self) -> str:
        """What to do if jax.vmap calls it slice by slice; empty if that is accepted."""

    def layout(self, inputs: Sequence[Shape], outputs: Sequence[Shape]) -> Layout | None:
        """Return how it may be divided over devices, for these input and new output shapes; None if unknown."""

    def target(self, device: str | None = None) -> object:
        """Return a capsule with the Target of native/target.h."""

    def outputs(self, inputs: Sequence[Like]) -> list[jax.ShapeDtypeStruct]:
        """Return the shapes and element types that the kernel writes."""

    @property
    def returns(self) -> bool:
        """Whether it has outputs; without outputs it runs for its side effects."""

    def arranged(self, outputs: Sequence[Array]) -> object:
        """Return the outputs as the caller gets them."""

    def pullback(
        self, inputs: Sequence[Array], outputs: Sequence[Array], moving: tuple[int, ...]
    ) -> tuple[Linear, list[Array]]:
        """Return the derivative for the inputs that move, and its residuals."""


def in_program(call: Call) -> dict[str, object]:
    """Return the attributes of a call in a program; the handler finds cached calls by the digest."""
    digest = hashlib.sha256(call.text.encode()).digest()[:8]
    return {"call": call.text, "digest": np.int64(int.from_bytes(digest, "little", signed=True))}


def in_jax(call: Call, dtype: np.dtype[Any], what: str) -> np.dtype[Any]:
    """Return the JAX element type for what a kernel writes; integers are narrowed as JAX narrows its own.

    Raises:
        UnsupportedError: Another type needs 64-bit types, which are not enabled.
    """
    narrow: np.dtype[Any] = jax.dtypes.canonicalize_dtype(dtype)
    if narrow != dtype and dtype.kind not in "iu":
        raise UnsupportedError(
            f"{call.name}: {what} is {dtype}, which JAX has with 64-bit types enabled only: "
            'jax.config.update("jax_enable_x64", True)'
        )
    return narrow
