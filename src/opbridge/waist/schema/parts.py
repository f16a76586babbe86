"""The parts of a schema: types, aliases, defaults, arguments, returns. Each prints as PyTorch writes it."""

from __future__ import annotations

import keyword
from abc import ABC, abstractmethod
from dataclasses import dataclass

# PyTorch's schema lexer has the keywords of TorchScript: those of Python except the ones TorchScript does not know.
RESERVED_WORDS = frozenset(keyword.kwlist) - frozenset(
    {"async", "await", "except", "finally", "from", "lambda", "nonlocal", "try", "yield"}
)


class Type(ABC):
    """The type of an argument or a return, without its alias."""

    __slots__ = ()

    @property
    @abstractmethod
    def base(self) -> str:
        """The innermost name: "Tensor" for `Tensor?[]`, "int" for `int[2]?`."""

    @abstractmethod
    def spelled(self, alias: str) -> str:
        """Return the type as text, with an alias such as `(a!)` after the base name, as in PyTorch."""

    def __str__(self) -> str:
        return self.spelled("")

    @property
    def is_optional(self) -> bool:
        """Whether None is a value: true for `int[]?`, not for `Tensor?[]`."""
        return isinstance(self, OptionalType)

    @property
    def is_list(self) -> bool:
        """Whether the outermost layer is a list: true for `Tensor?[]`, not for `int[]?`."""
        return isinstance(self, ListType)

    @property
    def is_tensor_like(self) -> bool:
        """Whether the type is Tensor, or any optional or list of it."""
        return self.base == "Tensor"


@dataclass(frozen=True, slots=True)
class BaseType(Type):
    """A type without layers, such as `Tensor` or `int`."""

    name: str

    @property
    def base(self) -> str:
        """The name of the type."""
        return self.name

    def spelled(self, alias: str) -> str:
        """Return the name, followed by the alias."""
        return self.name + alias


@dataclass(frozen=True, slots=True)
class OptionalType(Type):
    """A type that also accepts None, such as `Tensor?`."""

    elem: Type

    @property
    def base(self) -> str:
        """The innermost name."""
        return self.elem.base

    def spelled(self, alias: str) -> str:
        """Return the type as text, with the alias after the base name."""
        return f"{self.elem.spelled(alias)}?"


@dataclass(frozen=True, slots=True)
class ListType(Type):
    """A list, such as `int[]` or `int[2]`."""

    elem: Type
    size: int | None
    """For `int[2]`, 2: a single int means two of it.  Like PyTorch, opbridge does not enforce this length."""

    @property
    def base(self) -> str:
        """The innermost name."""
        return self.elem.base

    def spelled(self, alias: str) -> str:
        """Return the type as text, with the alias after the base name."""
        return f"{self.elem.spelled(alias)}[{'' if self.size is None else self.size}]"


@dataclass(frozen=True, slots=True)
class Alias:
    """An annotation `(a! -> b|c)`: the storage shared before and after the call, and whether it is written to."""

    before: tuple[str, ...]
    write: bool
    after: tuple[str, ...]
    """The sets after the call; empty without a `->`, which leaves the tensor in the sets before it."""

    def __str__(self) -> str:
        text = "|".join(self.before) + ("!" if self.write else "")
        return f"({text} -> {'|'.join(self.after)})" if self.after else f"({text})"


class EnumName(str):
    """A default written as a bare word: `contiguous_format`, `long`, `Mean`."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Default:
    """The default of an argument."""

    text: str
    """The default as written: `1e-05`, `[-2,-1]`, `'none'`."""
    value: object
    """The value that an operator receives: None, bool, int, float, complex, str, EnumName, or a tuple of these."""


@dataclass(frozen=True, slots=True)
class Argument:
    """An argument of a schema."""

    name: str
    type: Type
    default: Default | None = None
    alias: Alias | None = None
    kwarg_only: bool = False

    @property
    def is_tensor(self) -> bool:
        """Whether it is a tensor, an optional tensor or a list of tensors."""
        return self.type.is_tensor_like

    @property
    def mutable(self) -> bool:
        """Whether the operator writes to it."""
        return self.alias is not None and self.alias.write

    @property
    def has_default(self) -> bool:
        """Whether callers may leave it out."""
        return self.default is not None

    def __str__(self) -> str:
        text = f"{_annotated(self.type, self.alias)} {self.name}"
        return f"{text}={self.default.text}" if self.default else text


@dataclass(frozen=True, slots=True)
class Return:
    """A return of a schema."""

    name: str | None
    type: Type
    alias: Alias | None = None

    def __str__(self) -> str:
        text = _annotated(self.type, self.alias)
        return f"{text} {self.name}" if self.name else text


def _annotated(type_: Type, alias: Alias | None) -> str:
    return type_.spelled(str(alias) if alias else "")


def shares_storage(argument: Argument, alias: Alias) -> bool:
    """Return whether an argument may share its storage with a return of this alias."""
    return argument.alias is not None and not {*argument.alias.before, *argument.alias.after}.isdisjoint(alias.before)
