"""What goes from a function to the one that computes its gradient, by name, and how far that can be checked early."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NoReturn

from opbridge.errors import CallError, did_you_mean
from opbridge.functions.signatures import REQUIRED, FunctionParameter, name_of, parameters_of
from opbridge.names import is_identifier
from opbridge.schema import Schema

RESULT = "result"
"""What the first output is called where nobody named it, as in formulas."""

NEEDS = "needs_input_grad"
"""A parameter of this name is handed a bool for each argument of forward: whether its gradient is wanted."""


def unnamed(count: int) -> tuple[str, ...]:
    return (RESULT, *(f"{RESULT}{place}" for place in range(1, count)))


def names_of(keyword: str, given: str | Iterable[str] | None) -> tuple[str, ...] | None:
    """A tuple of distinct names; one alone may come as a string."""
    if given is None:
        return None
    names = (given,) if isinstance(given, str) else tuple(given)
    for name in names:
        if not isinstance(name, str) or not is_identifier(name):
            raise CallError(f"{keyword}=: expected names such as ('x', 'weights'), got {name!r}")
    repeated = next((name for place, name in enumerate(names) if name in names[:place]), None)
    if repeated is not None:
        raise CallError(f"{keyword}=: '{repeated}' stands there twice")
    return names


@dataclass(frozen=True)
class Callee:
    """A function that is handed all of its arguments as one flat sequence, those by keyword last."""

    function: Callable[..., Any]
    parameters: tuple[FunctionParameter, ...] | None
    """None where nothing is known of them."""
    keywords: tuple[str, ...] = ()

    @classmethod
    def of(cls, function: Callable[..., Any], names: tuple[str, ...] | None = None) -> Callee:
        found = parameters_of(function)
        if found is None:
            return cls(function, None if names is None else tuple(map(FunctionParameter, names)))
        by_keyword = [item for item in found if item.keyword_only or item.name == NEEDS]
        ordered = [item for item in found if item not in by_keyword] + by_keyword
        keywords = tuple(item.name for item in by_keyword)
        if names is not None:
            if len(names) != len(ordered):
                raise CallError(
                    f"{name_of(function)} takes {_counted(ordered)}, and inputs= names {len(names)}: {', '.join(names)}"
                )
            ordered = [replace(item, name=name) for item, name in zip(ordered, names, strict=True)]
        return cls(function, tuple(ordered), keywords)

    @property
    def name(self) -> str:
        return name_of(self.function)

    @property
    def wants_needs(self) -> bool:
        return NEEDS in self.keywords

    def __call__(self, values: Sequence[Any]) -> Any:
        if not self.keywords:
            return self.function(*values)
        first = len(values) - len(self.keywords)
        return self.function(*values[:first], **dict(zip(self.keywords, values[first:], strict=True)))


@dataclass(frozen=True)
class GradientPair:
    """A function and the one that computes its gradient as `backward(grads..., saved...)`."""

    forward: Callee
    backward: Callee
    inputs: tuple[FunctionParameter, ...]
    outputs: tuple[str, ...] | None
    """What a caller gets; None where only the first call shows how many there are."""
    hidden: tuple[str, ...]
    """Outputs of the forward function, behind the others, that are for the backward function alone."""
    saved: tuple[str, ...]
    gradients: tuple[str, ...] | None
    """The arguments whose gradients come back, in that order; None: all that are tensors."""
    nondifferentiable: tuple[str, ...]
    title: str

    @classmethod
    def between(
        cls,
        forward: Callee,
        backward: Callee,
        *,
        saved: tuple[str, ...],
        outputs: tuple[str, ...] | None,
        gradients: tuple[str, ...] | None,
        nondifferentiable: tuple[str, ...],
        schema: Schema | None,
    ) -> GradientPair:
        title = f"autograd({forward.name})" if schema is None else schema.full_name
        inputs = _inputs(forward, schema, title)
        names = tuple(item.name for item in inputs)
        if schema is None:
            known = {*names, *((RESULT,) if outputs is None else outputs)}
            hidden = tuple(name for name in saved if name not in known)
            if hidden and outputs is None:
                _refuse(title, "saved", hidden[0], known, "an output needs a name first, by outputs=")
        else:
            extra = tuple(name for name in saved if name not in names)
            outputs, hidden = _declared_outputs(schema, outputs, extra, title)
        pair = cls(forward, backward, inputs, outputs, hidden, saved, gradients, nondifferentiable, title)
        pair._check(names)
        return pair

    def _check(self, names: tuple[str, ...]) -> None:
        returned = (RESULT,) if self.outputs is None else self.outputs
        both = {*names, *returned, *self.hidden}
        for name in self.saved:
            if name not in both:
                _refuse(self.title, "saved", name, both, f"it has {', '.join([*names, *returned, *self.hidden])}")
            if name in names and name in (*returned, *self.hidden):
                raise CallError(
                    f"{self.title}: saved= names '{name}', which is an argument and an output; "
                    "give one of them another name, by inputs= or outputs="
                )
        for name in self.gradients or ():
            if name not in names:
                _refuse(self.title, "gradients", name, names, f"its arguments are {', '.join(names)}")
        for name in self.nondifferentiable:
            if name not in returned:
                _refuse(self.title, "nondifferentiable", name, returned, f"it returns {', '.join(returned)}")
        if self.outputs is not None:
            self.check_backward(self.outputs)

    def check_backward(self, outputs: Iterable[str]) -> None:
        """Whether the backward function can take what it will be given."""
        if self.backward.parameters is None:
            return
        takes = [item for item in self.backward.parameters if item.name not in self.backward.keywords]
        required = sum(item.default is REQUIRED for item in takes)
        graded = [f"gradient of {name}" for name in outputs if name not in self.nondifferentiable]
        given = [*graded, *self.saved]
        if not required <= len(given) <= len(takes):
            raise CallError(
                f"{self.title}: {self.backward.name} takes {_counted(takes)}, "
                f"and would be given {len(given)}: {', '.join(given)}"
            )

    @property
    def differentiable(self) -> tuple[str, ...]:
        """The outputs that backward gets gradients of; there have to be names."""
        return tuple(name for name in self.outputs or () if name not in self.nondifferentiable)

    @property
    def saves_untracked(self) -> bool:
        """Whether some saved output depends on the inputs in ways that PyTorch is not told."""
        return not {*self.hidden, *self.nondifferentiable}.isdisjoint(self.saved)

    @property
    def saved_places(self) -> tuple[int, ...]:
        """Where the saved values stand among inputs and outputs."""
        everything = [item.name for item in self.inputs]
        everything += [*((RESULT,) if self.outputs is None else self.outputs), *self.hidden]
        return tuple(everything.index(name) for name in self.saved)

    def bind(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
        """A value for every input, from how the caller gave them."""
        if len(args) == len(self.inputs) and not kwargs:
            return list(args)
        names = [item.name for item in self.inputs]
        if len(args) > len(names):
            raise CallError(f"{self.title} takes {_counted(self.inputs)}; got {len(args)}")
        for name in kwargs:
            if name not in names[len(args) :]:
                reason = "was given twice" if name in names else did_you_mean(name, names) or "is no argument of it"
                raise CallError(f"{self.title} takes {_counted(self.inputs)}; '{name}' {reason}")
        values = [*args, *(kwargs.get(item.name, item.default) for item in self.inputs[len(args) :])]
        missing = [name for name, value in zip(names, values, strict=True) if value is REQUIRED]
        if missing:
            raise CallError(f"{self.title} takes {_counted(self.inputs)}; {', '.join(missing)} not given")
        return values

    def results(self, returned: Any) -> tuple[Any, ...]:
        """What forward returned, held against the names of its outputs."""
        results = tuple(returned) if isinstance(returned, (list, tuple)) else (returned,)
        if self.outputs is not None and len(results) != len(self.outputs) + len(self.hidden):
            named = f"{len(self.outputs)} are named by outputs= ({', '.join(self.outputs)})"
            if self.hidden:
                known = [*(item.name for item in self.inputs), *self.outputs]
                hints = [f"{name}: {hint}" for name in self.hidden if (hint := did_you_mean(name, known))]
                named += f" and {len(self.hidden)} more by saved= ({', '.join(self.hidden)})"
                named += "".join(f"\n  {hint}" for hint in hints)
            raise CallError(f"{self.title}: {self.forward.name} returned {len(results)} outputs, of which {named}")
        return results

    def by_input(self, returned: Any, is_tensor: Sequence[bool]) -> list[Any]:
        """The gradient of every input, None where it has none, from what backward returned."""
        found = tuple(returned) if isinstance(returned, (list, tuple)) else (returned,)
        names = [item.name for item in self.inputs]
        order = list(range(len(names))) if self.gradients is None else [names.index(name) for name in self.gradients]
        tensors = [place for place in order if is_tensor[place]]
        if len(found) == len(tensors):
            order = tensors
        elif len(found) != len(order):
            raise CallError(
                f"{self.title}: {self.backward.name} returned {len(found)} gradients; expected "
                f"{len(tensors)}, of {', '.join(names[place] for place in tensors)}"
                + ("" if len(order) == len(tensors) else f", or {len(order)} with None where an argument is no tensor")
            )
        gradients: list[Any] = [None] * len(names)
        for place, gradient in zip(order, found, strict=True):
            if gradient is not None and not is_tensor[place]:
                raise CallError(
                    f"{self.title}: {self.backward.name} returned a gradient of '{names[place]}', which was no tensor; "
                    "gradients= says of which arguments they are"
                )
            gradients[place] = gradient
        return gradients

    def second(self, double_backward: Callee) -> GradientPair:
        """The backward function as a forward one: its inputs are gradients and saved values, its outputs gradients."""
        if self.outputs is None:
            raise CallError(f"{self.title}: double_backward= needs the outputs' names, by outputs=")
        grads = tuple(f"grad_{name}" for name in self.differentiable)
        names = grads + self.saved
        needs = (NEEDS,) if self.backward.wants_needs else ()
        gradients = self.gradients or tuple(item.name for item in self.inputs)
        return GradientPair(
            forward=self.backward,
            backward=double_backward,
            inputs=tuple(map(FunctionParameter, names + needs)),
            outputs=None if self.gradients is None else tuple(f"grad_{name}" for name in gradients),
            hidden=(),
            saved=names,
            gradients=names,
            nondifferentiable=(),
            title=f"{self.title}, second derivative",
        )


def _inputs(forward: Callee, schema: Schema | None, title: str) -> tuple[FunctionParameter, ...]:
    if schema is not None:
        declared = tuple(
            FunctionParameter(item.name, REQUIRED if item.default is None else item.default.value, item.kwarg_only)
            for item in schema.arguments
        )
        if forward.parameters is not None and len(forward.parameters) != len(declared):
            raise CallError(
                f"{title}: {forward.name} takes {_counted(forward.parameters)}, "
                f"and the schema has {_counted(declared)}\n  {schema}"
            )
        return declared
    if forward.parameters is None:
        raise CallError(f"{title}: nothing tells what its arguments are; name them, such as inputs=('x', 'weights')")
    return forward.parameters


def _declared_outputs(
    schema: Schema, outputs: tuple[str, ...] | None, saved: tuple[str, ...], title: str
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The names of what the operator returns: first what its caller gets, then what is for the backward alone."""
    named = tuple(item.name for item in schema.returns)
    if outputs is None:
        return tuple(name or other for name, other in zip(named, unnamed(len(named)), strict=True)), ()
    matches = len(outputs) <= len(named) and all(
        theirs in (None, ours) for ours, theirs in zip(outputs, named, strict=False)
    )
    if not matches:
        raise CallError(
            f"{title}: outputs= names {', '.join(outputs)}; expected the first of what the schema returns\n  {schema}"
        )
    rest = named[len(outputs) :]
    if all(rest):
        return outputs, tuple(name or "" for name in rest)
    hidden = tuple(name for name in saved if name not in outputs)
    if len(hidden) != len(rest):
        raise CallError(
            f"{title}: the schema returns {len(named)} outputs, of which outputs= names {len(outputs)} "
            f"({', '.join(outputs)}) and saved= {len(hidden)} more ({', '.join(hidden)})\n  {schema}"
        )
    return outputs, hidden


def _counted(parameters: Iterable[FunctionParameter]) -> str:
    names = [item.name for item in parameters]
    return f"{len(names)} argument{'' if len(names) == 1 else 's'}" + (f" ({', '.join(names)})" if names else "")


def _refuse(title: str, keyword: str, name: str, known: Iterable[str], otherwise: str) -> NoReturn:
    raise CallError(
        f"{title}: {keyword}= names '{name}', which it does not have; {did_you_mean(name, known) or otherwise}"
    )
