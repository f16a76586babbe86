"""The public classes for one operator and for a library of operators.

This module knows no framework and no compiler: `Runtime`, which the loader provides, does the work.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from opbridge.base.errors import CallError, NoSuchOperatorError, did_you_mean

if TYPE_CHECKING:
    import inspect

    from opbridge.waist.manifest import OpSpec
    from opbridge.waist.rules import Rules
    from opbridge.waist.schema import Schema


_PLACE = "operator "
"""The prefix of the attributes that hold operators; no other attribute name contains a space."""

Reopened = tuple[Callable[..., "OpLibrary"], tuple[object, ...]]
Method = TypeVar("Method", bound=Callable[..., object])


def untraced(method: Method) -> Method:
    """Mark a method that torch.compile runs once while tracing, instead of tracing it.

    This equals torch.compiler.assume_constant_result, which is not available before torch is imported. Such a method
    must not take an int, which may have become a symbol.
    """
    method._dynamo_marked_constant = True  # type: ignore[attr-defined]
    return method


class Runtime(Protocol):
    """The implementation of the operators of one library."""

    def spec(self, index: int) -> OpSpec:
        """Return the declaration of an operator."""

    def schema_text(self, index: int) -> str:
        """Return the schema of an operator as text."""

    def frameworks(self) -> tuple[str, ...]:
        """Return the names of the framework views."""

    def view(self, index: int, framework: str) -> Any:
        """Return the framework's own object for an operator."""

    def callable_for(self, index: int, op: Op, args: tuple[object, ...], kwargs: Mapping[str, object]) -> Any:
        """Return the function that handles a call with these arguments."""

    def reopen(self, index: int) -> tuple[Callable[..., Op], tuple[object, ...]]:
        """Return the function and arguments by which a pickle finds the operator again."""


class Op:
    """One operator, callable with the tensors of any framework.

    `op.torch`, `op.numpy` and the others are the frameworks' own objects for it.
    """

    name: str
    """Namespace, name and overload: `mylib::scaled_add` or `mylib::scaled_add.out`."""

    def bind(self, runtime: Runtime, index: int) -> None:
        """Make this operator use another definition of the same name."""
        self._runtime = runtime
        self._index = index

    def __call__(self, *args: object, **kwargs: object) -> Any:
        """Call the operator; the tensors select the framework."""
        return self._runtime.callable_for(self._index, self, args, kwargs)(*args, **kwargs)

    @property
    def spec(self) -> OpSpec:
        """The declaration of the operator."""
        return self._runtime.spec(self._index)

    @property
    def schema(self) -> Schema:
        """The schema of the operator."""
        return self.spec.schema

    @property
    def rules(self) -> Rules:
        """The rules of the operator."""
        return self.spec.rules

    @property
    def __signature__(self) -> inspect.Signature:
        return signature_of(self.schema)

    if TYPE_CHECKING:
        # For editors; tests compare these properties with the table of frameworks.
        @property
        def torch(self) -> Any:
            """The PyTorch view of the operator."""

        @property
        def numpy(self) -> Any:
            """The NumPy view of the operator."""

        @property
        def mindspore(self) -> Any:
            """The MindSpore view of the operator."""

        @property
        def jax(self) -> Any:
            """The JAX view of the operator."""

        @property
        def paddle(self) -> Any:
            """The Paddle view of the operator."""

    else:

        def __getattr__(self, name: str) -> Any:
            """Return a framework's own object for the operator."""
            if name.startswith("_"):
                raise AttributeError(name)
            return self._runtime.view(self._index, name)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self._runtime.frameworks()})

    def __repr__(self) -> str:
        return f"<Op {self._runtime.schema_text(self._index)}>"

    # A name identifies one operator in a process: a copy is the operator itself, and another process opens it by name.
    def __copy__(self) -> Op:
        return self

    def __deepcopy__(self, _: dict[int, object]) -> Op:
        return self

    def __reduce__(self) -> tuple[Callable[..., Op], tuple[object, ...]]:
        return self._runtime.reopen(self._index)


def signature_of(schema: Schema) -> inspect.Signature:
    """Return the signature for help(), notebooks and editors."""
    import inspect

    parameters = []
    for argument in schema.arguments:
        kind = inspect.Parameter.KEYWORD_ONLY if argument.kwarg_only else inspect.Parameter.POSITIONAL_OR_KEYWORD
        default = inspect.Parameter.empty if argument.default is None else argument.default.value
        parameters.append(inspect.Parameter(argument.name, kind, default=default, annotation=str(argument.type)))
    returns = ", ".join(str(output.type) for output in schema.returns)
    return inspect.Signature(parameters, return_annotation=returns or None)


class OpLibrary:
    """The operators of one manifest: `lib.name`, or `lib["name.overload"]`."""

    def __init__(self, namespace: str, names: Sequence[str], get: Callable[[str], Op], reopen: Reopened) -> None:
        """Create a library from full names; `get` returns an operator by name and creates it on first use.

        `reopen` is the function that a pickle calls, with its arguments.
        """
        self.namespace = namespace
        self._reopen = reopen
        self._whole = {name.removeprefix(f"{namespace}::"): name for name in names}
        self._get = get

    def __getitem__(self, name: str) -> Op:
        if name in self._whole:
            self._meet(name)
            found: Op = getattr(self, _PLACE + name)
            return found
        overloads = [known for known in self._whole if known.startswith(f"{name}.")]
        if len(overloads) == 1:
            return self[overloads[0]]
        if overloads:
            choices = ", ".join(f'lib["{known}"]' for known in overloads)
            raise CallError(f"{self.namespace}::{name} has several overloads: {choices}")
        hint = did_you_mean(name, self._whole) or f"it has: {', '.join(list(self._whole)[:20])}"
        raise CallError(f"library '{self.namespace}' has no operator '{name}'; {hint}")

    def __getattr__(self, name: str) -> Op:
        if name.startswith("_"):
            raise AttributeError(name)
        try:
            found = self[name]
        except CallError as error:
            raise NoSuchOperatorError(str(error)) from None
        # A name always means the same Op, so the next access can be a plain attribute.
        self.__dict__[name] = found
        return found

    @untraced
    def _meet(self, name: str) -> None:
        # An attribute, because torch.compile would not notice that a dictionary grew during tracing.
        setattr(self, _PLACE + name, self._get(self._whole[name]))

    def __iter__(self) -> Iterator[Op]:
        return map(self._get, self._whole.values())

    def __len__(self) -> int:
        return len(self._whole)

    def __contains__(self, name: object) -> bool:
        return name in self._whole

    def __dir__(self) -> list[str]:
        # Operators that were used once are already attributes.
        names = (name for name in super().__dir__() if not name.startswith(_PLACE))
        return sorted({*names, *(name for name in self._whole if "." not in name)})

    # Copies and pickles work as for operators.
    def __copy__(self) -> OpLibrary:
        return self

    def __deepcopy__(self, _: dict[int, object]) -> OpLibrary:
        return self

    def __reduce__(self) -> Reopened:
        return self._reopen

    def __repr__(self) -> str:
        return f"<OpLibrary {self.namespace}: {len(self)} operators>"
