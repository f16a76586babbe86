"""The values that a function passes by name to the one that computes its gradient, checked as early as possible."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NoReturn

from opbridge.base.errors import CallError, did_you_mean
from opbridge.base.names import is_identifier
from opbridge.waist.functions.signatures import REQUIRED, FunctionParameter, name_of, parameters_of
from opbridge.waist.schema import Schema

RESULT = "result"
"""The default name of the first output, as in formulas."""

NEEDS = "needs_input_grad"
"""A parameter of this name receives a bool for each argument of forward: whether its gradient is wanted."""


def unnamed(count: int) -> tuple[str, ...]:
    """Return the default names of `count` outputs."""
    return (RESULT, *(f"{RESULT}{place}" for place in range(1, count)))


def names_of(keyword: str, given: str | Iterable[str] | None) -> tuple[str, ...] | None:
    """Return a tuple of distinct names; a single name may be a string.

    Raises:
        CallError: A name is invalid or repeated.
    """
    if given is None:
        return None
    names = (given,) if isinstance(given, str) else tuple(given)
    for name in names:
        if not isinstance(name, str) or not is_identifier(name):
            raise CallError(f"{keyword}=: expected names such as ('x', 'weights'), got {name!r}")
    repeated = next((name for place, name in enumerate(names) if name in names[:place]), None)
    if repeated is not None:
        raise CallError(f"{keyword}=: '{repeated}' appears twice")
    return names


@dataclass(frozen=True)
class Callee:
    """A function called with all arguments as one flat sequence, keyword arguments last."""

    function: Callable[..., Any]
    parameters: tuple[FunctionParameter, ...] | None
    """The parameters, or None if unknown."""
    keywords: tuple[str, ...] = ()

    @classmethod
    def of(cls, function: Callable[..., object], names: tuple[str, ...] | None = None) -> Callee:
        """Describe a function; `names` renames its parameters, or names them if they are unknown.

        Raises:
            CallError: The number of names is wrong.
        """
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
        """The name of the function in messages."""
        return name_of(self.function)

    @property
    def wants_needs(self) -> bool:
        """Whether the function has a parameter `needs_input_grad`."""
        return NEEDS in self.keywords

    def __call__(self, values: Sequence[object]) -> Any:
        """Call the function with its keyword arguments at the end of `values`."""
        if not self.keywords:
            return self.function(*values)
        first = len(values) - len(self.keywords)
        return self.function(*values[:first], **dict(zip(self.keywords, values[first:], strict=True)))


@dataclass(frozen=True)
class GradientPair:
    """A function, and the one that computes its gradient as `backward(grads..., saved...)`."""

    forward: Callee
    backward: Callee
    inputs: tuple[FunctionParameter, ...]
    outputs: tuple[str, ...] | None
    """The outputs for the caller; None if only the first call shows how many there are."""
    hidden: tuple[str, ...]
    """The outputs after the others, which are for the backward function alone."""
    saved: tuple[str, ...]
    gradients: tuple[str, ...] | None
    """The arguments whose gradients backward returns, in order; None means all tensors."""
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
        """Pair two functions and check that they fit.

        Raises:
            CallError: A name is unknown, or the numbers of arguments do not fit.
        """
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
        """Check that the backward function accepts the number of arguments that it will receive.

        Raises:
            CallError: It does not.
        """
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
        """The outputs whose gradients backward receives; requires that the outputs are named."""
        return tuple(name for name in self.outputs or () if name not in self.nondifferentiable)

    @property
    def saves_untracked(self) -> bool:
        """Whether a saved output depends on the inputs in a way that PyTorch does not track."""
        return not {*self.hidden, *self.nondifferentiable}.isdisjoint(self.saved)

    @property
    def saved_places(self) -> tuple[int, ...]:
        """The places of the saved values among inputs and outputs."""
        everything = [item.name for item in self.inputs]
        everything += [*((RESULT,) if self.outputs is None else self.outputs), *self.hidden]
        return tuple(everything.index(name) for name in self.saved)

    def bind(self, args: tuple[object, ...], kwargs: dict[str, object]) -> list[object]:
        """Return a value for every input of a call.

        Raises:
            CallError: The arguments do not fit.
        """
        if len(args) == len(self.inputs) and not kwargs:
            return list(args)
        names = [item.name for item in self.inputs]
        if len(args) > len(names):
            raise CallError(f"{self.title} takes {_counted(self.inputs)}; got {len(args)}")
        for name in kwargs:
            if name not in names[len(args) :]:
                reason = "was given twice" if name in names else did_you_mean(name, names) or "is not an argument of it"
                raise CallError(f"{self.title} takes {_counted(self.inputs)}; '{name}' {reason}")
        values = [*args, *(kwargs.get(item.name, item.default) for item in self.inputs[len(args) :])]
        missing = [name for name, value in zip(names, values, strict=True) if value is REQUIRED]
        if missing:
            raise CallError(f"{self.title} takes {_counted(self.inputs)}; {', '.join(missing)} not given")
        return values

    def results(self, returned: object) -> tuple[Any, ...]:
        """Return the outputs of forward as a tuple.

        Raises:
            CallError: Their number differs from that of the names.
        """
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

    def by_input(self, returned: object, is_tensor: Sequence[bool]) -> list[Any]:
        """Return the gradient of every input, or None for each without one, from the results of backward.

        Raises:
            CallError: The number of gradients is wrong, or one belongs to an argument that is not a tensor.
        """
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
                + (
                    ""
                    if len(order) == len(tensors)
                    else f", or {len(order)} with None for arguments that are not tensors"
                )
            )
        gradients: list[object] = [None] * len(names)
        for place, gradient in zip(order, found, strict=True):
            if gradient is not None and not is_tensor[place]:
                raise CallError(
                    f"{self.title}: {self.backward.name} returned a gradient of '{names[place]}', which was no tensor; "
                    "gradients= names their arguments"
                )
            gradients[place] = gradient
        return gradients

    def second(self, double_backward: Callee) -> GradientPair:
        """Return the pair of the second derivative.

        The backward function is its forward: inputs are gradients and saved values, outputs are gradients.
        """
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
    """Return the names of the outputs for the caller, and of those for the backward alone."""
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
