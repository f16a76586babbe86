"""Call a model otherwise than at first: with other weights, in the other mode, next to a second model.

The reference and an answer are called in the same ways, and their outputs are compared.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from opbridge.analysis.judge.judgement import MODE, MODELS, WEIGHTS
from opbridge.analysis.judge.process.model_state import change_weights

Run = Callable[[torch.nn.Module], Any]
"""A function that calls a model with the inputs of a trial."""
Make = Callable[[], torch.nn.Module]
"""A function that makes another model, with the same weights."""


@dataclass(frozen=True)
class Models:
    """A model, how to call it, and how to make another."""

    first: torch.nn.Module
    run: Run
    make: Make


def _with_other_weights(models: Models) -> Any:
    return models.run(models.first) if change_weights(models.first) else None


def _in_other_mode(models: Models) -> Any:
    """Call the model in its mode, which moves its statistics, and then in the other one."""
    models.run(models.first)
    was_training = models.first.training
    models.first.train(not was_training)
    try:
        return models.run(models.first)
    finally:
        models.first.train(was_training)


def _next_to_another(models: Models) -> Any:
    """Call a second model that has other weights, and then the first one."""
    second = models.make()
    return [models.run(second), models.run(models.first)] if change_weights(second) else None


OTHER_CALLS: dict[str, Callable[[Models], Any]] = {
    WEIGHTS: _with_other_weights,
    MODE: _in_other_mode,
    MODELS: _next_to_another,
}
"""The calls by the check that compares them; each returns None for a model without weights if it needs some."""
