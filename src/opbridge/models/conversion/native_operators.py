"""Find the operators of a network that a framework computes itself, by trying the calls of the network."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import torch

from opbridge.build.cache import Cache
from opbridge.models.conversion.saved_values import put_back, taken_aside
from opbridge.models.scan.mindspore_names import PYTORCH_ONLY, calls, find, parameters_of, values_of
from opbridge.models.scan.operator_recorder import Recorder, described
from opbridge.models.scan.verdict_cache import verdicts_on
from opbridge.models.scan.verdicts import CallSite, ScannedOperator, State, Verdict


class Expression(str):
    """Source text that represents an argument of a call; its repr is the text itself."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


@dataclass(frozen=True)
class Natives:
    """The operators that a network calls, and the verdicts of one framework on them."""

    framework: str
    operators: Mapping[str, ScannedOperator]
    verdicts: Mapping[str, Verdict]
    on_ascend: bool = False
    """Whether to take functions of `mindspore.mint` by their documentation that only an Ascend NPU can run."""
    unseen: dict[tuple[str, str], tuple[Any, dict[str, Any]]] = field(default_factory=dict, compare=False)
    """Calls in the graphs that the network did not make itself: the operator and its arguments, by what tells them."""

    def call(self, op: torch._ops.OpOverload, bound: Mapping[str, Any], text: Callable[[Any], str]) -> str | None:
        """Return the framework's own call; None if the scan has not seen it agree for such arguments.

        `text` returns the source expression of a value.
        """
        name = op._name
        arguments = {key: _expression(value, text) for key, value in bound.items()}
        signature = {key: described(_known(value)) for key, value in bound.items()}
        verdict = self.verdicts.get(name)
        defaults = {item.name: item.default_value for item in op._schema.arguments if item.has_default_value()}
        told_apart = _told(signature, defaults)
        seen = self.operators[name].signatures if name in self.operators else ()
        if verdict is None or not any(_told(_by_name(each), defaults) == told_apart for each in seen):
            self.unseen.setdefault((name, repr(told_apart)), (op, dict(bound)))
            return None
        if verdict.form is None or not (verdict.state is State.HAS or self.is_documented(name)):
            return None
        parameters = parameters_of(find(values_of(self.framework).ROOT, verdict.path))
        try:
            ways = list(calls(name, verdict.path, arguments, defaults, parameters))
            return _written(verdict.path, *ways[verdict.form])
        except (AttributeError, TypeError, IndexError):  # the form needs a value, but has an expression
            return None

    def is_documented(self, name: str) -> bool:
        """Return whether an operator is taken by its documentation: `mint` says that it follows PyTorch."""
        verdict = self.verdicts.get(name)
        is_elsewhere = verdict is not None and verdict.state is State.ELSEWHERE and verdict.path.startswith("mint.")
        return self.on_ascend and is_elsewhere

    @property
    def forms(self) -> str:
        """The module with the forms of operators, as a source names it."""
        return "jax_forms" if self.framework == "jax" else "forms"

    def brought(self, op: Any) -> str | None:
        """Return the framework's form of an operator that the conversion adds; None if there is none."""
        path = f"{self.forms}.{op._opname}"
        return path if find(None, path) else None

    def with_unseen(self) -> Natives:
        """Try the calls that the conversion adds, and return the verdicts with theirs.

        A verdict is kept if it holds for all calls of its operator.
        """
        with tempfile.TemporaryDirectory(prefix="opbridge-natives-") as folder:
            brought = _brought(self.unseen.values(), Path(folder))
            found = verdicts_on(brought.values(), self.framework, values_of(self.framework).device(), Cache())
        operators, verdicts = dict(self.operators), dict(self.verdicts)
        for name, operator in brought.items():
            known = verdicts.get(name)
            if known is None:
                operators[name], verdicts[name] = operator, found[name]
            elif (known.path, known.form, known.state) == (found[name].path, found[name].form, found[name].state):
                more = {*operators[name].signatures, *operator.signatures}
                operators[name] = replace(operators[name], signatures=more)
        return Natives(self.framework, operators, verdicts, self.on_ascend)

    def in_the_way(self, names: Iterable[str]) -> dict[str, str]:
        """Return why each of the operators stays with PyTorch."""
        return {name: self.why_not(name) for name in sorted(names)}

    def why_not(self, name: str) -> str:
        """Return the obstacle to a native operator, with the place of its first call."""
        verdict, operator = self.verdicts.get(name), self.operators.get(name)
        if verdict is None or operator is None:
            return "the network does not call it itself: the conversion adds it"
        why = "not tried with such arguments" if verdict.state is State.HAS else str(verdict)
        return f"{why}, at {operator.place}"


