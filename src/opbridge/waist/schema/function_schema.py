"""A model of PyTorch function schemas, such as `ns::name.overload(Tensor x, *, float alpha=1.0) -> Tensor`.

`Schema.parse` and `str` are inverse: a printed schema parses to an equal one, and a text in PyTorch's own spelling
(that of native_functions.yaml) prints back byte for byte. A text that PyTorch refuses to register is rejected with its
place; so are a few that PyTorch accepts although they make no sense, such as `int a=1.5`.

TorchScript's own types (Dict, Future, tuples, type variables, classes, `...`) are not part of an operator's interface
and are rejected as unknown.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

from opbridge.base.errors import Location, SchemaError, did_you_mean
from opbridge.base.names import is_identifier
from opbridge.waist.schema.parts import RESERVED_WORDS, Argument, Return, shares_storage


@dataclass(frozen=True, slots=True)
class Schema:
    """A function schema."""

    namespace: str | None
    name: str
    overload: str
    """The overload name; empty if there is none."""
    arguments: tuple[Argument, ...]
    returns: tuple[Return, ...]

    @classmethod
    def parse(cls, text: str, *, where: Location | None = None) -> Schema:
        """Parse a schema; `where` is the location of the text's first character.

        Raises:
            SchemaError: The text is not a schema that PyTorch accepts.
        """
        from opbridge.waist.schema.parser import Parser  # operators from the cache need no parser

        return cls(*Parser(text, where).schema())

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
        """The name with its namespace, without the overload."""
        return f"{self.namespace}::{self.name}" if self.namespace else self.name

    @property
    def full_name(self) -> str:
        """The name with its namespace and overload."""
        return f"{self.qualified_name}.{self.overload}" if self.overload else self.qualified_name

    def with_namespace(self, namespace: str) -> Schema:
        """Return the schema in another namespace.

        Raises:
            SchemaError: The namespace is not a name.
        """
        if not is_identifier(namespace) or namespace in RESERVED_WORDS:
            raise SchemaError(f"expected a name for the namespace, got '{namespace}'")
        return dataclasses.replace(self, namespace=namespace)

    def argument(self, name: str) -> Argument:
        """Return the argument of this name.

        Raises:
            SchemaError: There is none.
        """
        for argument in self.arguments:
            if argument.name == name:
                return argument
        hint = did_you_mean(name, (argument.name for argument in self.arguments))
        raise SchemaError(f"{self.full_name} has no argument '{name}'", hint=hint or f"its schema is {self}")

    @property
    def positional(self) -> tuple[Argument, ...]:
        """The arguments that may be passed by position."""
        return tuple(argument for argument in self.arguments if not argument.kwarg_only)

    @property
    def keyword_only(self) -> tuple[Argument, ...]:
        """The arguments after the `*`."""
        return tuple(argument for argument in self.arguments if argument.kwarg_only)

    @property
    def tensor_arguments(self) -> tuple[Argument, ...]:
        """The arguments that are tensors, optional tensors or lists of tensors."""
        return tuple(argument for argument in self.arguments if argument.is_tensor)

    @property
    def attributes(self) -> tuple[Argument, ...]:
        """The arguments that are not tensors."""
        return tuple(argument for argument in self.arguments if not argument.is_tensor)

    @property
    def mutable_arguments(self) -> tuple[Argument, ...]:
        """The arguments that the operator writes to."""
        return tuple(argument for argument in self.arguments if argument.mutable)

    @property
    def out_arguments(self) -> tuple[Argument, ...]:
        """The keyword-only tensors that the operator writes its results to."""
        return tuple(argument for argument in self.keyword_only if argument.mutable)

    def aliased_argument(self, return_: Return) -> Argument | None:
        """Return the first argument whose storage a return shares, or None."""
        if return_.alias is None:
            return None
        return next((argument for argument in self.arguments if shares_storage(argument, return_.alias)), None)

    @property
    def new_outputs(self) -> tuple[Return, ...]:
        """The returns that share no argument's storage, for which a kernel needs new memory."""
        return tuple(return_ for return_ in self.returns if return_.alias is None)
