"""What the kernel of an operator declares: its element types, and which tensors have a fixed type."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from opbridge._core import Kernel, NumpyOp
from opbridge.base.errors import BuildError, OpbridgeError, ToolchainError, UnsupportedError
from opbridge.waist.manifest.kernel_origins import TWINS
from opbridge.waist.rules import DTYPES
from opbridge.waist.schema import Schema

if TYPE_CHECKING:
    from opbridge.frameworks.interface import Library
    from opbridge.waist.op import Op

_IN, _INOUT = 0, 2
_TEMPLATE = -2


class _Param(ctypes.Structure):
    """The struct ob_param of abi.h."""

    _fields_ = (("role", ctypes.c_int32), ("flags", ctypes.c_int32), ("type", ctypes.c_int32))


class _Signature(ctypes.Structure):
    """The part of the struct ob_signature of abi.h that is read here."""

    _fields_ = (
        ("version", ctypes.c_uint32),
        ("n_params", ctypes.c_int32),
        ("params", ctypes.POINTER(_Param)),
        ("n_dtypes", ctypes.c_int32),
        ("dtypes", ctypes.POINTER(ctypes.c_int32)),
    )


@dataclass(frozen=True)
class KernelFacts:
    """The element types that a kernel accepts."""

    dtypes: tuple[str, ...]
    """The types of its type parameter; empty if it has none."""
    fixed: dict[str, str]
    """The tensor arguments with a fixed type."""
    free: frozenset[str] | None
    """The tensor arguments of the type parameter's type; None if unknown, in which case floats are assumed."""

    def chooses(self, name: str, dtype: str) -> bool:
        """Return whether a call may use another type for a tensor that has this one."""
        return "float" in dtype if self.free is None else name in self.free


def device_of(op: Op, tensors: str) -> str | None:
    """Return the device whose kernel handles tensors on a device; for tensors on the CPU it may be a twin."""
    store = getattr(op._runtime, "kernels", None)
    if store is None or any(kernel.operator for kernel in op.spec.kernels):
        return tensors  # a PyTorch operator runs where its tensors are
    device: str | None = store.device_of(op._index, tensors)
    return device


def in_numpy(op: Op, device: str) -> NumpyOp:
    """Return the operator for NumPy with its kernel for the CPU or for a twin.

    Raises:
        UnsupportedError: The operator has no kernel for the device.
    """
    library = cast("Library", op._runtime)
    kernels = library.kernels.beside(device)
    if kernels.device_of(op._index, "cpu") != device:
        raise UnsupportedError(f"{op.name} has no kernel for {device}")
    return NumpyOp(library.catalog.plan, op._index, lambda: kernels.kernel(op._index, "cpu"))


def is_finding(error: Exception) -> bool:
    """Return whether an error is a twin's finding about a kernel, and not the kernel's own refusal."""
    return any(f": {twin}: " in str(error) for twin in TWINS)


def build_kernel(op: Op, tensors: str) -> None:
    """Build the kernel that tensors on a device go to, and open nothing of it; raise BuildError where that fails."""
    store = getattr(op._runtime, "kernels", None)
    try:
        if store is not None:
            store.build_one(op._index, tensors)
    except (BuildError, ToolchainError):
        raise
    except OpbridgeError:
        return  # a call says why there is none


def facts_of(op: Op, schema: Schema, device: str) -> KernelFacts:
    """Return the facts about the kernel for tensors on a device.

    If it does not describe itself, these are the types that most likely work.
    """
    kernel_of = getattr(op._runtime, "kernel", None)
    try:
        kernel = kernel_of and kernel_of(op._index, device)
    except OpbridgeError:
        kernel = None  # a call will report the reason
    return KernelFacts(("float32", "float64"), {}, None) if kernel is None else facts_of_kernel(kernel, schema)


def facts_of_kernel(kernel: Kernel, schema: Schema) -> KernelFacts:
    """Return the facts about a kernel from its signature."""
    if not kernel.signature_address:
        return KernelFacts(("float32",), {}, None)
    signature = _Signature.from_address(kernel.signature_address)
    inputs = [param for param in signature.params[: signature.n_params] if param.role in (_IN, _INOUT)]
    types = {item.name: param.type for item, param in zip(schema.tensor_arguments, inputs, strict=False)}
    return KernelFacts(
        dtypes=tuple(DTYPES[code] for code in signature.dtypes[: signature.n_dtypes]),
        fixed={name: DTYPES[type] for name, type in types.items() if type >= 0},
        free=frozenset(name for name, type in types.items() if type == _TEMPLATE),
    )
