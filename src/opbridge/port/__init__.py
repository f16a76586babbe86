"""`opbridge port check`: a CUDA kernel beside its port to Ascend C, each in its twin and on the same inputs."""

from __future__ import annotations

from collections.abc import Callable

from opbridge.port.model import Outcome, Pair, Settings, Status
from opbridge.port.pairing import pairs_of
from opbridge.port.running import run

__all__ = ["Outcome", "Pair", "Settings", "Status", "compare", "pairs_of"]


def compare(
    pair: Pair, settings: Settings, on_outcome: Callable[[Outcome], None] = lambda outcome: None
) -> list[Outcome]:
    """Runs both kernels in every element type that they have in common and in many sizes; one Outcome an input."""
    from opbridge.port.inputs import planned  # NumPy's weight is for those who run something

    outcomes = []
    for outcome in run(planned(pair, settings)):
        outcomes.append(outcome)
        on_outcome(outcome)
    return outcomes
