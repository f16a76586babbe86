"""Convert a PyTorch module to a package on disk, or to the object in it."""

from __future__ import annotations

import importlib.util
import sys
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

from opbridge.base.errors import InputError, UnsupportedError, did_you_mean, for_users
from opbridge.build.cache.filesystem import folder_of_this_process
from opbridge.frameworks import FRAMEWORKS, installed
from opbridge.models.conversion import device_check, native_operators, opaque_modules, standalone, weights
from opbridge.models.conversion.example_run import example_run
from opbridge.models.conversion.exported_graphs import Exported, export
from opbridge.models.conversion.function_source import MARK
from opbridge.models.scan.trials import TITLES

WEIGHTS = "weights.safetensors"
DEVICES = ("ascend",)
"""The devices other than the CPU that a package can be for."""
PREFERENCES = ("aten", "native")
DEFAULTS = {"jax": "native", "mindspore": "aten"}
"""The preference for each framework where none is given."""


@dataclass(frozen=True)
class Converted:
    """A network as the source of another framework."""

    to: str
    source: str
    state: Mapping[str, Any]
    """The values by PyTorch names."""
    operators: tuple[str, ...]
    """ATen names of the operators that PyTorch kernels compute."""
    native: tuple[str, ...] = ()
    """ATen names of the operators that the framework computes; the same calls were proved to agree."""
    in_the_way: Mapping[str, str] = field(default_factory=dict)
    """Why the framework does not compute the other operators, where it was tried."""
    modules: Mapping[str, bytes] = field(default_factory=dict, repr=False)
    """Modules that PyTorch runs whole, by file name."""
    notes: tuple[str, ...] = ()
    """The differences between the converted network and the PyTorch network."""
    example: Mapping[str, Any] = field(default_factory=dict, repr=False)
    """The example inputs and the results of PyTorch, as `input.0` and `result.0`; empty if the network is random."""
    device: str | None = None
    """The device that the package is for, if it is not the CPU: `ascend`."""
    package: Any = field(default=None, repr=False, compare=False)
    """The object that wrote the source and knows what each of its names represents."""

    @property
    def is_standalone(self) -> bool:
        """Whether the framework computes everything, so that the package imports neither PyTorch nor opbridge."""
        return not self.operators and not self.package.operators.needs_pytorch and self.package.natives is not None

    @property
    def documented(self) -> tuple[str, ...]:
        """ATen names of native operators that no CPU can try: they follow the documentation of the framework."""
        natives = self.package.natives
        return tuple(name for name in self.native if natives is not None and natives.is_documented(name))

    def require_native(self) -> None:
        """Raise UnsupportedError if operators remain that the framework does not compute itself."""
        if self.in_the_way:
            rows = [f"  {name}: {why}" for name, why in self.in_the_way.items()]
            head = f"the network has operators that are not {TITLES[self.to]}'s own:"
            raise UnsupportedError("\n".join([head, *rows]))

    def write(self, folder: Path) -> None:
        """Write the package into a folder, for `from net_ms import load`.

        Raises:
            InputError: The folder has a package that opbridge did not write, or it cannot be written.
        """
        try:
            kept = folder / "__init__.py"
            if kept.exists() and MARK not in kept.read_text(encoding="utf-8", errors="replace"):
                raise InputError(f"{kept} exists and opbridge did not write it", hint="name another folder: -o net_ms")
            folder.mkdir(parents=True, exist_ok=True)
            for name, text in self._texts().items():
                (folder / name).parent.mkdir(exist_ok=True)
                (folder / name).write_text(text, encoding="utf-8")
            if self.is_standalone and self.example:
                weights.save(folder / standalone.EXAMPLE, self.example)
            weights.save(folder / WEIGHTS, self.state)
            for name, stored in self.modules.items():
                (folder / name).write_bytes(stored)
        except OSError as error:
            raise InputError(f"cannot write {folder}: {error.strerror}") from None

    def _texts(self) -> dict[str, str]:
        """Return the texts of the package by file name."""
        own = {"network.py": self.source, "__init__.py": _INIT[self.to]}
        if not self.is_standalone:
            return own
        test = {"test_network.py": standalone.test_text(self.to, MARK)} if self.example else {}
        if self.device and self.example:
            test["check_on_device.py"] = device_check.text(MARK)
        return {name: standalone.relative(text) for name, text in own.items()} | standalone.files(self.to) | test


