"""Build a torch.nn.Module class around a function some of whose arguments are parameters, for `ob.module`."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterable, Mapping

import torch

from opbridge.base.errors import CallError, did_you_mean
from opbridge.waist.functions.signatures import REQUIRED, FunctionParameter, name_of, parameters_of

Shape = Iterable[int]
Shapes = Mapping[str, Shape] | Callable[..., Mapping[str, Shape]]
"""The shape of each parameter, or a function that returns them."""


class FunctionModule(torch.nn.Module):  # type: ignore[misc]
    """The base of the classes that `ob.module` creates."""

    _function: Callable[..., object]
    _inputs: tuple[FunctionParameter, ...]
    _shapes: Callable[..., Mapping[str, Shape]]
    _init: Mapping[str, Callable[[torch.Tensor], object]]

    def __init__(
        self, *, device: torch.device | str | None = None, dtype: torch.dtype | None = None, **sizes: object
    ) -> None:
        super().__init__()
        cls = type(self)
        signature = inspect.signature(cls._shapes)
        try:
            bound = signature.bind(**sizes)
        except TypeError as error:
            wanted = ", ".join(map(str, signature.parameters.values())) or "no size"
            raise CallError(f"{cls.__name__}: {error}; it is made from {wanted}") from None
        bound.apply_defaults()
        self._sizes = dict(bound.arguments)
        shapes = cls._shapes(**sizes)
        _check_names(cls.__name__, shapes, cls._inputs)
        for name, shape in shapes.items():
            self.register_parameter(name, torch.nn.Parameter(torch.empty(tuple(shape), device=device, dtype=dtype)))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Initialize the parameters: by `init`, otherwise vectors with zeros and matrices as torch.nn.Linear."""
        for name, parameter in self._parameters.items():
            if parameter is None:
                continue
            if name in self._init:
                with torch.no_grad():
                    self._init[name](parameter)
            elif parameter.ndim < 2:
                torch.nn.init.zeros_(parameter)
            else:
                torch.nn.init.kaiming_uniform_(parameter, a=math.sqrt(5))

    def forward(self, *args: object, **kwargs: object) -> object:
        """Call the function with the parameters and these arguments; raise CallError if they do not fit."""
        rest, positional, by_keyword = list(args), [], {}
        for item in self._inputs:
            if item.name in self._parameters:
                value = getattr(self, item.name)
            elif rest and not item.keyword_only:
                value = rest.pop(0)
            elif item.name in kwargs:
                value = kwargs.pop(item.name)
            elif item.default is not REQUIRED:
                value = item.default
            else:
                raise CallError(f"{type(self).__name__} takes {self._taken()}; '{item.name}' was not given")
            if item.keyword_only:
                by_keyword[item.name] = value
            else:
                positional.append(value)
        if rest or kwargs:
            extra = f"'{next(iter(kwargs))}' is none of them" if kwargs else f"got {len(args)}"
            raise CallError(f"{type(self).__name__} takes {self._taken()}; {extra}")
        return type(self)._function(*positional, **by_keyword)

    def _taken(self) -> str:
        return ", ".join(item.name for item in self._inputs if item.name not in self._parameters) or "no argument"

    def extra_repr(self) -> str:
        """Return the sizes and the parameter shapes for the printed module."""
        shapes = ", ".join(
            f"{name}={tuple(value.shape)}" for name, value in self._parameters.items() if value is not None
        )
        return ", ".join([*(f"{name}={value}" for name, value in self._sizes.items()), shapes])


def module_class(
    function: Callable[..., object],
    parameters: Shapes,
    init: Mapping[str, Callable[[object], object]],
    name: str | None,
    home: str,
) -> type[FunctionModule]:
    """Create the class; `home` is the name of the Python module that it belongs to.

    Raises:
        CallError: The arguments of the function are unknown, or a name is not one of them.
    """
    title = name or "".join(part.capitalize() for part in name_of(function).rpartition(".")[2].split("_"))
    inputs = parameters_of(function)
    if inputs is None:
        raise CallError(
            f"module({name_of(function)}): nothing tells what its arguments are; "
            "autograd(..., inputs=('x', 'weights')) names them, or a Python function around it does"
        )
    if not isinstance(parameters, Mapping) and not callable(parameters):
        raise CallError(f"{title}: parameters= expects names with shapes, or a function that returns them")
    if isinstance(parameters, Mapping):
        fixed = dict(parameters)
        _check_names(title, fixed, inputs)

        def shapes() -> Mapping[str, Shape]:
            return fixed
    else:
        shapes = parameters
    _check_names(title, init, inputs)
    members = {
        "__module__": home,
        "__doc__": getattr(function, "__doc__", None),
        "_function": staticmethod(function),
        "_inputs": inputs,
        "_shapes": staticmethod(shapes),
        "_init": dict(init),
    }
    return type(title, (FunctionModule,), members)


def _check_names(title: str, names: Iterable[str], inputs: tuple[FunctionParameter, ...]) -> None:
    known = [item.name for item in inputs]
    for name in names:
        if name not in known:
            hint = did_you_mean(name, known) or f"they are {', '.join(known)}"
            raise CallError(f"{title}: parameters= names '{name}', which is not an argument of its function; {hint}")
