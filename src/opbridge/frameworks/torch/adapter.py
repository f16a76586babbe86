"""Register operators with the PyTorch dispatcher by the native adapter, so that all PyTorch features apply."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import torch

from opbridge.base.errors import CallError, KernelError, OpbridgeError, UnsupportedError
from opbridge.frameworks.import_hooks import when_imported
from opbridge.frameworks.torch import added_rules, flops
from opbridge.frameworks.torch.fake_outputs import bound, fake_outputs
from opbridge.frameworks.torch.native import native_or_reason
from opbridge.frameworks.torch.uncompiled import library_registration as uncompiled

if TYPE_CHECKING:
    from opbridge.frameworks.interface import Library


class RedefinitionWarning(UserWarning):
    """An operator was defined again with another schema."""


def define(library: Library) -> None:
    """Register all operators of a library; warn if one had another schema before.

    Raises:
        UnsupportedError: PyTorch refuses an operator.
    """
    native = native_or_reason()
    for index, entry in enumerate(library.catalog.entries):
        try:
            if isinstance(native, OpbridgeError):
                old = uncompiled.define(library, index, native)
            else:
                old = native.define(
                    library.catalog.plan, index, _finder(library, index), added_rules.forward(library, index)
                )
        except RuntimeError as error:
            reason = str(error).partition("\n")[0]
            raise UnsupportedError(f"{entry.name}: PyTorch refuses the operator: {reason}\n  {entry.schema}") from error
        if old:
            _forget(entry.name)
            warnings.warn(
                f"{entry.name} was defined again with another schema; "
                "programs compiled or exported before still pass the old arguments\n"
                f"  before: {old}\n  now:    {entry.schema}",
                RedefinitionWarning,
                stacklevel=6,
            )
        flops.register(library, index)
        has_no_tensors = entry.operator is None and "Tensor" not in entry.schema.partition("->")[0]
        if has_no_tensors and not isinstance(native, OpbridgeError):
            _fake_without_tensors(library, index)
    when_imported("torch.distributed.tensor", partial(_tell_dtensor, library))


def _tell_dtensor(library: Library) -> None:
    try:
        from opbridge.frameworks.torch.sharding import tell_dtensor
    except ImportError:
        return  # DTensor differs in this PyTorch; it reports itself that it has no strategy
    entries = library.catalog.entries
    named = {index: _packet(library, index) for index, entry in enumerate(entries) if entry.operator is None}
    tell_dtensor(library, {index: getattr(packet, name or "default") for index, (packet, name) in named.items()})


def _fake_without_tensors(library: Library, index: int) -> None:
    """Register a fake for an operator without tensor arguments.

    PyTorch would treat it as one of its own tensor constructors, and call it with `device=`.
    """

    def fake(*args: object, **kwargs: object) -> object:
        spec = library.spec(index)
        return fake_outputs(spec, bound(spec, args, kwargs))

    torch.library.register_fake(library.catalog.names[index], fake)


def view(library: Library, index: int) -> torch._ops.OpOverload | torch._ops.OpOverloadPacket:
    """Return torch.ops.ns.name, or torch.ops.ns.name.overload if the operator has an overload name."""
    packet, overload = _packet(library, index)
    return getattr(packet, overload) if overload else packet


def call(library: Library, index: int) -> Callable[..., object]:
    """Return what runs a call: the native callable, or a Python function if the adapter cannot be compiled."""
    packet, overload = _packet(library, index)
    entry = library.catalog.entries[index]
    if entry.operator is not None:
        target: Callable[..., object] = view(library, index)
        return target
    general, translate = getattr(packet, overload or "default"), partial(_translated, entry.name, entry.schema)
    native = native_or_reason()
    if isinstance(native, OpbridgeError):
        slow: Callable[..., object] = uncompiled.call(general, translate)
        return slow
    fast: Callable[..., object] = native.callable(entry.name, general, translate)
    return fast


_PYTORCH_ERRORS = (RuntimeError, TypeError, ValueError, IndexError, NotImplementedError)
_WRONG_TYPE = re.compile(
    r"[Ee]xpected a value of type '(?P<expected>[^']+)' for argument '(?P<name>\w+)' "
    r"but instead found type '(?P<got>[^']+)'"
)


def _translated(name: str, schema: str, error: BaseException) -> BaseException:
    """Convert an error of the PyTorch argument checks to an opbridge error; return other errors unchanged."""
    if type(error) not in _PYTORCH_ERRORS:
        return error
    if isinstance(error.__cause__, OpbridgeError):
        return error.__cause__  # PyTorch wrapped it, as DTensor does
    said = str(error).strip()
    wrong = _WRONG_TYPE.search(said)
    if wrong:
        message = f"argument '{wrong['name']}': expected {wrong['expected']}, got {wrong['got']}"
        if wrong["got"] in ("ndarray", "Array", "ArrayImpl"):
            message += (
                "\n  all tensors of a call come from one framework; torch.as_tensor(...) makes it a PyTorch tensor"
            )
    else:
        # PyTorch ends such messages with its own form of the schema; remove it, since ours follows.
        message = re.split(r"\s*\b(?:Declaration|Schema): ", said.removeprefix(f"{name}()"))[0].strip()
        message = message.removeprefix("is ")
    refused = wrong is not None or "rgument" in said.partition("\n")[0] or not isinstance(error, RuntimeError)
    translated = (CallError if refused else KernelError)(f"{name}: {message}\n  {schema}")
    translated.__cause__ = error
    return translated


def _packet(library: Library, index: int) -> tuple[torch._ops.OpOverloadPacket, str]:
    """Return the packet of the operator in torch.ops, and the name of its overload."""
    namespace, _, rest = library.catalog.names[index].partition("::")
    name, _, overload = rest.partition(".")
    return getattr(getattr(torch.ops, namespace), name), overload


def _finder(library: Library, index: int) -> Callable[[str], tuple[int, int, int, str, bool]]:
    def find(device: str) -> tuple[int, int, int, str, bool]:
        kernel = library.kernel(index, device)
        by_window = device != "cpu" and library.kernels.device_of(index, device) == "cpu"
        return kernel.address, kernel.signature_address, kernel.aot_address, kernel.symbol, by_window

    return find


def _forget(name: str) -> None:
    """Remove the operator from torch.ops, which caches what it looked up."""
    namespace, _, rest = name.partition("::")
    vars(getattr(torch.ops, namespace)).pop(rest.partition(".")[0], None)
