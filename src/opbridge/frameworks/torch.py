"""Operators in PyTorch: registered with its dispatcher by the native adapter, so that all of PyTorch applies to them."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any

import torch

from opbridge.frameworks.torch_adapter import load_native

if TYPE_CHECKING:
    from opbridge.frameworks.runtime import LibraryRuntime


class RedefinitionWarning(UserWarning):
    """An operator was defined again with another schema."""


@cache
def _native() -> Any:
    return load_native()


def define(library: LibraryRuntime) -> None:
    native = _native()
    for index, entry in enumerate(library.catalog.entries):
        old = native.define(library.catalog.plan, index, _finder(library, index))
        if old:
            _forget(entry.name)
            warnings.warn(
                f"{entry.name} was defined again with another schema; compiled and exported programs keep the old one\n"
                f"  before: {old}\n  now:    {entry.schema}",
                RedefinitionWarning,
                stacklevel=6,
            )


def view(library: LibraryRuntime, index: int) -> Any:
    """torch.ops.ns.name, or torch.ops.ns.name.overload where there is one."""
    namespace, name, overload = _parts(library, index)
    packet = getattr(getattr(torch.ops, namespace), name)
    return getattr(packet, overload) if overload else packet


def call(library: LibraryRuntime, index: int) -> Callable[..., Any]:
    namespace, name, overload = _parts(library, index)
    packet = getattr(getattr(torch.ops, namespace), name)
    native: Callable[..., Any] = _native().callable(
        library.catalog.entries[index].name, getattr(packet, overload or "default")
    )
    return native


def _parts(library: LibraryRuntime, index: int) -> tuple[str, str, str]:
    namespace, _, rest = library.catalog.entries[index].name.partition("::")
    name, _, overload = rest.partition(".")
    return namespace, name, overload


def _finder(library: LibraryRuntime, index: int) -> Callable[[str], tuple[int, int, str]]:
    def find(device: str) -> tuple[int, int, str]:
        kernel = library.kernel(index, device)
        return kernel.address, kernel.signature_address, kernel.symbol

    return find


def _forget(name: str) -> None:
    """torch.ops keeps what it has looked up."""
    namespace, _, rest = name.partition("::")
    vars(getattr(torch.ops, namespace)).pop(rest.partition(".")[0], None)
