"""Find the element types that two kernels have in common."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from opbridge.base.errors import InputError
from opbridge.verify.check.kernel_declarations import KernelFacts
from opbridge.waist.schema import Schema

Types = Mapping[str, str]
"""The element type of each tensor argument."""


def common(
    schema: Schema, original: KernelFacts, port: KernelFacts, wanted: Sequence[str]
) -> Iterator[tuple[str, Types]]:
    """Yield each common value of the type parameter, and the element types of the tensors for it.

    Raises:
        InputError: The kernels have no type in common, or one does not declare its types and `wanted` is
            empty.
    """
    offered = tuple(dict.fromkeys((*original.dtypes, *port.dtypes)))
    if len(offered) > 1 and not wanted and not (_says(original) and _says(port)):
        side = "port" if _says(original) else "original"
        raise InputError(
            f"the {side} of {schema.name} does not say what its elements are, and the other kernel takes "
            f"{', '.join(offered)}",
            hint=f"say which both are for: --dtype {offered[0]}",
        )
    found = False
    for dtype in wanted or offered or ("float32",):
        first, second = _types(schema, original, dtype), _types(schema, port, dtype)
        if first is not None and second is not None and (both := _merged(first, second, dtype)) is not None:
            found = True
            yield dtype, both
    if not found:
        raise InputError(
            f"the kernels of {schema.name} have no element type in common: {_told(original)} and {_told(port)}"
        )


def _says(facts: KernelFacts) -> bool:
    return bool(facts.dtypes or facts.fixed)


def _types(schema: Schema, facts: KernelFacts, dtype: str) -> dict[str, str | None] | None:
    """Return the type of each tensor (None if any is accepted), or None if the kernel does not support `dtype`."""
    if facts.dtypes and dtype not in facts.dtypes:
        return None
    free = facts.free or frozenset()
    return {one.name: facts.fixed.get(one.name, dtype if one.name in free else None) for one in schema.tensor_arguments}


def _merged(first: Mapping[str, str | None], second: Mapping[str, str | None], dtype: str) -> Types | None:
    if any(None not in (first[name], second[name]) and first[name] != second[name] for name in first):
        return None
    return {name: first[name] or second[name] or dtype for name in first}


def _told(facts: KernelFacts) -> str:
    fixed = (f"{name} of {dtype}" for name, dtype in facts.fixed.items())
    return ", ".join((*facts.dtypes, *fixed)) or "any"
