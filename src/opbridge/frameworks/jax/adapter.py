"""Provide operators in JAX as functions that support every transformation, with one XLA handler for all of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from opbridge.frameworks.jax.handler import forget_operators, handler_or_reason
from opbridge.frameworks.jax.library import LibraryOperator
from opbridge.frameworks.jax.operator import JaxOperator
from opbridge.frameworks.jax.uncompiled import say_once

if TYPE_CHECKING:
    from opbridge.frameworks.interface import Library


def define(library: Library) -> None:
    """Make programs look operators up again: JAX keeps no table of operators, but programs find them by name."""
    forget_operators()


def view(library: Library, index: int) -> JaxOperator:
    """Return the operator as a JAX function; warn if the native handler cannot be built."""
    if reason := handler_or_reason():
        say_once(str(reason))
    return JaxOperator(LibraryOperator(library, index))


def call(library: Library, index: int) -> Callable[..., object]:
    """Return the view, which runs calls too."""
    function: JaxOperator = library.view(index, "jax")
    return function
