"""Build a task in the reference process at one set of sizes: a model, and inputs for it."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from types import ModuleType
from typing import Any, Protocol

import torch
from torch.overrides import TorchFunctionMode

from opbridge.analysis.judge.task.formats import TaskFormat

Change = Callable[[Any], Any]
"""A function from the inputs that a task draws to others of the same sizes."""


class Problem(Protocol):
    """A task at one set of sizes."""

    initial: Any
    """The arguments that create the model of the answer."""
    model: torch.nn.Module

    def inputs(self, change: Change) -> Any:
        """Draw inputs and return them after `change`."""


def problem(form: TaskFormat, module: ModuleType, settings: dict[str, Any], seed: int) -> Problem:
    """Build the task of a module, with the arguments of its functions in `settings`."""
    torch.manual_seed(seed)
    if form.hands_functions:
        return FunctionProblem(module, settings)
    return ModelProblem(module, seed)


class _WithoutGpu(TorchFunctionMode):  # type: ignore[misc]
    """A mode that creates tensors on the default device if the task asks for a GPU."""

    def __torch_function__(self, function: Any, types: Any, arguments: Any = (), named: Any = None) -> Any:
        kept = {key: value for key, value in (named or {}).items() if key != "device" or "cuda" not in str(value)}
        return arguments[0] if function is torch.Tensor.cuda else function(*arguments, **kept)


class ModelProblem:
    """A task whose answer has its own model, in place of the model of the task."""

    def __init__(self, module: ModuleType, seed: int) -> None:
        self._inputs = module.get_inputs
        with _WithoutGpu():
            self.initial = module.get_init_inputs()
            torch.manual_seed(seed)
            self.model = module.Model(*self.initial)

    def inputs(self, change: Change) -> Any:
        """Draw inputs and return them after `change`."""
        with _WithoutGpu():
            return change(self._inputs())


class FunctionProblem:
    """A task whose model calls a function of the answer; the call arguments become the inputs."""

    initial: Any = ()

    def __init__(self, module: ModuleType, settings: dict[str, Any]) -> None:
        self._module, self._settings = module, settings
        self._model = module.Model(**_taken(module.Model, settings))
        self.model: torch.nn.Module = _Forward(module.forward_fn)

    def inputs(self, change: Change) -> Any:
        """Draw inputs of the task and return the arguments of the function that it calls."""
        given = change(self._module.get_inputs(**_taken(self._module.get_inputs, self._settings)))
        called: list[Any] = []

        def function(*arguments: Any) -> Any:
            called[:] = [_plain(argument) for argument in arguments]
            return self._module.forward_fn(*arguments)

        with torch.no_grad():
            result = self._model(*given, fn=function)
        if not hasattr(self._module, "AutogradFunction"):
            return called
        backward = _Backward(self._module, called, torch.randn_like(result))
        self.model = backward
        return backward.given


class _Forward(torch.nn.Module):  # type: ignore[misc]
    def __init__(self, function: Any) -> None:
        super().__init__()
        self._function = function

    def forward(self, *arguments: Any) -> Any:
        return self._function(*arguments)


class _Backward(torch.nn.Module):  # type: ignore[misc]
    """The gradients that the AutogradFunction of a task requests, computed by PyTorch in the same order."""

    def __init__(self, module: ModuleType, forward: list[Any], gradient: torch.Tensor) -> None:
        super().__init__()
        self._function = module.forward_fn
        self._forward = forward
        self.given, self._of = _asked(module.AutogradFunction, forward, gradient)
        known = {id(tensor): place for place, tensor in enumerate(_tensors(self.given))}
        self._gradient = known[id(gradient)]
        self._places = [known.get(id(argument)) for argument in forward]

    def forward(self, *arguments: Any) -> Any:
        given = _tensors(arguments)
        wide = given[self._gradient].dtype
        values = [
            _like(one, wide) if at is None else given[at] for one, at in zip(self._forward, self._places, strict=True)
        ]
        for place in self._of:
            values[place] = values[place].detach().requires_grad_()
        with torch.enable_grad():
            result = self._function(*values)
        return list(torch.autograd.grad(result, [values[place] for place in self._of], given[self._gradient]))


class _Context:
    """The context object that functions of torch.autograd store values in."""

    def __init__(self, count: int) -> None:
        self.needs_input_grad = (True,) * count
        self.saved_tensors: tuple[Any, ...] = ()

    def save_for_backward(self, *tensors: Any) -> None:
        self.saved_tensors = tensors

    def mark_non_differentiable(self, *tensors: Any) -> None:
        pass

    def set_materialize_grads(self, value: bool) -> None:
        pass


def _asked(function: Any, forward: list[Any], gradient: torch.Tensor) -> tuple[Any, list[int]]:
    """Return the arguments of the answer, and for each of its results the index of the forward argument.

    Raises:
        ValueError: The results cannot be matched.
    """
    context = _Context(len(forward))
    with torch.no_grad():
        function.forward(context, *forward)
    for results in (object(), *(tuple(object() for _ in range(n)) for n in range(1, len(forward) + 1))):
        called: list[Any] = []

        def backward(*arguments: Any, results: Any = results, called: list[Any] = called) -> Any:
            called[:] = arguments
            return results

        function.backward_fn = staticmethod(backward)
        try:
            returned = function.backward(context, gradient)
        except (TypeError, ValueError):
            continue  # try another number of results
        returned = list(returned) if isinstance(returned, tuple) else [returned]
        wanted = results if isinstance(results, tuple) else (results,)
        if all(any(one is other for other in returned) for one in wanted):
            places = [next(i for i, other in enumerate(returned) if one is other) for one in wanted]
            return called, places
    raise ValueError("AutogradFunction.backward does not return what backward_fn gives")


def _taken(function: Any, settings: dict[str, Any]) -> dict[str, Any]:
    return {name: settings[name] for name in inspect.signature(function).parameters if name in settings}


def _plain(value: Any) -> Any:
    return value.detach() if isinstance(value, torch.Tensor) else value


def _like(value: Any, dtype: torch.dtype) -> Any:
    return value.to(dtype) if isinstance(value, torch.Tensor) and value.is_floating_point() else value


def _tensors(value: Any) -> list[torch.Tensor]:
    from opbridge.analysis.judge.tensors import tensors_in

    return tensors_in(list(value))
