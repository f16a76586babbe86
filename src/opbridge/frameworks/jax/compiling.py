"""Compile a call so that only the arrays among its arguments are traced."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import jax


def compiled(
    function: Callable[..., object], args: Sequence[object], kwargs: dict[str, object]
) -> tuple[Callable[..., object], list[object]]:
    """Return a compiled function of the arrays among the arguments, and these arrays."""
    leaves, structure = jax.tree_util.tree_flatten((args, kwargs))
    places = [place for place, leaf in enumerate(leaves) if isinstance(leaf, jax.Array)]

    def of_arrays(*arrays: object) -> object:
        given = list(leaves)
        for place, array in zip(places, arrays, strict=True):
            given[place] = array
        positional, named = jax.tree_util.tree_unflatten(structure, given)
        return function(*positional, **named)

    return jax.jit(of_arrays), [leaves[place] for place in places]
