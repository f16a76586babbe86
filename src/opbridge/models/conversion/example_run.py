"""Run a network on its example inputs before a conversion, so that a wrong example is reported as one."""

from __future__ import annotations

import os
import traceback
from collections.abc import Mapping, Sequence
from typing import Any

import torch

from opbridge.base.errors import InputError
from opbridge.models.conversion.saved_values import put_back, taken_aside

_TORCH = os.path.dirname(torch.__file__) + os.sep


def require_runs(module: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
    """Run a network in inference on its example inputs, and leave it unchanged.

    Raises:
        InputError: The network does not run on these inputs.
    """
    before, modes = taken_aside(module), {part: part.training for part in module.modules()}
    try:
        with torch.random.fork_rng(devices=[]), torch.no_grad():
            module.eval()(*args, **kwargs)
    except Exception as error:
        frames = traceback.extract_tb(error.__traceback__)
        own = [frame for frame in frames if not frame.filename.startswith((_TORCH, __file__))]
        where = f"\n  at {own[-1].filename}:{own[-1].lineno}: {own[-1].line}" if own else ""
        said = (str(error).strip() or type(error).__name__).partition("\n")[0]
        raise InputError(
            f"{type(module).__name__} does not run on these inputs ({_listed(args, kwargs)}): {said}{where}",
            hint="pass inputs that the network takes in PyTorch",
        ) from error
    finally:
        put_back(module, before)
        for part, was in modes.items():
            part.training = was


def _listed(args: Sequence[Any], kwargs: Mapping[str, Any]) -> str:
    named = [*map(_described, args), *(f"{name}={_described(value)}" for name, value in kwargs.items())]
    return ", ".join(named) or "none"


def _described(value: Any) -> str:
    if isinstance(value, torch.Tensor):
        return f"{str(value.dtype).removeprefix('torch.')} of shape {tuple(value.shape)}"
    return type(value).__name__
