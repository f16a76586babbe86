"""The child process that tries operators in MindSpore: `python -m opbridge.scan.probe JOBS PIPE`.

It reads a JSON list of jobs and writes one JSON line to the pipe before every attempt and after it, so that whoever
started it knows which one killed it.  Nothing is right because it exists: it is called with what the model called
PyTorch's with, and value, dtype, shape and, where the model wants one, gradient are compared.
"""

from __future__ import annotations

import json
import os
import re
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import mindspore
import numpy as np
import torch

from opbridge.scan.names import calls, candidates, find, parameters_of

_TOLERANCES = {
    torch.float64: (1e-7, 1e-9),
    torch.float32: (1e-4, 1e-5),
    torch.float16: (1e-2, 1e-3),
    torch.bfloat16: (4e-2, 1e-2),
    torch.complex128: (1e-7, 1e-9),
    torch.complex64: (1e-4, 1e-5),
}
_OF_ARGUMENTS = re.compile(r"argument|calling|should be one of")
"""What MindSpore says of a call that does not fit, all of them TypeErrors, as are dtypes without a kernel."""
_UNINITIALISED = ("empty", "new_empty", "resize")


class Mismatch(Exception):
    """MindSpore computes something else."""


class NoGradient(Exception):
    """The value is right and its gradient is not to be had."""


def main(jobs_path: str, pipe: int) -> None:
    with open(jobs_path) as file:
        jobs = json.load(file)
    with os.fdopen(pipe, "w", buffering=1) as report:

        def say(**fields: object) -> None:
            report.write(json.dumps(fields) + "\n")

        mindspore.runtime.launch_blocking()  # an error must not surface in the next attempt
        device = mindspore.get_context("device_target")
        say(mindspore=mindspore.__version__, device=device)
        for job in jobs:
            for path in job["paths"]:
                say(operator=job["operator"], path=path, state="begun")
                answer = _tried(job["operator"], path, job["examples"], lambda seconds: say(patience=seconds))
                say(operator=job["operator"], path=path, **answer)
                if answer["state"] in ("has", "not tried"):
                    break


def places(operator: str) -> tuple[str, ...]:
    """Where MindSpore has something of an operator's name, untried."""
    return tuple(path for path in candidates(operator) if find(mindspore, path) is not None)


def _tried(operator: str, path: str, examples: list[str], took: Callable[[float], None]) -> dict[str, object]:
    """`state` as scan.model.State has it, and the reason if it is not the best."""
    function = find(mindspore, path)
    if function is None:
        return {"state": "missing"}
    if not examples:
        return {"state": "not tried"}
    try:
        given = (torch.load(example, weights_only=True)["arguments"] for example in examples)
        forms = {_check(operator, path, function, arguments, took) for arguments in given}
    except Mismatch as mismatch:
        return {"state": "differs", "reason": str(mismatch)}
    except NoGradient as failure:
        return {"state": "no gradient", "reason": str(failure)}
    except Exception as failure:  # whatever MindSpore raises is its answer
        return {"state": "fails", "reason": _first_line(failure)}
    return {"state": "has", "form": forms.pop() if len(forms) == 1 else None}


def _check(
    operator: str, path: str, function: Callable[..., Any], arguments: dict[str, Any], took: Callable[[float], None]
) -> int:
    """Raises where it does not agree; else says by which of the ways to call it does."""
    op = _torch_operator(operator)
    if any(item.name == "device" and not item.has_default_value() for item in op._schema.arguments):
        arguments["device"] = torch.device("cpu")
    started = time.monotonic()
    expected = list(_leaves(op(**arguments)))
    took(time.monotonic() - started)
    compares_values = torch.Tag.nondeterministic_seeded not in op.tags and not op._opname.startswith(_UNINITIALISED)
    defaults = {item.name: item.default_value for item in op._schema.arguments if item.has_default_value()}
    translated = {name: _translated(value) for name, value in arguments.items()}
    failure: Exception | None = None
    for form, (args, kwargs) in enumerate(calls(operator, path, translated, defaults, parameters_of(function))):
        try:
            got = list(_leaves(function(*args, **kwargs)))
            _compare(expected, got, compares_values)
        except Mismatch as mismatch:
            failure = mismatch
        except Exception as error:
            failure = failure or error
        else:
            if compares_values:
                _check_gradient(op, function, args, kwargs, arguments, translated)
            return form
    if failure is None or (isinstance(failure, TypeError) and _OF_ARGUMENTS.search(str(failure))):
        raise Mismatch("it takes other arguments")
    raise failure


def _torch_operator(name: str) -> Any:
    qualified, _, overload = name.partition(".")
    namespace, _, base = qualified.partition("::")
    return getattr(getattr(getattr(torch.ops, namespace), base), overload or "default")


