"""Save and load checkpoints with any number of processes, however the model is divided."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
import torch.distributed.checkpoint as dcp
from torch import nn
from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict


def save(folder: Path, step: int, model: nn.Module, optimizer: torch.optim.Optimizer) -> None:
    dcp.save(_state(model, optimizer), checkpoint_id=folder / f"step-{step}")


def resume(folder: Path, model: nn.Module, optimizer: torch.optim.Optimizer) -> int:
    """Load the last checkpoint, and return the step after it."""
    # Metadata is written last: if it is missing, the process was killed while it saved.
    steps = [int(path.parent.name.removeprefix("step-")) for path in folder.glob("step-*/.metadata")]
    if not steps:
        return 0
    state = _state(model, optimizer)
    dcp.load(state, checkpoint_id=folder / f"step-{max(steps)}")
    set_state_dict(model, optimizer, model_state_dict=state["model"], optim_state_dict=state["optimizer"])
    return max(steps) + 1


def _state(model: nn.Module, optimizer: torch.optim.Optimizer) -> dict[str, Any]:
    return dict(zip(("model", "optimizer"), get_state_dict(model, optimizer), strict=True))
