"""`ob.module`: a class of torch.nn.Module around a function."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from opbridge.errors import CallError
from opbridge.frameworks.torch.autograd import need_torch

if TYPE_CHECKING:
    from opbridge.frameworks.torch.module_class import Shapes


def module(
    function: Callable[..., Any],
    *,
    parameters: Shapes,
    init: Mapping[str, Callable[[Any], object]] | None = None,
    name: str | None = None,
) -> Any:
    """A class of `torch.nn.Module` that calls `function`, some of whose arguments are parameters of the module.

    `parameters` maps these arguments to shapes, or is a function of sizes, the class's keywords, that returns such a
    map.  `init` maps them to initialisers such as `torch.nn.init.zeros_`.
    """
    need_torch("module")
    if not callable(function):
        raise CallError(f"module() expects a function, got {type(function).__name__}")
    from opbridge.frameworks.torch.module_class import module_class

    # The class says where it lives, as namedtuple's do, so that its instances can be pickled.
    home = sys._getframe(1).f_globals.get("__name__", "__main__")
    return module_class(function, parameters, init or {}, name, home)
