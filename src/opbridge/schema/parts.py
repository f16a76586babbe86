"""What a schema is made of: types, aliases, defaults, arguments, returns.  Each prints as PyTorch writes it."""

from __future__ import annotations

import keyword
from abc import ABC, abstractmethod
from dataclasses import dataclass

# PyTorch's schema lexer has TorchScript's keywords: Python's, less those TorchScript does not know.
RESERVED_WORDS = frozenset(keyword.kwlist) - frozenset(
    {"async", "await", "except", "finally", "from", "lambda", "nonlocal", "try", "yield"}
)


class Type(ABC):
    """The type of an argument or a return, without its alias."""

    __slots__ = ()

    @property
    @abstractmethod
    def base(self) -> str:
        """The innermost name: "Tensor" of `Tensor?[]`, "int" of `int[2]?`."""

    @abstractmethod
    def spelled(self, alias: str) -> str:
        """The type as written, with an alias annotation such as `(a!)` where PyTorch puts it: behind the base name."""

    def __str__(self) -> str:
        return self.spelled("")

    @property
    def is_optional(self) -> bool:
        """Whether None is a value: true of `int[]?`, not of `Tensor?[]`."""
        return isinstance(self, OptionalType)

    @property
    def is_list(self) -> bool:
        """Whether the outermost layer is a list: true of `Tensor?[]`, not of `int[]?`."""
        return isinstance(self, ListType)

    @property
    def is_tensor_like(self) -> bool:
        """Tensor, and every optional and list of it."""
        return self.base == "Tensor"


@dataclass(frozen=True, slots=True)
class BaseType(Type):
    name: str

    @property
    def base(self) -> str:
        return self.name

    def spelled(self, alias: str) -> str:
        return self.name + alias


@dataclass(frozen=True, slots=True)
class OptionalType(Type):
    elem: Type

    @property
    def base(self) -> str:
        return self.elem.base

    def spelled(self, alias: str) -> str:
        return f"{self.elem.spelled(alias)}?"


@dataclass(frozen=True, slots=True)
class ListType(Type):
    elem: Type
    size: int | None
    """`int[2]`: a single int stands for two of it.  PyTorch does not hold a list to this length, and neither do we."""

    @property
    def base(self) -> str:
        return self.elem.base

    def spelled(self, alias: str) -> str:
        return f"{self.elem.spelled(alias)}[{'' if self.size is None else self.size}]"


@dataclass(frozen=True, slots=True)
class Alias:
    """`(a! -> b|c)`: which storage a tensor shares before the call and after it, and whether the call writes to it."""

    before: tuple[str, ...]
    write: bool
    after: tuple[str, ...]
    """Empty where the schema has no `->`: the tensor then stays in the sets it was in."""

    def __str__(self) -> str:
        text = "|".join(self.before) + ("!" if self.write else "")
        return f"({text} -> {'|'.join(self.after)})" if self.after else f"({text})"


class EnumName(str):
    """A default written as a bare word: `contiguous_format`, `long`, `Mean`."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Default:
    text: str
    """As written: `1e-05`, `[-2,-1]`, `'none'`."""
    value: object
    """What an operator receives: None, bool, int, float, complex, str, EnumName, or a tuple of them."""


@dataclass(frozen=True, slots=True)
class Argument:
    name: str
    type: Type
    default: Default | None = None
    alias: Alias | None = None
    kwarg_only: bool = False

    @property
    def is_tensor(self) -> bool:
        return self.type.is_tensor_like

    @property
    def mutable(self) -> bool:
        return self.alias is not None and self.alias.write

    @property
    def has_default(self) -> bool:
        return self.default is not None

    def __str__(self) -> str:
        text = f"{_annotated(self.type, self.alias)} {self.name}"
        return f"{text}={self.default.text}" if self.default else text


@dataclass(frozen=True, slots=True)
class Return:
    name: str | None
    type: Type
    alias: Alias | None = None

    def __str__(self) -> str:
        text = _annotated(self.type, self.alias)
        return f"{text} {self.name}" if self.name else text


def _annotated(type_: Type, alias: Alias | None) -> str:
    return type_.spelled(str(alias) if alias else "")


def shares_storage(argument: Argument, alias: Alias) -> bool:
    return argument.alias is not None and not {*argument.alias.before, *argument.alias.after}.isdisjoint(alias.before)
