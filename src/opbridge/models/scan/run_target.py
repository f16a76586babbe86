"""Run the user's target: a script as Python would run it, or a model on inputs of given shapes."""

from __future__ import annotations

import importlib
import os
import re
import runpy
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from opbridge.base.errors import InputError, did_you_mean
from opbridge.models.scan.operator_recorder import Recorder

_INPUT = re.compile(r"(?P<shape>\d{1,18}(,\d{1,18})*,?|scalar)?(:(?P<dtype>\w+))?")
_TARGET = re.compile(r"(?P<module>[\w.]+):(?P<name>[\w.]+)(?P<call>\(\))?")


@dataclass(frozen=True)
class Input:
    """A tensor to run a model on, in command-line form: `2,3,224,224:float32`."""

    shape: tuple[int, ...]
    dtype: str

    @classmethod
    def parse(cls, text: str) -> Input:
        """Parse the command-line form; raise InputError if it is not a shape or has an unknown dtype."""
        match = _INPUT.fullmatch(text.replace(" ", ""))
        if match is None or not match["shape"]:
            hint = "sizes, and a dtype if it is not float32: 2,3,224,224 or 8,128:int64; scalar for no sizes"
            raise InputError(f"--input {text}: not a shape", hint=hint)
        sizes = () if match["shape"] == "scalar" else tuple(map(int, match["shape"].rstrip(",").split(",")))
        dtype = match["dtype"] or "float32"
        dtypes = [name for name, value in vars(torch).items() if isinstance(value, torch.dtype)]
        if dtype not in dtypes:
            raise InputError(f"--input {text}: PyTorch has no dtype '{dtype}'", hint=did_you_mean(dtype, dtypes))
        return cls(sizes, dtype)

    def tensor(self) -> torch.Tensor:
        """Return a random tensor; integers are 0 and 1, which are valid indices in most models."""
        dtype = getattr(torch, self.dtype)
        try:
            if dtype.is_floating_point or dtype.is_complex:
                return torch.randn(self.shape, dtype=dtype)
            # Small enough to be a valid index almost everywhere.
            return torch.randint(0, 2, self.shape).to(dtype)
        except (RuntimeError, TypeError) as error:
            shape = ",".join(map(str, self.shape))
            said = str(error).splitlines()[0]
            raise InputError(f"--input {shape}:{self.dtype}: PyTorch makes no such tensor: {said}") from None


def drawn(texts: Sequence[str]) -> tuple[torch.Tensor, ...]:
    """Return tensors of the shapes on a command line, the same in every run."""
    torch.manual_seed(0)
    return tuple(Input.parse(text).tensor() for text in texts)


def run_script(script: Path, arguments: Sequence[str], recorder: Recorder) -> None:
    """Run a script with arguments as `__main__`, and record its operators."""
    if not script.is_file():
        near = [path.name for path in script.parent.glob("*.py")] if script.parent.is_dir() else []
        hint = did_you_mean(script.name, near) or "a model in a module is named as package.module:Model"
        raise InputError(f"{script} is not there", hint=hint)
    before, path = sys.argv, list(sys.path)
    sys.argv = [str(script), *arguments]
    sys.path.insert(0, str(script.resolve().parent))
    try:
        with _as_written(str(script)), recorder.watching():
            runpy.run_path(str(script), run_name="__main__")
    finally:
        sys.argv, sys.path[:] = before, path


def run_model(target: str, inputs: Sequence[Input], recorder: Recorder) -> None:
    """Run a model on random inputs, the same in every run, and record its operators."""
    model = loaded_model(target)
    if not inputs:
        raise InputError(
            f"{target} needs inputs to run on",
            hint=f'say their shapes in order: opbridge scan {target} --input "2,3,224,224" --input "2,10:int64"',
        )
    torch.manual_seed(0)
    tensors = [item.tensor() for item in inputs]
    with _as_written(target), recorder.watching():
        model(*tensors)


