"""Sample inputs of an operator, which check and bench use."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NoReturn

from opbridge.base.errors import ManifestError, did_you_mean
from opbridge.waist.manifest.fields import TENSOR
from opbridge.waist.rules import DTYPES
from opbridge.waist.rules.value_kinds import Locate, Path, no_location
from opbridge.waist.schema import Argument, BaseType, ListType, OptionalType, Schema, Type

Scalar = bool | int | float | str | None
Data = bool | int | float | tuple["Data", ...]


@dataclass(frozen=True)
class TensorSample:
    """A tensor: its elements, or its shape and how to fill it."""

    dtype: str = "float32"
    shape: tuple[int, ...] = ()
    data: Data | None = None
    fill: float | None = None
    low: float | None = None
    high: float | None = None

    def fields(self) -> dict[str, object]:
        """Return the fields that a manifest has for the tensor."""
        if self.data is not None:
            return {"data": _listed(self.data), "dtype": self.dtype}
        given = {name: value for name in ("fill", "low", "high") if (value := getattr(self, name)) is not None}
        return {"shape": list(self.shape), "dtype": self.dtype, **given}


Value = TensorSample | Scalar | tuple["Value", ...]


@dataclass(frozen=True)
class Sample:
    """One set of arguments in schema order; an argument with a default may be missing."""

    arguments: tuple[tuple[str, Value], ...]

    @classmethod
    def parse(cls, values: object, schema: Schema, locate: Locate = no_location) -> Sample:
        """Parse the arguments of a sample and check them against the schema.

        Raises:
            ManifestError: An argument is unknown, missing or of the wrong type.
        """
        if not isinstance(values, Mapping):
            raise ManifestError(f"expected a mapping from argument to value, got {_name(values)}", locate(()))
        known = {argument.name: argument for argument in schema.arguments}
        for name in values:
            if name not in known:
                hint = did_you_mean(str(name), known) or f"arguments: {', '.join(known)}"
                raise ManifestError(f"{schema.name} has no argument '{name}'", locate((str(name),)), hint)
        missing = [name for name, argument in known.items() if name not in values and argument.default is None]
        if missing:
            raise ManifestError(f"the sample gives no value for {', '.join(missing)}", locate(()))
        given = [argument for argument in schema.arguments if argument.name in values]
        return cls(tuple((a.name, _Reader(a, locate).read(values[a.name], a.type, (a.name,))) for a in given))

    def fields(self) -> dict[str, object]:
        """Return the fields that a manifest has for the sample."""
        return {name: _listed(value) for name, value in self.arguments}


class _Reader:
    """A reader of one argument's value by its type in the schema."""

    def __init__(self, argument: Argument, locate: Locate) -> None:
        self.argument = argument
        self.locate = locate

    def read(self, value: object, type: Type, path: Path) -> Value:
        if isinstance(type, OptionalType):
            return None if value is None else self.read(value, type.elem, path)
        if isinstance(type, ListType):
            if not isinstance(value, (list, tuple)):
                self._refuse(value, f"a list for {type}", path)
            if type.size is not None and len(value) != type.size:
                self._refuse_text(f"expected {type.size} values for {type}, got {len(value)}", path)
            return tuple(self.read(item, type.elem, (*path, index)) for index, item in enumerate(value))
        assert isinstance(type, BaseType)
        return self._tensor(value, path) if type.name == "Tensor" else self._scalar(value, type.name, path)

    def _scalar(self, value: object, type: str, path: Path) -> Scalar:
        kinds, expected = _SCALARS.get(type, ((str,), f"a name for {type}"))
        if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
            self._refuse(value, expected, path)
        if type == "ScalarType" and value not in DTYPES:
            self._refuse_text(f"unknown dtype '{value}'", path, did_you_mean(str(value), DTYPES))
        if type in ("int", "SymInt") and isinstance(value, int) and not -(1 << 63) <= value < 1 << 63:
            self._refuse_text(f"{value} does not fit in 64 bits", path)
        if type == "float":
            return self._number(value, path)
        return value if isinstance(value, (bool, int, str)) else self._number(value, path)

    def _number(self, value: object, path: Path) -> float:
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            self._refuse(value, "a number", path)
        try:
            number = float(value)
        except OverflowError:
            self._refuse_text("the number does not fit in a float", path)
        return math.nan if number != number else number

    def _tensor(self, value: object, path: Path) -> TensorSample:
        if not isinstance(value, Mapping):
            self._refuse(value, "a tensor, such as {shape: [2, 3], dtype: float32}", path)
        for key in value:
            if key not in _TENSOR_KEYS:
                hint = did_you_mean(str(key), _TENSOR_KEYS) or f"a tensor has {', '.join(_TENSOR_KEYS)}"
                self._refuse_text(f"unknown key '{key}'", (*path, str(key)), hint)
        dtype = value.get("dtype", "float32")
        if dtype not in DTYPES:
            hint = did_you_mean(str(dtype), DTYPES) or f"dtypes: {', '.join(DTYPES)}"
            self._refuse_text(f"unknown dtype '{dtype}'", (*path, "dtype"), hint)
        if "data" in value:
            if len(value) > 1 + ("dtype" in value):
                self._refuse_text("`data` says everything but the dtype; remove the other keys", path)
            data, shape = self._data(value["data"], (*path, "data"))
            return TensorSample(dtype, shape, data)
        if "shape" not in value:
            self._refuse_text("a tensor needs `shape` or `data`", path)
        filled = {key: self._number(value[key], (*path, key)) for key in ("fill", "low", "high") if key in value}
        if "fill" in filled and len(filled) > 1:
            self._refuse_text("`fill` is one value for all elements; remove `low` and `high`", path)
        return TensorSample(dtype, self._shape(value["shape"], (*path, "shape")), **filled)

    def _shape(self, value: object, path: Path) -> tuple[int, ...]:
        if not isinstance(value, (list, tuple)):
            self._refuse(value, "a list of sizes, such as [2, 3]", path)
        for index, size in enumerate(value):
            if isinstance(size, bool) or not isinstance(size, int) or not 0 <= size < 1 << 63:
                self._refuse(size, "a size of 0 or more", (*path, index))
        return tuple(value)

    def _data(self, value: object, path: Path) -> tuple[Data, tuple[int, ...]]:
        if isinstance(value, (list, tuple)):
            items = [self._data(item, (*path, index)) for index, item in enumerate(value)]
            for index, (_, shape) in enumerate(items):
                if shape != items[0][1]:
                    message = f"rows differ in shape: {list(items[0][1])} and {list(shape)}"
                    self._refuse_text(message, (*path, index))
            return tuple(data for data, _ in items), (len(items), *(items[0][1] if items else ()))
        if isinstance(value, (bool, int)):
            return value, ()
        return self._number(value, path), ()

    def _refuse(self, value: object, expected: str, path: Path) -> NoReturn:
        self._refuse_text(f"expected {expected}, got {_name(value)}", path)

    def _refuse_text(self, message: str, path: Path, hint: str = "") -> NoReturn:
        raise ManifestError(f"argument '{self.argument.name}': {message}", self.locate(path), hint)


_SCALARS: Mapping[str, tuple[tuple[type, ...], str]] = {
    "int": ((int,), "an int"),
    "SymInt": ((int,), "an int"),
    "float": ((int, float), "a float"),
    "bool": ((bool,), "true or false"),
    "Scalar": ((bool, int, float), "a number"),
    "str": ((str,), "a string (quote it)"),
    "ScalarType": ((str,), "a dtype name"),
}
_TENSOR_KEYS = tuple(field.name for field in TENSOR.fields)


def _listed(value: object) -> object:
    if isinstance(value, TensorSample):
        return value.fields()
    return [_listed(item) for item in value] if isinstance(value, tuple) else value


def _name(value: object) -> str:
    if value is None:
        return "nothing"
    if isinstance(value, Mapping):
        return "a mapping"
    if isinstance(value, Sequence) and not isinstance(value, str):
        return "a list"
    text = f"'{value}'" if isinstance(value, str) else str(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
