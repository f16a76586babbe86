"""List the frameworks that operators can be called from: one row and one folder each.

A folder is imported when tensors of its framework first arrive or its view is first requested. Other packages can
add a framework: they announce a row as an entry point in the group `opbridge.frameworks`. The name of the entry
point is the name of the view, and of the package that the tensors come from.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from opbridge.base.errors import NoSuchFrameworkError, OpbridgeError, ToolchainError, UnsupportedError, did_you_mean

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from opbridge.frameworks.interface import Adapter, AtenAdapter

GROUP = "opbridge.frameworks"


@dataclass(frozen=True)
class Framework:
    """A framework, and how to find its tensors and its modules."""

    name: str
    """The name of its view: `op.NAME`."""
    packages: tuple[str, ...]
    """The top-level packages of its tensor types; the first one is imported."""
    tensor: str
    """The name of its tensors in messages."""
    view: str
    """A description of `op.NAME`."""
    conversion: str = ""
    """The expression that makes a tensor of its own from a tensor x of another framework."""
    package: str = ""
    """The package of its modules, which `opbridge.frameworks.interface` describes; empty for a folder here."""
    pip_name: str = ""
    """The name to install, if it differs from the package name."""
    finds_by_name: bool = False
    """Whether it looks operators up by name, so that it must know when a library is loaded again."""
    runs_aten: bool = False
    """Whether it supports the operators of `ob.aten`."""
    on_devices: bool = False
    """Whether a check can put its tensors on other devices than the CPU."""
    beside_others: bool = True
    """Whether it is usually installed together with the others, so that its absence is reported."""

    @property
    def distribution(self) -> str:
        """The name of the distribution on PyPI."""
        return self.pip_name or self.packages[0]

    @property
    def install(self) -> str:
        """The command that installs it."""
        return f"pip install {self.distribution}"


FRAMEWORKS = {
    row.name: row
    for row in (
        Framework(
            "torch",
            packages=("torch",),
            tensor="a torch.Tensor",
            view="The operator in `torch.ops`.",
            conversion="torch.as_tensor(numpy.asarray(x))",
            finds_by_name=True,
            runs_aten=True,
            on_devices=True,
        ),
        Framework(
            "numpy",
            packages=("numpy",),
            tensor="a numpy.ndarray",
            view="A function of arrays that also takes `out=`.",
            conversion="numpy.asarray(x)",
            runs_aten=True,
        ),
        Framework(
            "mindspore",
            packages=("mindspore",),
            tensor="a mindspore.Tensor",
            view="A Cell, for PyNative and Graph mode.",
            conversion="mindspore.Tensor(numpy.asarray(x))",
            runs_aten=True,
        ),
        Framework(
            "jax",
            packages=("jax", "jaxlib"),
            tensor="a jax.Array",
            view="A function that `jax.jit`, `jax.grad`, `jax.vmap` and the others take like any other.",
            conversion="jax.numpy.asarray(numpy.asarray(x))",
            finds_by_name=True,
            runs_aten=True,
        ),
        Framework(
            "paddle",
            packages=("paddle",),
            tensor="a paddle.Tensor",
            view="A function of `paddle.Tensor`, on the CPU.",
            conversion="paddle.to_tensor(numpy.asarray(x))",
            pip_name="paddlepaddle",
            beside_others=False,
        ),
    )
}
"""The frameworks that opbridge includes."""


def names() -> tuple[str, ...]:
    """Return the names of all frameworks, including those that other packages announce."""
    return (*FRAMEWORKS, *_announced())


def framework(name: str) -> Framework:
    """Return a framework by name; raise NoSuchFrameworkError if there is none."""
    found = FRAMEWORKS.get(name) or _brought(name)
    if found is None:
        raise NoSuchFrameworkError(f"no framework '{name}'; {did_you_mean(name, names()) or ', '.join(names())}")
    return found


def installed(framework: Framework) -> bool:
    """Return whether the package of a framework can be imported; do not import it."""
    package = framework.packages[0]
    # A stand-in for a module may have no spec.
    return sys.modules.get(package) is not None or importlib.util.find_spec(package) is not None


def need(framework: Framework) -> None:
    """Raise ToolchainError if a framework is not installed."""
    if not installed(framework):
        raise ToolchainError(f"{framework.name} is not installed; install it with `{framework.install}`")


@cache
def adapter(name: str) -> Adapter:
    """Import the adapter of a framework; raise ToolchainError if the framework is missing or broken."""
    module: Adapter = _module(name, "adapter")
    return module


@cache
def aten_adapter(name: str) -> AtenAdapter | None:
    """Import the ATen adapter of a framework; return None if it has no ATen operators."""
    if not framework(name).runs_aten:
        return None
    module: AtenAdapter = _module(name, "aten")
    return module


def _module(name: str, part: str) -> Any:
    row = framework(name)
    need(row)
    try:
        return importlib.import_module(f"{row.package or f'{__name__}.{name}'}.{part}")
    except OpbridgeError:
        raise
    except (ImportError, AttributeError, OSError, RuntimeError) as error:
        raise ToolchainError(
            f"{row.name} is here and does not work: {error}\n"
            f"  the import found {_origin(row)}; reinstall it: `{row.install}`"
        ) from error


def _origin(framework: Framework) -> str:
    module = sys.modules.get(framework.packages[0])
    return str(getattr(module, "__file__", None) or framework.packages[0])


def framework_of(value_type: type) -> Framework | None:
    """Return the framework of a tensor type by its name, without importing any; None if it is of none."""
    for package in _tensor_packages(value_type):
        for row in FRAMEWORKS.values():
            if package in row.packages:
                return row
    return None


def brought_framework_of(value_type: type) -> Framework | None:
    """Return the framework of a tensor type among those that other packages announce; None if there is none."""
    return next((row for package in _tensor_packages(value_type) if (row := _brought(package))), None)


def _tensor_packages(value_type: type) -> list[str]:
    return [base.__module__.partition(".")[0] for base in value_type.__mro__ if _is_tensor_name(base.__name__)]


_OTHER_TENSORS = ("Parameter", "Tracer", "Value", "Variable")
"""Types whose names are ambiguous; the last two are of graphs that are being made."""


def _is_tensor_name(name: str) -> bool:
    return "Tensor" in name or "rray" in name or name in _OTHER_TENSORS


@cache
def _announced() -> dict[str, EntryPoint]:
    """Return the entry points of announced frameworks, without importing any."""
    from importlib.metadata import entry_points

    return {entry.name: entry for entry in entry_points(group=GROUP) if entry.name not in FRAMEWORKS}


@cache
def _brought(name: str) -> Framework | None:
    entry = _announced().get(name)
    if entry is None:
        return None
    said = f"the framework '{name}' of the package {entry.dist.name if entry.dist else entry.module}"
    try:
        row = entry.load()
    except OpbridgeError:
        raise
    except Exception as error:
        raise UnsupportedError(f"{said} cannot be loaded ({entry.value}): {type(error).__name__}: {error}") from error
    if not isinstance(row, Framework) or row.name != name or name not in row.packages:
        raise UnsupportedError(
            f"{said}: expected {entry.value} to be a Framework whose name, and one of whose packages, is '{name}'; "
            f"got {row!r:.100}"
        )
    return row