def loaded_model(target: str) -> Callable[..., object]:
    """Return the model `package.module:Model`, or the result of `package.module:make()`."""
    found, match = _named(target)
    with _as_written(target):
        model: Callable[..., object] = found() if match["call"] or isinstance(found, type) else found
    if not callable(model):
        raise InputError(f"{match[0]} is a {type(model).__name__}, not a model")
    return model


def given(target: str) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return the inputs that `package.module:name` is, or that this function gives: by place, and by name.

    Raises:
        InputError: There are none.
    """
    found = _named(target)[0]
    with _as_written(target):
        values = found() if callable(found) else found
    if isinstance(values, Mapping):
        return (), {str(name): value for name, value in values.items()}
    values = tuple(values) if isinstance(values, (tuple, list)) else (values,)
    if values in ((), (None,)):
        raise InputError(
            f"--inputs {target}: expected a tensor, a tuple, or a dict of arguments by name, got {values[:1]}",
            hint="return the inputs of the network: def example(): return (torch.ones(2, 3),)",
        )
    return values, {}


def _named(target: str) -> tuple[Any, re.Match[str]]:
    match = _TARGET.fullmatch(target)
    if match is None:
        hint = "a script, train.py; or a model, package.module:Model or package.module:make_model()"
        raise InputError(f"'{target}' names no model", hint=hint)
    sys.path.insert(0, os.getcwd())  # as `python -m` does
    with _as_written(target):
        return _found(match), match


def _found(match: re.Match[str]) -> object:
    try:
        found: Any = importlib.import_module(match["module"])
    except ModuleNotFoundError as error:
        if error.name is None or not match["module"].startswith(error.name):
            raise
        hint = "it is looked for from the current folder"
        raise InputError(f"there is no module '{error.name}'", hint=hint) from None
    for name in match["name"].split("."):
        if not hasattr(found, name):
            raise InputError(f"{match['module']} has no '{name}'", hint=did_you_mean(name, vars(found)))
        found = getattr(found, name)
    return found


@contextmanager
def _as_written(name: str) -> Iterator[None]:
    """Run the user's code uncompiled, and turn its failures into an InputError of one sentence."""
    try:
        with _uncompiled(), warnings.catch_warnings():
            # The recorder's hooks cause this warning, and the user cannot fix it.
            warnings.filterwarnings("ignore", "Using `torch.compile", UserWarning)
            yield
    except InputError:
        raise
    except SystemExit as leaving:
        if leaving.code not in (None, 0):
            raise InputError(f"{name} ended with exit code {leaving.code}") from None
    except Exception as error:
        frames = traceback.extract_tb(error.__traceback__)
        last = next((frame for frame in reversed(frames) if not frame.filename.startswith(_NOT_USERS)), frames[-1])
        said = f"{type(error).__name__}: {error}"
        hint = f"at {os.path.relpath(last.filename)}:{last.lineno}: {last.line}"
        if _UNDER_A_MODE in said:
            said = "it uses a TorchDispatchMode, as torch.export does, under which a scan sees nothing; leave that out"
        raise InputError(f"{name} failed: {said}", hint=hint) from error


@contextmanager
def _uncompiled() -> Iterator[None]:
    """Disable torch.compile, also where its settings were imported and have read the environment already."""
    before = os.environ.get(_DISABLES)
    os.environ[_DISABLES] = "1"
    settings: Any = sys.modules.get("torch._dynamo.config")
    try:
        with settings.patch(disable=True) if settings else nullcontext():
            yield
    finally:
        if before is None:
            del os.environ[_DISABLES]
        else:
            os.environ[_DISABLES] = before


_DISABLES = "TORCH_COMPILE_DISABLE"

_UNDER_A_MODE = "func != nullptr"
"""The PyTorch error when Python implements a dispatch key, as the recorder does, and a mode is active too."""
_NOT_USERS = (os.path.dirname(torch.__file__), os.path.dirname(__file__), "<frozen", os.path.dirname(runpy.__file__))
