"""The child process that tries operators in a framework.

It is started as `python -m opbridge.models.scan.trial_process FRAMEWORK JOBS PIPE`.

It reads a JSON list of jobs. It writes one JSON line to the pipe before every attempt and one after it, so that the
parent knows which attempt killed the process. No operator is trusted because it exists. It is called with the
arguments of the model's PyTorch calls. Then value, dtype, shape and, where the model wants one, gradient are
compared.
"""

from __future__ import annotations

import json
import os
import re
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import reduce
from operator import add
from types import ModuleType
from typing import Any

import numpy as np
import torch
from torch._ops import OpOverload

from opbridge.models.scan.mindspore_names import calls, find, parameters_of, values_of
from opbridge.models.scan.nested_values import leaves, mapped
from opbridge.models.scan.trial_framework import Layout, Tensor, TrialFramework

_TOLERANCES = {
    torch.float64: (1e-7, 1e-9),
    torch.float32: (1e-4, 1e-5),
    torch.float16: (1e-2, 1e-3),
    torch.bfloat16: (4e-2, 1e-2),
    torch.complex128: (1e-7, 1e-9),
    torch.complex64: (1e-4, 1e-5),
}
_OF_ARGUMENTS = re.compile(r"argument|calling|should be one of")
"""Matches errors for a call that does not fit: MindSpore raises TypeError, as for dtypes without a kernel."""
_ELSEWHERE = re.compile(
    r"kernel \w+ unregistered|only supports Ascend|Create kernelmod for op \w+ failed|Unsupported op \[\w+\] on CPU"
)
"""Matches errors of MindSpore for a function that has no kernel for the CPU."""
_UNINITIALISED = ("empty", "new_empty", "resize")


class Mismatch(Exception):
    """The framework computes a different result."""


class NoGradient(Exception):
    """The value is right, and its gradient is wrong or missing."""


class ElsewhereError(Exception):
    """The framework has a kernel for another device only."""

    def __init__(self, reason: str, form: int) -> None:
        super().__init__(reason)
        self.form = form


class NotTried(Exception):
    """PyTorch or the trial itself fails, which says nothing about the framework."""


@contextmanager
def _in_pytorch() -> Iterator[None]:
    """Raise NotTried for errors of what is computed for comparison."""
    try:
        yield
    except Exception as error:
        raise NotTried(f"PyTorch has no result to compare: {_first_line(error)}") from error


def main(framework: str, jobs_path: str, pipe: int) -> None:
    """Try the jobs in a file, and report each attempt to the file descriptor `pipe`."""
    with open(jobs_path) as file:
        jobs = json.load(file)
    with os.fdopen(pipe, "w", buffering=1) as report:

        def say(**fields: object) -> None:
            report.write(json.dumps(fields) + "\n")

        values = values_of(framework)
        trial = Trial(values)
        values.prepare()
        say(version=values.VERSION, device=values.device())
        for job in jobs:
            for path in job["paths"]:
                say(operator=job["operator"], path=path, state="begun")
                answer = trial.answer(job["operator"], path, job["examples"], lambda seconds: say(patience=seconds))
                say(operator=job["operator"], path=path, **answer)
                if answer["state"] in ("has", "not tried"):
                    break


