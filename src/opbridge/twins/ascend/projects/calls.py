"""Calls of host functions, as the structs of opbridge_ascend/host/entry.h."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any

from opbridge.base.errors import InputError
from opbridge.twins.ascend.projects.definition import Attribute, Definition

_TILING_BYTES = 1 << 16


class _Tensor(ctypes.Structure):
    _fields_ = (
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("ndim", ctypes.c_int32),
        ("dtype", ctypes.c_int32),
        ("data", ctypes.c_void_p),
    )


class _Attribute(ctypes.Structure):
    _fields_ = (
        ("type", ctypes.c_char_p),
        ("integers", ctypes.POINTER(ctypes.c_int64)),
        ("reals", ctypes.POINTER(ctypes.c_double)),
        ("text", ctypes.c_char_p),
        ("count", ctypes.c_int32),
    )


class _Call(ctypes.Structure):
    _fields_ = (
        ("type", ctypes.c_char_p),
        ("inputs", ctypes.POINTER(_Tensor)),
        ("outputs", ctypes.POINTER(_Tensor)),
        ("attributes", ctypes.POINTER(_Attribute)),
        ("input_count", ctypes.c_int32),
        ("output_count", ctypes.c_int32),
        ("attribute_count", ctypes.c_int32),
    )


class Plan(ctypes.Structure):
    """The result of a tiling function."""

    key: int
    workspace: int
    tiling_bytes: int
    blocks: int
    tiling: ctypes.Array[ctypes.c_uint8]
    _fields_ = (
        ("key", ctypes.c_uint64),
        ("workspace", ctypes.c_uint64),
        ("tiling_bytes", ctypes.c_uint64),
        ("blocks", ctypes.c_uint32),
        ("tiling", ctypes.c_uint8 * _TILING_BYTES),
    )


class Call:
    """The arguments of one call, valid until the context ends."""

    def __init__(
        self, definition: Definition, arrays: Sequence[Any], attributes: Mapping[str, Any], combination: int
    ) -> None:
        self._kept: list[object] = []
        types = [type.code for _, type in definition.types_of(combination)]
        tensors = [self._tensor(array, code) for array, code in zip(arrays, types, strict=True)]
        unknown = sorted(attributes.keys() - {one.name for one in definition.attributes})
        if unknown:
            raise InputError(f"{definition.type} has no attribute '{unknown[0]}'")
        values = [self._attribute(definition, one, attributes.get(one.name)) for one in definition.attributes]
        count = len(definition.inputs)
        self.whole = _Call(
            definition.type.encode(),
            (_Tensor * count)(*tensors[:count]),
            (_Tensor * len(definition.outputs))(*tensors[count:]),
            (_Attribute * len(values))(*values),
            count,
            len(definition.outputs),
            len(values),
        )

    def __enter__(self) -> Call:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._kept.clear()

    def _tensor(self, array: Any, code: int) -> _Tensor:
        if array is None:
            return _Tensor(None, -1, code, None)
        described = array.__array_interface__
        shape = (ctypes.c_int64 * len(described["shape"]))(*described["shape"])
        self._kept.append(shape)
        return _Tensor(shape, len(shape), code, described["data"][0])

    def _attribute(self, definition: Definition, one: Attribute, value: Any) -> _Attribute:
        if value is None:
            if one.default is None:
                raise InputError(f"{definition.type} needs the attribute '{one.name}', which is {one.type}")
            value = _read(one.type, one.default)
        if one.type == "str":
            return _Attribute(b"str", None, None, str(value).encode(), 1)
        values = list(value) if one.type.endswith("[]") else [value]
        integers = (ctypes.c_int64 * max(len(values), 1))(*(int(item) for item in values))
        reals = (ctypes.c_double * max(len(values), 1))(*(float(item) for item in values))
        self._kept += [integers, reals]
        return _Attribute(one.type.encode(), integers, reals, None, len(values))


def _read(kind: str, text: str) -> object:
    """Return a default value from the text that the library prints."""
    if kind.endswith("[]"):
        return [float(item) for item in text.split(",") if item.strip()]
    if kind == "bool":
        return text == "true"
    return text if kind == "str" else float(text)


def memory(array: Any) -> tuple[int, int]:
    """Return the address of an array and its length in bytes; zeros for None.

    Raises:
        InputError: The array is not contiguous.
    """
    if array is None:
        return 0, 0
    described = array.__array_interface__
    if described.get("strides") is not None:
        raise InputError("an operator project takes arrays without gaps: np.ascontiguousarray makes one")
    size = int(described["typestr"][2:])
    for length in described["shape"]:
        size *= length
    return described["data"][0], size


def element_type(array: Any) -> str:
    """Return the element type of an array, as NumPy's array interface spells it."""
    return str(array.__array_interface__["typestr"][1:])
