"""Estimate the time of PyTorch's own operators on a chip: bound by memory, or by NVIDIA's matrix libraries.

Rates are published. The share of them that an operator reaches was fitted to KernelBench's published PyTorch times,
as docs/profile.md describes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from opbridge.analysis.profile.bounds import REACHED
from opbridge.analysis.profile.chips import Chip
from opbridge.analysis.profile.profile_contents import LAUNCH, KernelCost
from opbridge.analysis.profile.pytorch import convolutions, norms
from opbridge.analysis.profile.pytorch.convolutions import Window
from opbridge.analysis.profile.pytorch.norms import Means

START = 20e-6
"""Seconds of the host from the call of a model until the chip has work, and to learn of its end."""
HOST = 11e-6
"""Seconds of Python and PyTorch for an operator or a launch, while the chip does earlier work."""
_MATRICES, _NORMS = 35e-6, 55e-6
_LONGER = {
    "convolution": 55e-6,
    **dict.fromkeys(("addmm", "mm", "bmm", "baddbmm"), _MATRICES),
    **dict.fromkeys(("native_batch_norm", "native_group_norm", "native_layer_norm"), _NORMS),
}
"""Operators for which they take longer: libraries choose a kernel, and modules have Python code of their own."""
GAP = 2e-6
"""Seconds on the chip between the kernels of an operator and those of the next."""
_STEP = 2 * (LAUNCH.seconds + GAP)
"""A step of a recurrent layer has two kernels: a product, and the gates that use it."""
_FLOATS = 0.8
"""The reached share of the float rate for products, which PyTorch does not run on tensor cores."""
_HALVES = 0.7
_TENSOR_FLOATS = 0.5
"""The published ratio: matrices of rounded floats run at half the rate of halves."""
_PASSES = {
    "native_layer_norm": 1.3,
    "_softmax": 1.9,
    "_log_softmax": 1.9,
    "cumsum": 1.5,
    "cumprod": 1.5,
    "max_pool2d_with_indices": 1.9,
    "max_pool3d_with_indices": 1.6,
}
"""How often these operators move inputs and results, relative to other operators."""
_HALF_TYPES = ("float16", "bfloat16")


@dataclass(frozen=True)
class Call:
    """One call of a PyTorch operator."""

    name: str
    dtype: str
    operations: float
    """Operations of matrix products and convolutions; other operators are bound by memory."""
    bytes: int
    window: Window | None = None
    steps: int = 0
    """The steps of a recurrent layer, all layers together: each starts from the result of the one before."""
    means: Means | None = None
    """The means of a norm."""

    @classmethod
    def of(cls, fields: Mapping[str, Any]) -> Call:
        """Restore a call from its fields."""
        window, means = fields["window"], fields["means"]
        return cls(**{**fields, "window": window and Window(**window), "means": means and Means(**means)})


def seconds(call: Call, chip: Chip) -> float:
    """Return the predicted time of a call on the chip."""
    if call.bytes == 0:
        return 0.0
    moving = _PASSES.get(call.name, 1.0) * call.bytes / (REACHED * chip.memory_rate)
    if call.window and call.dtype not in _HALF_TYPES:
        tensor_rate = _TENSOR_FLOATS * chip.matrix_rate
        return GAP + convolutions.seconds(call.window, call.operations, moving, chip, tensor_rate)
    if call.means:
        return GAP + norms.seconds(call.means, moving, chip)
    return GAP + call.steps * _STEP + max(moving, call.operations / _rate(call, chip))


def _rate(call: Call, chip: Chip) -> float:
    if call.dtype in _HALF_TYPES:
        return _HALVES * chip.matrix_rate
    return _FLOATS * chip.float_rate


@dataclass(frozen=True)
class ModelCost:
    """One call of a model: its own kernels, and the PyTorch operators around them."""

    chip: Chip
    kernels: tuple[KernelCost, ...]
    calls: tuple[Call, ...]

    @property
    def seconds(self) -> float:
        """The predicted time: that of the chip, or that of the host if the chip has to wait for it."""
        own = sum(kernel.seconds * kernel.launches for kernel in self.kernels)
        asked = sum(_LONGER.get(call.name, HOST) for call in self.calls if call.bytes)
        asked += HOST * sum(kernel.launches for kernel in self.kernels)
        return START + max(own + sum(seconds(call, self.chip) for call in self.calls), asked)

    def fields(self) -> dict[str, Any]:
        """Return the cost as fields for JSON."""
        return {
            "chip": self.chip.name,
            "predicted_seconds": self.seconds,
            "kernels": [kernel.fields() for kernel in self.kernels],
            "pytorch": [{**asdict(call), "predicted_seconds": seconds(call, self.chip)} for call in self.calls],
        }
