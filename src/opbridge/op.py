"""An operator and a library of them, as a user holds them.

The waist knows no framework and no compiler: what an operator does is behind `Runtime`, which the loader provides.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from opbridge.errors import CallError, NoSuchOperatorError, did_you_mean

if TYPE_CHECKING:
    import inspect

    from opbridge.manifest import OpSpec
    from opbridge.rules import Rules
    from opbridge.schema import Schema


_PLACE = "operator "
"""Before the names of operators; no attribute of anybody's is called so."""

Reopened = tuple[Callable[..., "OpLibrary"], tuple[object, ...]]
Method = TypeVar("Method", bound=Callable[..., None])


def untraced(method: Method) -> Method:
    """torch.compile runs such a method once, while it traces, instead of tracing it.

    It is what torch.compiler.assume_constant_result does, which is not to be had before torch is imported.  Such a
    method takes no int, which may have become a symbol.
    """
    method._dynamo_marked_constant = True  # type: ignore[attr-defined]
    return method


class Runtime(Protocol):
    """What stands behind the operators of one library."""

    def spec(self, index: int) -> OpSpec: ...

    def schema_text(self, index: int) -> str: ...

    def frameworks(self) -> tuple[str, ...]:
        """The names of its views."""

    def view(self, index: int, framework: str) -> Any: ...

    def callable_for(self, index: int, op: Op, args: tuple[object, ...], kwargs: Mapping[str, object]) -> Any: ...

    def reopen(self, index: int) -> tuple[Callable[..., Op], tuple[object, ...]]: ...


class Op:
    """One operator, callable with the tensors of any framework.

    `op.torch`, `op.numpy` and the others are the frameworks' own objects for it.
    """

    name: str
    """Namespace, name and overload: `mylib::scaled_add` or `mylib::scaled_add.out`."""

    def bind(self, runtime: Runtime, index: int) -> None:
        """Make this operator do what another definition of the same name says."""
        self._runtime = runtime
        self._index = index

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._runtime.callable_for(self._index, self, args, kwargs)(*args, **kwargs)

    @property
    def spec(self) -> OpSpec:
        return self._runtime.spec(self._index)

    @property
    def schema(self) -> Schema:
        return self.spec.schema

    @property
    def rules(self) -> Rules:
        return self.spec.rules

    @property
    def __signature__(self) -> inspect.Signature:
        return signature_of(self.schema)

    if TYPE_CHECKING:
        # For editors.  What counts is the table of frameworks, against which tests hold these.
        @property
        def torch(self) -> Any: ...

        @property
        def numpy(self) -> Any: ...

        @property
        def mindspore(self) -> Any: ...

        @property
        def jax(self) -> Any: ...

        @property
        def paddle(self) -> Any: ...

    else:

        def __getattr__(self, name: str) -> Any:
            """A framework's own object for it, whoever brings the framework."""
            if name.startswith("_"):
                raise AttributeError(name)
            return self._runtime.view(self._index, name)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self._runtime.frameworks()})

    def __repr__(self) -> str:
        return f"<Op {self._runtime.schema_text(self._index)}>"

    # One name is one operator in a process, so a copy is the operator itself, and another process opens it by name.
    def __copy__(self) -> Op:
        return self

    def __deepcopy__(self, _: dict[int, object]) -> Op:
        return self

    def __reduce__(self) -> tuple[Callable[..., Op], tuple[object, ...]]:
        return self._runtime.reopen(self._index)


def signature_of(schema: Schema) -> inspect.Signature:
    """For help(), notebooks and editors."""
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
        """`names` are whole; `get` has the operator of a name, which is made when it is first asked for.

        `reopen` is what a pickle calls, and with what.
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
        # One name is one Op for good: the next access is a plain attribute's.
        self.__dict__[name] = found
        return found

    @untraced
    def _meet(self, name: str) -> None:
        # An attribute: torch.compile would not see that a dictionary has grown while it traced.
        setattr(self, _PLACE + name, self._get(self._whole[name]))

    def __iter__(self) -> Iterator[Op]:
        return map(self._get, self._whole.values())

    def __len__(self) -> int:
        return len(self._whole)

    def __contains__(self, name: object) -> bool:
        return name in self._whole

    def __dir__(self) -> list[str]:
        # What was asked for once is an attribute already.
        names = (name for name in super().__dir__() if not name.startswith(_PLACE))
        return sorted({*names, *(name for name in self._whole if "." not in name)})

    # As its operators.
    def __copy__(self) -> OpLibrary:
        return self

    def __deepcopy__(self, _: dict[int, object]) -> OpLibrary:
        return self

    def __reduce__(self) -> Reopened:
        return self._reopen

    def __repr__(self) -> str:
        return f"<OpLibrary {self.namespace}: {len(self)} operators>"
