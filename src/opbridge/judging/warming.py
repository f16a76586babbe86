"""What the processes of judgements are forks of: one that has PyTorch, the device and what all answers share."""

from __future__ import annotations

from opbridge.check.forking import Forks

_MODULES = ("opbridge.judging.answers", "opbridge.judging.problems", "opbridge.judging.warmed")
_VARIABLES = {
    "OPBRIDGE_CUDA_TWIN": "",
    "CUDA_VISIBLE_DEVICES": "0",
    # NumPy would start threads as it is imported, and a fork has one.
    "OPENBLAS_NUM_THREADS": "1",
}
NO_DEVICE = {"CUDA_VISIBLE_DEVICES": ""}
"""For the reference, which runs on the CPU."""


def prepared() -> Forks:
    return Forks(_MODULES, _VARIABLES)
