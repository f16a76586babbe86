"""The frameworks an operator can be called from: one table, one Protocol, one module each.

A framework's module is imported when its tensors first arrive or its view is first asked for, and is the only one that
imports the framework.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Protocol

from opbridge.errors import ToolchainError, UnsupportedError, did_you_mean

if TYPE_CHECKING:
    from opbridge.frameworks.runtime import LibraryRuntime


class Adapter(Protocol):
    """What a framework's module offers."""

    def define(self, library: LibraryRuntime) -> None:
        """Make every operator of the library known to the framework, once."""

    def view(self, library: LibraryRuntime, index: int) -> Any:
        """The framework's own object for an operator."""

    def call(self, library: LibraryRuntime, index: int) -> Callable[..., Any]:
        """What `op(...)` runs when the framework's tensors are its arguments."""


@dataclass(frozen=True)
class Framework:
    name: str
    packages: tuple[str, ...]
    """The top-level packages that its tensor types come from; the first one is what is imported."""
    tensor: str
    """How messages call its tensors."""
    finds_by_name: bool = False
    """Whether it looks operators up by name, so that loading a library again has to reach it."""
    pip_name: str = ""
    """Where it is not the name of its package."""

    @property
    def distribution(self) -> str:
        return self.pip_name or self.packages[0]

    @property
    def install(self) -> str:
        return f"pip install {self.distribution}"


FRAMEWORKS = {
    framework.name: framework
    for framework in (
        Framework("torch", ("torch",), "a torch.Tensor", finds_by_name=True),
        Framework("numpy", ("numpy",), "a numpy.ndarray"),
        Framework("mindspore", ("mindspore",), "a mindspore.Tensor"),
        Framework("jax", ("jax", "jaxlib"), "a jax.Array", finds_by_name=True),
        Framework("paddle", ("paddle",), "a paddle.Tensor", pip_name="paddlepaddle"),
    )
}


def installed(framework: Framework) -> bool:
    return importlib.util.find_spec(framework.packages[0]) is not None


@cache
def adapter(name: str) -> Adapter:
    """The module of a framework."""
    framework = FRAMEWORKS.get(name)
    if framework is None:
        raise UnsupportedError(f"no framework '{name}'; {did_you_mean(name, FRAMEWORKS) or ', '.join(FRAMEWORKS)}")
    if not installed(framework):
        raise ToolchainError(f"{name} is not installed; install it with `{framework.install}`")
    module: Adapter = importlib.import_module(f"opbridge.frameworks.{name}.adapter")
    return module


def framework_of(value_type: type) -> Framework | None:
    """Whose tensor a type is, judged by its name alone, so that no framework is imported to find out."""
    for base in value_type.__mro__:
        package = base.__module__.partition(".")[0]
        for framework in FRAMEWORKS.values():
            if package in framework.packages and _is_tensor_name(base.__name__):
                return framework
    return None


def _is_tensor_name(name: str) -> bool:
    return "Tensor" in name or "rray" in name or name in ("Parameter", "Tracer")