def converted(
    module: object,
    args: Sequence[object],
    kwargs: Mapping[str, object] | None = None,
    *,
    to: str = "mindspore",
    dynamic_shapes: Any = None,
    prefer: str | None = None,
    native_only: bool = False,
    device: str | None = None,
) -> Converted:
    """Convert a PyTorch module to the source of the framework `to`.

    The parameters are those of `convert`. `native_only` refuses a network with operators that the framework does not
    compute itself. So does the device `ascend`, which also takes operators that only an NPU can run.

    Raises:
        InputError: The module is not a torch.nn.Module, or `to`, `prefer` or `device` is unknown.
        UnsupportedError: The network cannot be exported or rendered.
    """
    if not hasattr(module, "named_parameters"):
        raise InputError(
            f"a {type(module).__name__} is not a torch.nn.Module", hint="what makes one is called: MODULE:make()"
        )
    if to not in TITLES:
        raise InputError(
            f"a network cannot be converted to '{to}'", hint=did_you_mean(to, TITLES) or "mindspore or jax"
        )
    if prefer is None:
        prefer = DEFAULTS[to] if installed(FRAMEWORKS[to]) else "aten"
    if prefer not in PREFERENCES:
        raise InputError(
            f"operators cannot be preferred as '{prefer}'", hint=did_you_mean(prefer, PREFERENCES) or "aten or native"
        )
    _require_device(device, to)
    native_only = native_only or device is not None
    example = example_run(module, args, kwargs or {}, differentiated=device is not None)
    exported = export(module, args, kwargs or {}, dynamic_shapes, needs_sizes=to == "jax")
    tries = prefer == "native" or native_only
    own = native_operators.tried(module, args, kwargs or {}, to, on_ascend=device is not None) if tries else None
    package_of = importlib.import_module(f"opbridge.models.conversion.{to}_package").Package
    package = package_of(exported, own)
    source = package.source()
    if own is not None and own.unseen:
        package = package_of(exported, own.with_unseen())
        source = package.source()
    used, native = (tuple(sorted(each)) for each in (package.operators.used, package.operators.native))
    kept = opaque_modules.kept(used)
    arrays = {name: array_of(value) for name, value in example.items()}
    why, notes = package.in_the_way(), exported.notes
    made = Converted(to, source, _state(exported), used, native, why, kept, notes, arrays, device, package)
    if native_only:
        made.require_native()
    return made


def _require_device(device: str | None, to: str) -> None:
    if device not in (None, *DEVICES):
        raise InputError(f"a network cannot be converted for '{device}'", hint=" or ".join(DEVICES))
    if device == "ascend" and to != "mindspore":
        raise InputError(f"an Ascend NPU runs MindSpore, not {TITLES[to]}", hint="--to mindspore --target ascend")


@for_users
def convert(
    module: object,
    example_inputs: Sequence[object],
    example_kwargs: Mapping[str, object] | None = None,
    *,
    to: str = "mindspore",
    dynamic_shapes: Any = None,
    prefer: str | None = None,
) -> Any:
    """Convert a PyTorch module to MindSpore or JAX.

    Args:
        module: The PyTorch module.
        example_inputs: The inputs of the trace.
        example_kwargs: Keyword inputs of the trace.
        to: "mindspore" or "jax".
        dynamic_shapes: The free sizes, in the form of torch.export.
        prefer: "native" uses the framework's own operators if they agree with PyTorch; "aten" uses PyTorch's kernels.
            The default is "native" for JAX and "aten" for MindSpore.

    Returns:
        A MindSpore Cell, or for JAX a function and a dict of arrays.

    Example:
        apply, values = ob.convert(torch.nn.Linear(2, 1), (torch.ones(3, 2),), to="jax")
        print(apply(values, np.ones((3, 2), np.float32)).shape)  # (3, 1)
    """
    if hasattr(example_inputs, "shape"):
        example_inputs = (example_inputs,)
    made = converted(module, example_inputs, example_kwargs, to=to, dynamic_shapes=dynamic_shapes, prefer=prefer)
    for note in made.notes:
        warnings.warn(note, stacklevel=2)
    # Graph mode reads the source of compiled code for as long as the process runs.
    folder = folder_of_this_process("opbridge-convert-") / f"network_{_count()}"
    made.write(folder)
    return imported(folder).load()


def imported(folder: Path) -> ModuleType:
    """Import the package in any folder, under a unique name."""
    name = f"opbridge_converted_{folder.name}_{_count()}"
    spec = importlib.util.spec_from_file_location(
        name, folder / "__init__.py", submodule_search_locations=[str(folder)]
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def _count() -> int:
    return sum(name.startswith("opbridge_converted_") for name in sys.modules)


def _state(exported: Exported) -> dict[str, object]:
    state = {name: value for name, value in exported.state.items() if name not in exported.tied}
    return {name.replace("@", "__"): array_of(value) for name, value in state.items()}


def array_of(value: Any) -> Any:
    """Return a tensor as a NumPy array; bfloat16 is the ml_dtypes type."""
    if str(value.dtype) == "torch.bfloat16":
        import ml_dtypes

        return value.detach().float().cpu().numpy().astype(ml_dtypes.bfloat16)
    return value.detach().cpu().numpy()


_INIT = {
    "mindspore": f'''"""{MARK}, which writes it anew: `load()` is the network with the weights it was made with."""

from pathlib import Path

from opbridge.models.conversion import cells

from .network import network

WEIGHTS = Path(__file__).with_name("{WEIGHTS}")


def load(weights=WEIGHTS):
    """The network with the values of a file: safetensors, PyTorch's or MindSpore's."""
    return cells.load(network(), weights)
''',
    "jax": f'''"""{MARK}, which writes it anew: `load()` is the function and the values it was made with."""

from pathlib import Path

from opbridge.models.conversion import arrays

from .network import BUFFERS, TIED, apply

WEIGHTS = Path(__file__).with_name("{WEIGHTS}")


def load(weights=WEIGHTS):
    """`apply`, and its first argument: a dict of arrays by PyTorch's names."""
    return apply, arrays.load(weights, TIED)


def module(weights=WEIGHTS, rngs=None):
    """The network as a module of flax.nnx; `rngs` has a stream `dropout` where training draws."""
    from opbridge.models.conversion.nnx_module import Network

    return Network(*load(weights), BUFFERS, rngs)
''',
}
