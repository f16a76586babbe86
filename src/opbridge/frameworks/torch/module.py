"""Build a torch.nn.Module class around a function: `ob.module`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from opbridge.base.errors import CallError
from opbridge.frameworks.torch.autograd import need_torch

if TYPE_CHECKING:
    from torch import Tensor

    from opbridge.frameworks.torch.module_class import Shapes


def module(
    function: Callable[..., object],
    *,
    parameters: Shapes,
    init: Mapping[str, Callable[[Tensor], object]] | None = None,
    name: str | None = None,
) -> Any:
    """Return a `torch.nn.Module` class that calls `function` with some arguments as parameters of the module.

    Args:
        function: The function or operator.
        parameters: A map from these arguments to shapes, or a function that returns such a map; its parameters,
            such as sizes, become keywords of the class.
        init: A map from arguments to initializers such as `torch.nn.init.zeros_`.
        name: The name of the class.

    Returns:
        The class.

    Raises:
        CallError: An argument is invalid, or a name is not an argument of `function`.
        ToolchainError: PyTorch is not installed.

    Example:
        def scale(x, weight):
            return x * weight

        Scale = ob.module(scale, parameters=lambda size: {"weight": (size,)}, init={"weight": torch.nn.init.ones_})
        print(Scale(size=3)(torch.arange(3.0)).detach())  # tensor([0., 1., 2.])
    """
    need_torch("module")
    if not callable(function):
        raise CallError(f"module() expects a function, got {type(function).__name__}")
    from opbridge.frameworks.torch.module_class import module_class

    # Like namedtuple, record the module of the caller, so that instances can be pickled.
    home = sys._getframe(1).f_globals.get("__name__", "__main__")
    return module_class(function, parameters, init or {}, name, home)