class Trial:
    """A trial of operators in a framework, which are called as a network calls them in PyTorch."""

    def __init__(self, values: TrialFramework) -> None:
        self._values = values
        """The module that handles the framework's tensors: `opbridge.models.scan.jax_values`."""

    def answer(self, operator: str, path: str, examples: list[str], took: Callable[[float], None]) -> dict[str, object]:
        """Return `state`, a value of scan.model.State, with the reason if it is not the best.

        `took` receives the seconds that each example takes in PyTorch.
        """
        function = find(self._values.ROOT, path)
        if function is None:
            return {"state": "missing"}
        if not examples:
            return {"state": "not tried"}
        try:
            given = (torch.load(example, weights_only=True)["arguments"] for example in examples)
            return _agreeing([self._tried(operator, path, function, arguments, took) for arguments in given])
        except Mismatch as mismatch:
            return {"state": "differs", "reason": str(mismatch)}
        except NotTried as failure:
            return {"state": "not tried", "reason": str(failure)}
        except NoGradient as failure:
            return {"state": "no gradient", "reason": str(failure)}
        except Exception as failure:  # any error of the framework is the answer
            return {"state": "fails", "reason": _first_line(failure)}

    def _tried(self, *call: Any) -> tuple[int, str]:
        """Return the index of the call that agrees, or of the first that needs another device, and why it does."""
        try:
            return self._check(*call), ""
        except ElsewhereError as failure:
            return failure.form, str(failure)

    def _check(
        self,
        operator: str,
        path: str,
        function: Callable[..., object],
        arguments: dict[str, object],
        took: Callable[[float], None],
    ) -> int:
        """Return the index of the first call that agrees; raise an error if none does."""
        op = _torch_operator(operator)
        if any(item.name == "device" and not item.has_default_value() for item in op._schema.arguments):
            arguments["device"] = torch.device("cpu")
        started = time.monotonic()
        with _in_pytorch():
            expected = list(leaves(op(**arguments)))
        took(time.monotonic() - started)
        compares_values = not _draws(op, arguments) and not op._opname.startswith(_UNINITIALISED)
        defaults = {item.name: item.default_value for item in op._schema.arguments if item.has_default_value()}
        translated = {name: self._translated(value) for name, value in arguments.items()}
        failure: Exception | None = None
        for form, (args, kwargs) in enumerate(calls(operator, path, translated, defaults, parameters_of(function))):
            try:
                got = list(leaves(self._values.called(function, args, kwargs)))
                self._compare(expected, got, compares_values)
            except Mismatch as mismatch:
                failure = mismatch
            except Exception as error:
                _expect_here(error, form)
                failure = failure or error
            else:
                if compares_values:
                    try:
                        self._check_gradient(op, function, args, kwargs, arguments, translated)
                    except NoGradient as error:
                        _expect_here(error, form)
                        raise
                return form
        if failure is None or (isinstance(failure, TypeError) and _OF_ARGUMENTS.search(str(failure))):
            raise Mismatch("it takes other arguments")
        raise failure

    def _compare(self, expected: list[object], got: list[object], values: bool) -> None:
        if len(got) != len(expected):
            raise Mismatch(f"it gives {len(got)} results instead of {len(expected)}")
        for want, have in zip(expected, got, strict=True):
            if isinstance(want, torch.Tensor):
                self._compare_tensors(want.detach(), have, values)
            elif want != have and not (want != want and have != have):
                raise Mismatch(f"it gives {have!r:.40} instead of {want!r:.40}")

    def _compare_tensors(self, want: torch.Tensor, have: object, values: bool) -> None:
        if not isinstance(have, self._values.TENSOR):
            raise Mismatch(f"it gives a {type(have).__name__} instead of a tensor")
        if tuple(have.shape) != tuple(want.shape):
            raise Mismatch(f"it gives shape {tuple(have.shape)} instead of {tuple(want.shape)}")
        array = self._values.numbers_of(have)
        if (wanted := str(want.dtype).removeprefix("torch.")) != (came := self._values.dtype_of(have)):
            raise Mismatch(f"it gives {came} instead of {wanted}")
        if not values:
            return
        relative, absolute = _TOLERANCES.get(want.dtype, (0.0, 0.0))
        reference = (want.float() if want.dtype is torch.bfloat16 else want).contiguous().numpy()
        largest = np.abs(reference[np.isfinite(reference)]).max(initial=1) if absolute else 1
        if not np.allclose(array, reference, relative, absolute * largest, equal_nan=True):
            raise Mismatch("it gives other values")

    def _check_gradient(
        self,
        op: OpOverload,
        function: Callable[..., object],
        args: tuple[object, ...],
        kwargs: dict[str, object],
        arguments: dict[str, object],
        translated: dict[str, object],
    ) -> None:
        """Compare the gradients of a weighted sum of all results that have a gradient."""
        pairs = zip(leaves(arguments), leaves(translated), strict=True)
        wanted = [(ours, theirs) for ours, theirs in pairs if _wants_gradient(ours)]
        with _in_pytorch():
            results = list(leaves(op(**arguments)))
            weights = {place: _weights(result) for place, result in enumerate(results) if _wants_gradient(result)}
            if not wanted or not weights:
                return
            torch.autograd.backward([_real((results[place] * each).sum(), torch) for place, each in weights.items()])
        for layout in self._values.LAYOUTS:
            self._check_gradient_in(layout, function, args, kwargs, wanted, weights)

    def _check_gradient_in(
        self,
        layout: Layout,
        function: Callable[..., object],
        args: tuple[object, ...],
        kwargs: dict[str, object],
        wanted: list[tuple[torch.Tensor, Tensor]],
        weights: dict[int, torch.Tensor],
    ) -> None:
        """Compare the gradients where inputs and incoming gradients lie in memory in one way."""
        places = {id(theirs): place for place, (_, theirs) in enumerate(wanted)}
        factors = {place: layout.copied(self._translated(each)) for place, each in weights.items()}

        def weighted_sum(*tensors: Tensor) -> Tensor:
            laid = [layout.turned(each) for each in tensors]

            def put(value: object) -> object:
                return laid[places[id(value)]] if id(value) in places else value

            outcome = list(leaves(function(*mapped(args, put), **mapped(kwargs, put))))
            sums = [(layout.turned(outcome[place]) * each).sum() for place, each in factors.items()]
            first, *more = (_real(each, self._values.FUNCTIONS) for each in sums)
            total: Tensor = reduce(add, more, first)
            return total

        try:
            gradients = self._values.gradients(weighted_sum, [layout.copied(theirs) for _, theirs in wanted])
            for (ours, _), gradient in zip(wanted, gradients, strict=True):
                zeros = torch.zeros_like(ours)
                self._compare_tensors(zeros if ours.grad is None else ours.grad, layout.turned(gradient), values=True)
        except Mismatch as mismatch:
            raise NoGradient(str(mismatch).replace("it gives", "its gradient has")) from None
        except Exception as error:  # any error of the framework is the answer
            raise NoGradient(_first_line(error)) from None

    def _translated(self, value: Any) -> Any:
        """Return a value with the framework's tensors and element types."""
        return mapped(value, self._values.leaf)


