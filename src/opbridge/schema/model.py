"""PyTorch's function schemas, such as `ns::name.overload(Tensor x, *, float alpha=1.0) -> Tensor`, as a model.

`Schema.parse` and `str` are inverse: what prints parses back to an equal schema, and a text in PyTorch's own spelling
(that of native_functions.yaml) prints back byte for byte.  A text that PyTorch refuses to register is refused here,
with its place; so are a few that PyTorch lets pass although they make no sense, such as `int a=1.5`.

TorchScript's own types (Dict, Future, tuples, type variables, classes, `...`) are not part of an operator's interface
and are refused as unknown.
"""

from __future__ import annotations

import dataclasses
import keyword
from abc import ABC, abstractmethod
from dataclasses import dataclass

from opbridge.errors import Location, SchemaError, did_you_mean

# PyTorch's schema lexer has TorchScript's keywords: Python's, less those TorchScript does not know.
RESERVED_WORDS = frozenset(keyword.kwlist) - frozenset(
    {"async", "await", "except", "finally", "from", "lambda", "nonlocal", "try", "yield"}
)


def is_identifier(text: str) -> bool:
    return text.isidentifier() and text.isascii()


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


@dataclass(frozen=True, slots=True)
class Schema:
    namespace: str | None
    name: str
    overload: str
    """Empty where there is none."""
    arguments: tuple[Argument, ...]
    returns: tuple[Return, ...]

    @classmethod
    def parse(cls, text: str, *, where: Location | None = None) -> Schema:
        """Reads one schema; `where` is the place of the text's first character in the user's file."""
        from opbridge.schema.parser import Parser  # the parser builds on this model

        return Parser(text, where).schema()

    def __str__(self) -> str:
        arguments = [str(argument) for argument in self.positional]
        if self.keyword_only:
            arguments += ["*", *map(str, self.keyword_only)]
        returns = ", ".join(map(str, self.returns))
        if len(self.returns) != 1:
            returns = f"({returns})"
        return f"{self.full_name}({', '.join(arguments)}) -> {returns}"

    @property
    def qualified_name(self) -> str:
        return f"{self.namespace}::{self.name}" if self.namespace else self.name

    @property
    def full_name(self) -> str:
        return f"{self.qualified_name}.{self.overload}" if self.overload else self.qualified_name

    def with_namespace(self, namespace: str) -> Schema:
        if not is_identifier(namespace) or namespace in RESERVED_WORDS:
            raise SchemaError(f"expected a name for the namespace, got '{namespace}'")
        return dataclasses.replace(self, namespace=namespace)

    def argument(self, name: str) -> Argument:
        for argument in self.arguments:
            if argument.name == name:
                return argument
        hint = did_you_mean(name, (argument.name for argument in self.arguments))
        raise SchemaError(f"{self.full_name} has no argument '{name}'", hint=hint or f"its schema is {self}")

    @property
    def positional(self) -> tuple[Argument, ...]:
        return tuple(argument for argument in self.arguments if not argument.kwarg_only)

    @property
    def keyword_only(self) -> tuple[Argument, ...]:
        return tuple(argument for argument in self.arguments if argument.kwarg_only)

    @property
    def tensor_arguments(self) -> tuple[Argument, ...]:
        return tuple(argument for argument in self.arguments if argument.is_tensor)

    @property
    def attributes(self) -> tuple[Argument, ...]:
        """The arguments that are not tensors."""
        return tuple(argument for argument in self.arguments if not argument.is_tensor)

    @property
    def mutable_arguments(self) -> tuple[Argument, ...]:
        return tuple(argument for argument in self.arguments if argument.mutable)

    @property
    def out_arguments(self) -> tuple[Argument, ...]:
        """Tensors the caller hands over by keyword for the operator to write into."""
        return tuple(argument for argument in self.keyword_only if argument.mutable)

    def aliased_argument(self, return_: Return) -> Argument | None:
        """The first argument whose storage a return shares, if any."""
        if return_.alias is None:
            return None
        return next((argument for argument in self.arguments if shares_storage(argument, return_.alias)), None)

    @property
    def new_outputs(self) -> tuple[Return, ...]:
        """The returns that share no argument's storage: what a kernel has to be given memory for."""
        return tuple(return_ for return_ in self.returns if return_.alias is None)


def shares_storage(argument: Argument, alias: Alias) -> bool:
    return argument.alias is not None and not {*argument.alias.before, *argument.alias.after}.isdisjoint(alias.before)
