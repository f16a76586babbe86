"""Compare a CUDA kernel with its port to Ascend C on the same inputs, each in its twin: `opbridge port check`."""

from __future__ import annotations

from collections.abc import Callable

from opbridge.analysis.port.kernel_pairs import pairs_of
from opbridge.analysis.port.processes import run
from opbridge.analysis.port.trial import Outcome, Pair, Settings, Status

__all__ = ["Outcome", "Pair", "Settings", "Status", "compare", "pairs_of"]


def compare(
    pair: Pair, settings: Settings, on_outcome: Callable[[Outcome], None] = lambda outcome: None
) -> list[Outcome]:
    """Run both kernels in all common element types and many sizes; return one outcome per input.

    `on_outcome` is called with each outcome as it arrives.
    """
    from opbridge.analysis.port.inputs import planned  # import NumPy only when something runs

    outcomes = []
    for outcome in run(planned(pair, settings)):
        outcomes.append(outcome)
        on_outcome(outcome)
    return outcomes
