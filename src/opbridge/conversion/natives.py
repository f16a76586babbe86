"""Which operators of a network MindSpore computes itself, by trying those that the network calls."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import mindspore
import torch

from opbridge.cache import Cache
from opbridge.conversion.values import put_back, taken_aside
from opbridge.scan.model import ScannedOperator, State, Verdict
from opbridge.scan.names import PYTORCH_ONLY, calls, find, parameters_of
from opbridge.scan.recording import Recorder, described
from opbridge.scan.remembering import verdicts_on


class Expression(str):
    """A part of the source among the arguments of a call."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


@dataclass(frozen=True)
class Natives:
    operators: Mapping[str, ScannedOperator]
    verdicts: Mapping[str, Verdict]

    def expression(self, op: Any, arguments: Mapping[str, Any], signature: Mapping[str, object]) -> str | None:
        """A call of MindSpore's own; None where the scan has not seen that it agrees for such arguments."""
        name = op._name
        verdict = self.verdicts.get(name)
        if verdict is None or verdict.state is not State.HAS or verdict.form is None:
            return None
        defaults = {item.name: item.default_value for item in op._schema.arguments if item.has_default_value()}
        told_apart = _told(signature, defaults)
        if not any(_told(_by_name(seen), defaults) == told_apart for seen in self.operators[name].signatures):
            return None
        parameters = parameters_of(find(mindspore, verdict.path))
        try:
            ways = list(calls(name, verdict.path, arguments, defaults, parameters))
            return _written(verdict.path, *ways[verdict.form])
        except (AttributeError, TypeError, IndexError):  # it asks for the values of what is an expression here
            return None

    def why_not(self, name: str) -> str:
        """What is in the way of an operator, with the place of its first call."""
        verdict, operator = self.verdicts.get(name), self.operators.get(name)
        if verdict is None or operator is None:
            return "the network does not call it itself: the conversion brings it"
        why = "not tried with such arguments" if verdict.state is State.HAS else str(verdict)
        return f"{why}, at {operator.place}"


def tried(module: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Natives:
    """Runs a network in inference and in training, leaves it as it was, and tries in MindSpore what it called."""
    before = taken_aside(module)
    modes = {part: part.training for part in module.modules()}
    with tempfile.TemporaryDirectory(prefix="opbridge-natives-") as folder:
        recorder = Recorder(Path(folder), most_examples=_MOST_EXAMPLES)
        try:
            with torch.random.fork_rng(devices=[]), recorder.watching():
                for training in (False, True):
                    module.train(training)
                    module(*args, **kwargs)
        finally:
            put_back(module, before)
            for part, was in modes.items():
                part.training = was
        device = mindspore.get_context("device_target")
        found = verdicts_on(recorder.operators.values(), device, Cache())
    return Natives(recorder.operators, found)


_MOST_EXAMPLES = 64
"""Ways to call one operator, each of which is to be proved."""


def _told(signature: Mapping[str, Any], defaults: Mapping[str, Any]) -> dict[str, object]:
    """What tells calls apart, without what PyTorch alone cares for and what is as it is by default."""
    kept = {name: _plain(value) for name, value in signature.items() if name not in PYTORCH_ONLY}
    return {name: value for name, value in kept.items() if name not in defaults or value != described(defaults[name])}


def _by_name(signature: tuple[Any, ...]) -> dict[str, Any]:
    return dict(signature)


def _plain(value: Any) -> object:
    """A description without whether a gradient is wanted, which a graph does not know."""
    if isinstance(value, tuple) and len(value) == 3 and isinstance(value[0], torch.dtype):
        return value[:2]
    return tuple(map(_plain, value)) if isinstance(value, tuple) else value


def _written(path: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> str:
    texts = [repr(each) for each in args]
    named = [f"{name}={value!r}" for name, value in kwargs.items()]
    if path == "Tensor.__getitem__":
        return f"{texts[0]}[{texts[1]}]"
    if path.startswith("Tensor."):
        return f"{texts[0]}.{path.removeprefix('Tensor.')}({', '.join([*texts[1:], *named])})"
    return f"{path}({', '.join([*texts, *named])})"
