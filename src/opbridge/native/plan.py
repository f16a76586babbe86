"""The plan of a library: operators as words and strings, the only form that the native adapters read in plan.h."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from enum import IntEnum, IntFlag, auto

from opbridge.base.errors import UnsupportedError
from opbridge.native.aten import compile_derivative
from opbridge.waist.manifest import OpSpec
from opbridge.waist.rules import DTYPE_CODES, FromKernel, Like, compile_out
from opbridge.waist.rules.batches import batching
from opbridge.waist.rules.words import WordWriter, word_of
from opbridge.waist.schema import Argument, BaseType, EnumName, ListType, OptionalType, Type

PLAN_MAGIC = int.from_bytes(b"OBPLAN1\0", "little")
PLAN_VERSION = 2


class ArgumentKind(IntEnum):
    """The kind of an argument for the C++ adapters, which pass OTHER along without looking into it."""

    TENSOR = 0
    BOOL = auto()
    INT = auto()
    FLOAT = auto()
    STRING = auto()
    DTYPE = auto()
    SCALAR = auto()
    OTHER = auto()


class ArgumentFlag(IntFlag):
    """The properties of an argument in addition to its kind."""

    LIST = auto()
    OPTIONAL = auto()
    ELEMENT_OPTIONAL = auto()
    KEYWORD_ONLY = auto()
    MUTABLE = auto()
    HAS_DEFAULT = auto()
    ROWS = auto()
    """A list of lists."""


class ConstantTag(IntEnum):
    """The kind of a default."""

    NONE = 0
    BOOL = auto()
    INT = auto()
    FLOAT = auto()
    STRING = auto()
    DTYPE = auto()
    LIST = auto()


class BatchMode(IntEnum):
    """The handling of an extra dimension: a call for each slice, or one call for all."""

    LOOP = 0
    ELEMENTWISE = auto()
    LEADING = auto()


_KINDS = {
    "Tensor": ArgumentKind.TENSOR,
    "bool": ArgumentKind.BOOL,
    "int": ArgumentKind.INT,
    "SymInt": ArgumentKind.INT,
    "float": ArgumentKind.FLOAT,
    "str": ArgumentKind.STRING,
    "ScalarType": ArgumentKind.DTYPE,
    "Scalar": ArgumentKind.SCALAR,
}
_ROW_TYPES = (BaseType("int"), BaseType("float"))
"""The types that lists of lists may hold, which MindSpore attributes use."""
_TORCH_DTYPES = {"float": "float32", "double": "float64", "half": "float16", "long": "int64", "int": "int32"} | {
    "short": "int16",
    "char": "int8",
    "byte": "uint8",
}


def encode(specs: Sequence[OpSpec]) -> bytes:
    """Encode the operators of a library, in order.

    Raises:
        UnsupportedError: A default or a derivative cannot be encoded.
    """
    writer = _Writer()
    starts = []
    for spec in specs:
        starts.append(4 + len(specs) + len(writer.words))
        writer.operator(spec)
    head = array("q", [PLAN_MAGIC, PLAN_VERSION, len(specs), 4 + len(specs) + len(writer.words), *starts])
    return (head + writer.words).tobytes() + bytes(writer.pool)


class _Writer(WordWriter):
    def __init__(self) -> None:
        super().__init__()
        self.pool = bytearray()
        self._known: dict[str, int] = {}

    def text(self, text: str) -> None:
        encoded = text.encode()
        if text not in self._known:
            self._known[text] = len(self.pool)
            self.pool += encoded
        self.put(self._known[text], len(encoded))

    def operator(self, spec: OpSpec) -> None:
        schema, rules = spec.schema, spec.rules
        for text in (schema.namespace or "", schema.name, schema.overload, str(schema)):
            self.text(text)
        self.put(len(schema.arguments))
        for argument in schema.arguments:
            self.argument(argument)
        self.outputs(spec)
        self.batch(spec)
        codes = [compile_derivative(derivative, schema) for derivative in rules.gradients]
        self.put(len(codes))
        for code in codes:
            self.put_list(code.targets)
            self.put_list(code.words)
            self.put(len(code.strings))
            for string in code.strings:
                self.text(string)
        formulas = [derivative.formula for derivative in rules.gradients]
        read = {name for formula in formulas for name in formula.arguments}
        self.put_list([place for place, item in enumerate(schema.arguments) if item.is_tensor and item.name in read])
        self.put_list(sorted({result for formula in formulas for result in formula.results}))

    def argument(self, argument: Argument) -> None:
        self.text(argument.name)
        type_, flags = _unwrapped(argument.type)
        size = -1
        if isinstance(type_, ListType):
            flags |= ArgumentFlag.LIST
            size = -1 if type_.size is None else type_.size
            type_, inner = _unwrapped(type_.elem)
            flags |= ArgumentFlag.ELEMENT_OPTIONAL if inner else 0
            if isinstance(type_, ListType) and type_.elem in _ROW_TYPES and not inner:
                flags |= ArgumentFlag.ROWS
                type_ = type_.elem
        kind = _KINDS.get(type_.name, ArgumentKind.OTHER) if isinstance(type_, BaseType) else ArgumentKind.OTHER
        flags |= ArgumentFlag.KEYWORD_ONLY if argument.kwarg_only else 0
        flags |= ArgumentFlag.MUTABLE if argument.mutable else 0
        flags |= ArgumentFlag.HAS_DEFAULT if argument.default is not None else 0
        self.put(kind, flags, size)
        if argument.default is not None:
            self.constant(argument.default.value, kind == ArgumentKind.DTYPE)

    def constant(self, value: object, is_dtype: bool) -> None:
        match value:
            case None:
                self.put(ConstantTag.NONE)
            case bool():
                self.put(ConstantTag.BOOL, value)
            case int():
                self.put(ConstantTag.INT, value)
            case float():
                self.put(ConstantTag.FLOAT, word_of(value))
            case EnumName() if is_dtype and _TORCH_DTYPES.get(value, value) in DTYPE_CODES:
                self.put(ConstantTag.DTYPE, DTYPE_CODES[_TORCH_DTYPES.get(value, value)])
            case str():
                self.put(ConstantTag.STRING)
                self.text(value)
            case tuple():
                self.put(ConstantTag.LIST, len(value))
                for item in value:
                    self.constant(item, is_dtype)
            case _:
                raise UnsupportedError(f"a default of type {type(value).__name__} cannot reach a kernel")

    def outputs(self, spec: OpSpec) -> None:
        schema = spec.schema
        places = {argument.name: place for place, argument in enumerate(schema.arguments)}
        rules = iter(spec.rules.out)
        self.put(len(schema.returns))
        for output in schema.returns:
            self.text(output.name or "")
            aliased = schema.aliased_argument(output)
            if aliased is not None:
                self.put(places[aliased.name], -1, 0)
                continue
            rule = next(rules, FromKernel())
            like = isinstance(rule, Like) and schema.argument(rule.argument).type == BaseType("Tensor")
            self.put(-1, places[rule.argument] if like and isinstance(rule, Like) else -1)
            self.put_list(compile_out(rule, schema).words)

    def batch(self, spec: OpSpec) -> None:
        rule, schema = spec.rules.batch, spec.schema
        found = batching(rule, spec.rules.out, schema)
        places = [place for place, argument in enumerate(schema.arguments) if argument.is_tensor]
        ranks = dict(zip(places, found.ranks, strict=True)) if found else {}
        many = BatchMode.ELEMENTWISE if rule == "elementwise" else BatchMode.LEADING
        self.put(many if found else BatchMode.LOOP, rule is not None, bool(found and found.broadcasts))
        self.put_list([place for place, rank in ranks.items() if rank is not None])
        self.put_list([rank for rank in ranks.values() if rank is not None])


def _unwrapped(type_: Type) -> tuple[Type, int]:
    return (type_.elem, ArgumentFlag.OPTIONAL) if isinstance(type_, OptionalType) else (type_, 0)
