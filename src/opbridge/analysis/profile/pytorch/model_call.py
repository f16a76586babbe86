"""Call a model of a task once, at its own sizes."""

from __future__ import annotations

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import torch

from opbridge.analysis.profile.pytorch.operator_recorder import Hollow
from opbridge.analysis.profile.pytorch.operator_times import Call
from opbridge.analysis.profile.pytorch.recurrent import Recurrent


def calls_of(task: Path, answer: Path, names: tuple[str, str, str], device: str) -> list[Call]:
    """Return the PyTorch operators that the model calls.

    `names` are those of its class, and of the functions that return its inputs and its constructor arguments. On the
    device cuda, the model's own kernels are counted too, if the process is one that counts.
    """
    if device == "cuda":
        import opbridge.twins.cuda.torch_device  # noqa: F401 - registers the device
    model_name, inputs_name, initial_name = names
    with torch.no_grad(), Hollow() as watched, Recurrent(watched.calls.append):
        made = _module("task", task)
        inputs = [
            value.to(device) if isinstance(value, torch.Tensor) else value for value in getattr(made, inputs_name)()
        ]
        initial = getattr(made, initial_name)()
        model = getattr(_module("answer", answer), model_name)(*initial).to(device)
        watched.calls.clear()
        model(*inputs)
        return list(watched.calls)


def _module(name: str, path: Path) -> object:
    spec = spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module