def _agreeing(tried: list[tuple[int, str]]) -> dict[str, object]:
    """Return the answer for examples that all agree, or cannot be computed on this device."""
    forms = {form for form, _ in tried}
    reason = next((reason for _, reason in tried if reason), "")
    found = {"state": "only on Ascend", "reason": reason} if reason else {"state": "has"}
    return {**found, "form": forms.pop() if len(forms) == 1 else None}


def _torch_operator(name: str) -> OpOverload:
    qualified, _, overload = name.partition(".")
    namespace, _, base = qualified.partition("::")
    return getattr(getattr(getattr(torch.ops, namespace), base), overload or "default")


def _draws(op: OpOverload, arguments: dict[str, object]) -> bool:
    """Return whether a call draws random numbers; attention without dropout does not, although its operator may."""
    if torch.Tag.nondeterministic_seeded not in op.tags:
        return False
    with torch.random.fork_rng(devices=[]), torch.no_grad():
        before = torch.get_rng_state()
        op(**arguments)
        return not torch.equal(before, torch.get_rng_state())


def _weights(result: torch.Tensor) -> torch.Tensor:
    """Return the factors of a result's elements in a sum.

    Their signs alternate: if all of one sign came first, the large partial sum would determine the rounding error.
    """
    return torch.arange(result.numel(), dtype=torch.float64).cos().reshape(result.shape).to(result.dtype)


def _real(number: Any, functions: ModuleType) -> Any:
    """Return the real part of a complex number by a framework's functions, and other numbers unchanged."""
    return functions.real(number) if "complex" in str(number.dtype).lower() else number


def _wants_gradient(value: object) -> bool:
    return isinstance(value, torch.Tensor) and bool(value.requires_grad)


def _expect_here(error: Exception, form: int) -> None:
    """Raise ElsewhereError if an error says that the framework has no kernel for this device."""
    if _ELSEWHERE.search(str(error)):
        raise ElsewhereError(_first_line(error), form) from error


def _first_line(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines()]
    if lacks := _ELSEWHERE.search(str(error)):
        return lacks[0]
    return next((line.rstrip(".") for line in lines if re.search(r"\w", line)), type(error).__name__)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