def tried(
    module: torch.nn.Module,
    args: Sequence[object],
    kwargs: Mapping[str, object],
    framework: str,
    *,
    on_ascend: bool = False,
) -> Natives:
    """Run a network in inference and in training, and try the operators that it calls in a framework.

    The network is left unchanged.
    """
    before = taken_aside(module)
    modes = {part: part.training for part in module.modules()}
    with tempfile.TemporaryDirectory(prefix="opbridge-natives-") as folder:
        recorder = Recorder(Path(folder), most_examples=_MOST_EXAMPLES)
        try:
            with torch.random.fork_rng(devices=[]), recorder.watching():
                for training in (False, True):
                    module.train(training)
                    with suppress(Exception):  # control flow of PyTorch cannot be watched; its operators are tried late
                        module(*args, **kwargs)
        finally:
            put_back(module, before)
            for part, was in modes.items():
                part.training = was
        found = verdicts_on(recorder.operators.values(), framework, values_of(framework).device(), Cache())
    return Natives(framework, recorder.operators, found, on_ascend)


def _brought(calls: Iterable[tuple[Any, dict[str, Any]]], folder: Path) -> dict[str, ScannedOperator]:
    """Return operators with drawn examples of calls that only the graphs of a network have."""
    found: dict[str, ScannedOperator] = {}
    for op, bound in calls:
        try:
            arguments = {key: _drawn(value) for key, value in bound.items()}
        except _NoExampleError:
            continue
        operator = found.setdefault(op._name, ScannedOperator(op._name, str(op._schema), _ADDED))
        signature = tuple((name, described(value)) for name, value in arguments.items())
        if signature not in operator.signatures:
            operator.signatures.add(signature)
            path = folder / f"{len(list(folder.iterdir()))}.pt"
            kept = {key: value for key, value in arguments.items() if key not in PYTORCH_ONLY}
            torch.save({"operator": op._name, "arguments": kept}, path)
            operator.examples.append(path)
    return found


_ADDED = CallSite("", "an operator that the conversion adds")


class _NoExampleError(Exception):
    """A call has an argument of which no example can be drawn, such as a size that is free."""


def _drawn(value: object) -> object:
    """Return a value with tensors instead of nodes: random numbers, and zeros and ones for whole numbers."""
    if isinstance(value, (list, tuple)):
        return [_drawn(each) for each in value]
    if not isinstance(value, torch.fx.Node):
        return value
    like = value.meta.get("val")
    if not isinstance(like, torch.Tensor) or not all(isinstance(size, int) for size in like.shape):
        raise _NoExampleError
    if like.dtype.is_floating_point or like.dtype.is_complex:
        return torch.randn(like.shape).to(like.dtype).requires_grad_()
    return torch.randint(0, 2, like.shape).to(like.dtype)


def _expression(value: object, text: Callable[[object], str]) -> object:
    """Return a value with source text in place of its tensors."""
    if isinstance(value, (list, tuple)):
        return tuple(_expression(each, text) for each in value)
    is_text = isinstance(value, (torch.fx.Node, torch.dtype, float))
    return Expression(text(value)) if is_text else value


def _known(value: object) -> object:
    """Return what the conversion knows of a value: for a tensor, its type and rank."""
    if isinstance(value, torch.fx.Node):
        return value.meta.get("val", value.name)
    return [*map(_known, value)] if isinstance(value, (list, tuple)) else value


_MOST_EXAMPLES = 64
"""The most ways to call one operator that are recorded; each must be proved."""


def _told(signature: Mapping[str, object], defaults: Mapping[str, object]) -> dict[str, object]:
    """Return what distinguishes calls, without PyTorch-only parameters and defaults."""
    kept = {name: _plain(value) for name, value in signature.items() if name not in PYTORCH_ONLY}
    return {name: value for name, value in kept.items() if name not in defaults or value != described(defaults[name])}


def _by_name(signature: tuple[Any, ...]) -> dict[str, object]:
    return dict(signature)


def _plain(value: object) -> object:
    """Return a description without the flag for a wanted gradient, which a graph does not know."""
    if isinstance(value, tuple) and len(value) == 3 and isinstance(value[0], torch.dtype):
        return value[:2]
    return tuple(map(_plain, value)) if isinstance(value, tuple) else value


def _written(path: str, args: tuple[object, ...], kwargs: Mapping[str, object]) -> str:
    texts = [repr(each) for each in args]
    named = [f"{name}={value!r}" for name, value in kwargs.items()]
    if path == "Tensor.__getitem__":
        return f"{texts[0]}[{texts[1]}]"
    if path.startswith("Tensor."):
        return f"{texts[0]}.{path.removeprefix('Tensor.')}({', '.join([*texts[1:], *named])})"
    return f"{path}({', '.join([*texts, *named])})"