def _compare(expected: list[Any], got: list[Any], values: bool) -> None:
    if len(got) != len(expected):
        raise Mismatch(f"it gives {len(got)} results instead of {len(expected)}")
    for want, have in zip(expected, got, strict=True):
        if isinstance(want, torch.Tensor):
            _compare_tensors(want.detach(), have, values)
        elif want != have and not (want != want and have != have):
            raise Mismatch(f"it gives {have!r:.40} instead of {want!r:.40}")


def _compare_tensors(want: Any, have: Any, values: bool) -> None:
    if not isinstance(have, mindspore.Tensor):
        raise Mismatch(f"it gives a {type(have).__name__} instead of a tensor")
    if tuple(have.shape) != tuple(want.shape):
        raise Mismatch(f"it gives shape {tuple(have.shape)} instead of {tuple(want.shape)}")
    array = _array(have)
    if (wanted := str(want.dtype).removeprefix("torch.")) != (came := str(have.dtype).lower()):
        raise Mismatch(f"it gives {came} instead of {wanted}")
    if not values:
        return
    relative, absolute = _TOLERANCES.get(want.dtype, (0.0, 0.0))
    reference = (want.float() if want.dtype is torch.bfloat16 else want).contiguous().numpy()
    largest = np.abs(reference[np.isfinite(reference)]).max(initial=1) if absolute else 1
    if not np.allclose(array, reference, relative, absolute * largest, equal_nan=True):
        raise Mismatch("it gives other values")


def _check_gradient(
    op: Any, function: Any, args: Any, kwargs: Any, arguments: dict[str, Any], translated: dict[str, Any]
) -> None:
    """Compares the gradients of a weighted sum of the first result that has any."""
    pairs = zip(_leaves(arguments), _leaves(translated), strict=True)
    wanted = [(ours, theirs) for ours, theirs in pairs if _wants_gradient(ours)]
    results = list(_leaves(op(**arguments)))
    index = next((i for i, result in enumerate(results) if _wants_gradient(result)), None)
    if not wanted or index is None:
        return
    result = results[index]
    # Of both signs by turns: where all of one sign come first, a sum that cancels is rounded by what it was before.
    weights = torch.arange(result.numel(), dtype=torch.float64).cos().reshape(result.shape).to(result.dtype)
    (result * weights).sum().backward()
    their_weights = _translated(weights)
    places = {id(theirs): place for place, (_, theirs) in enumerate(wanted)}

    def weighted_sum(*tensors: Any) -> Any:
        def put(value: Any) -> Any:
            return tensors[places[id(value)]] if id(value) in places else value

        outcome = function(*_mapped(args, put), **_mapped(kwargs, put))
        return (list(_leaves(outcome))[index] * their_weights).sum()

    try:
        gradients = mindspore.grad(weighted_sum, tuple(range(len(wanted))))(*(theirs for _, theirs in wanted))
        gradients = gradients if isinstance(gradients, tuple) else (gradients,)
        for (ours, _), gradient in zip(wanted, gradients, strict=True):
            _compare_tensors(torch.zeros_like(ours) if ours.grad is None else ours.grad, gradient, values=True)
    except Mismatch as mismatch:
        raise NoGradient(str(mismatch).replace("it gives", "its gradient has")) from None
    except Exception as error:  # whatever MindSpore raises is its answer
        raise NoGradient(_first_line(error)) from None


def _wants_gradient(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and bool(value.requires_grad)


def _translated(value: Any) -> Any:
    """PyTorch's tensors and dtypes as MindSpore's."""
    return _mapped(value, _translated_leaf)


def _translated_leaf(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        detached = value.detach().contiguous()
        if value.dtype is torch.bfloat16:
            return mindspore.Tensor(detached.float().numpy()).astype(mindspore.bfloat16)
        return mindspore.Tensor(detached.numpy())
    if isinstance(value, torch.dtype):
        name = str(value).removeprefix("torch.")
        return getattr(mindspore, "bool_" if name == "bool" else name)
    return value


def _array(tensor: Any) -> Any:
    widened = tensor.astype(mindspore.float32) if tensor.dtype == mindspore.bfloat16 else tensor
    return widened.asnumpy()


def _mapped(value: Any, function: Callable[[Any], Any]) -> Any:
    if isinstance(value, dict):
        return {key: _mapped(item, function) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return tuple(_mapped(item, function) for item in value)  # half of MindSpore's functions refuse lists
    return function(value)


def _leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        value = tuple(value.values())
    if isinstance(value, (list, tuple)):
        for item in value:
            yield from _leaves(item)
    else:
        yield value


def _first_line(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return lines[0].strip().rstrip(".") if lines else type(error).__name__


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
