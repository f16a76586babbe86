"""The references that results are compared with: another device's kernel, a Python function, or a PyTorch operator."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import sys
import sysconfig
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from opbridge.base.errors import InputError, did_you_mean
from opbridge.base.safe_open import real_path
from opbridge.verify.check.arrays import Argument, Array
from opbridge.verify.check.drivers import Driver, driver, listed, packed
from opbridge.verify.check.kernel_declarations import in_numpy
from opbridge.verify.check.results import Reference
from opbridge.waist.manifest import DEVICES
from opbridge.waist.manifest.kernel_origins import TWINS
from opbridge.waist.schema import Schema

if TYPE_CHECKING:
    from opbridge.waist.op import Op

_FORMS = "expected a device with a kernel, aten::name, module:function or file.py:function"


def reference_of(given: str | Callable[..., object]) -> Reference:
    """Return the reference that a user wrote, in a form that a worker process can find again.

    Raises:
        InputError: There is no such reference.
    """
    if callable(given):
        return Reference("python", _address(given))
    if given in DEVICES:
        return Reference("device", given)
    if given.startswith("aten::"):
        return Reference("aten", given)
    module, colon, function = given.rpartition(":")
    if not colon or not module or not function:
        raise InputError(f"'{given}' is not a reference", hint=_FORMS)
    function_at(given)  # report a missing function now
    # The process that calls it may be in another folder.
    return Reference("python", f"{Path(module).absolute()}:{function}" if module.endswith(".py") else given)


def _address(function: Callable[..., object]) -> str:
    name = getattr(function, "__qualname__", getattr(function, "__name__", ""))
    if not name or "<" in name:
        hint = "write it with `def` at the top of a file"
        raise InputError(f"a reference runs in a separate process, which cannot find {function!r}", hint=hint)
    try:
        file = inspect.getsourcefile(function)
    except TypeError:
        file = None  # the function belongs to a compiled module
    if file is None or any(Path(file).is_relative_to(folder) for folder in sysconfig.get_paths().values()):
        return f"{_module_of(function, name)}:{name}"
    # Use its file, because another process cannot import a test module by name.
    return f"{real_path(file)}:{name}"


def _module_of(function: Callable[..., object], name: str) -> str:
    """Return the module of a function; NumPy's own functions do not know theirs."""
    said: str | None = getattr(function, "__module__", None)
    holding = (module for module, value in list(sys.modules.items()) if vars(value).get(name) is function)
    return said or min(holding, key=len)


def function_at(address: str) -> Callable[..., object]:
    """Return the function at module:name or path.py:name.

    Raises:
        InputError: It does not exist or is not a function.
    """
    place, _, name = address.rpartition(":")
    found: object = None
    try:
        found = _from_file(place) if place.endswith(".py") else importlib.import_module(place)
        for part in name.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError, FileNotFoundError) as error:
        hint = did_you_mean(name.rpartition(".")[2], dir(found)) if found is not None else ""
        raise InputError(f"the reference {address} is not there: {error}", hint=hint or _FORMS) from None
    if not callable(found):
        raise InputError(f"the reference {address} is not a function")
    function: Callable[..., Any] = found
    return function


def _from_file(path: str) -> object:
    name = f"opbridge_reference_{abs(hash(path))}"
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, path)
        if spec is None or spec.loader is None:
            raise ImportError(f"{path} is not a Python file")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        sys.modules[name] = module
    return sys.modules[name]


class Oracle:
    """The source of an operator's expected outputs."""

    def __init__(self, op: Op, schema: Schema, reference: Reference | None) -> None:
        self._op = op
        self._schema = schema
        self._reference = reference
        self._drivers: dict[str, Driver] = {}
        self._kernel: Any = None

    @property
    def name(self) -> str:
        """The reference's name in messages; NumPy if none was given."""
        return str(self._reference) if self._reference else "NumPy"

    @property
    def is_python(self) -> bool:
        """Whether the reference is a Python function."""
        return self._reference is not None and self._reference.kind == "python"

    @property
    def is_exact(self) -> bool:
        """Whether the reference computes in float64, whatever the element type."""
        return self._reference is not None and self._reference.kind != "device"

    def outputs(self, arguments: Mapping[str, Argument]) -> list[Array]:
        """Return the outputs of the reference for these arguments."""
        if self._reference is None:
            return self._by_host("numpy", "cpu", arguments)
        if self._reference.kind == "python":
            return self._by_function(arguments)
        if self._reference.kind == "aten":
            return self._by_aten(self._reference.name, arguments)
        if self._reference.name in ("cpu", *TWINS):
            return self._by_kernel(self._reference.name, arguments)
        return self._by_host("torch", self._reference.name, arguments)

    def complex_outputs(self, arguments: Mapping[str, object]) -> list[object]:
        """Return the outputs of a Python function for complex tensors; attributes are passed unchanged."""
        assert self._reference is not None
        args, kwargs = packed(self._schema, arguments)
        return [np.asarray(output) for output in listed(function_at(self._reference.name)(*args, **kwargs))]

    def _by_host(self, name: str, device: str, arguments: Mapping[str, Argument]) -> list[Array]:
        where = self._drivers.setdefault(f"{name} {device}", driver(name, device))
        return [
            where.array(output) for output in where.call(self._op, self._schema, where.values(self._schema, arguments))
        ]

    def _by_kernel(self, device: str, arguments: Mapping[str, Argument]) -> list[Array]:
        where = self._drivers.setdefault("numpy cpu", driver("numpy"))
        if self._kernel is None:
            self._kernel = in_numpy(self._op, device)
        made = where.call(self._kernel, self._schema, where.values(self._schema, arguments))
        return [where.array(output) for output in made]

    def _by_function(self, arguments: Mapping[str, Argument]) -> list[Array]:
        return [
            _described(output)
            for output in self.complex_outputs({name: _plain(value) for name, value in arguments.items()})
        ]

    def _by_aten(self, name: str, arguments: Mapping[str, Argument]) -> list[Array]:
        import opbridge as ob

        where = self._drivers.setdefault("torch cpu", driver("torch"))
        wide = {name: _wide(value) for name, value in arguments.items()}
        args, kwargs = packed(self._schema, where.values(self._schema, wide))
        return [where.array(output) for output in listed(ob.aten(name.removeprefix("aten::")).torch(*args, **kwargs))]


def _plain(value: Argument) -> object:
    if isinstance(value, Array):
        return value.values.copy()
    return [_plain(item) for item in value] if isinstance(value, tuple) else value


def _wide(value: Argument) -> Argument:
    if isinstance(value, Array):
        return Array(value.values, value.values.dtype.name)
    return tuple(map(_wide, value)) if isinstance(value, tuple) else value


def _described(output: Any) -> Array:
    return Array(output, output.dtype.name)
