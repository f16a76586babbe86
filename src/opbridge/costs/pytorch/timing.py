"""How long PyTorch's own operators take on a chip: bound by memory, or by the matrices of NVIDIA's libraries.

Rates are published; what share of them an operator reaches was chosen on KernelBench's published times of PyTorch, as
docs/profile.md says.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from opbridge.costs.bounds import REACHED
from opbridge.costs.chips import Chip
from opbridge.costs.model import LAUNCH, KernelCost
from opbridge.costs.pytorch import convolutions, norms
from opbridge.costs.pytorch.convolutions import Window
from opbridge.costs.pytorch.norms import Means

START = 20e-6
"""That the host takes from when a model is called until the chip has something to do, and to hear of its end."""
HOST = 11e-6
"""That Python and PyTorch take for an operator or a launch, while the chip does what was asked for before."""
_MATRICES, _NORMS = 35e-6, 55e-6
_LONGER = {
    "convolution": 55e-6,
    **dict.fromkeys(("addmm", "mm", "bmm", "baddbmm"), _MATRICES),
    **dict.fromkeys(("native_batch_norm", "native_group_norm", "native_layer_norm"), _NORMS),
}
"""They do for some: libraries are asked which kernel to take, and modules have Python of their own."""
GAP = 2e-6
"""Between what an operator runs and the next, on the chip."""
_STEP = 2 * (LAUNCH.seconds + GAP)
"""A step of a recurrent layer is two kernels: a product, and the gates that take it."""
_FLOATS = 0.8
"""Of products of floats, which PyTorch does not hand to tensor cores."""
_HALVES = 0.7
_TENSOR_FLOATS = 0.5
"""Published is that matrices of rounded floats run at half the rate of halves."""
_PASSES = {
    "native_layer_norm": 1.3,
    "_softmax": 1.9,
    "_log_softmax": 1.9,
    "cumsum": 1.5,
    "cumprod": 1.5,
    "max_pool2d_with_indices": 1.9,
    "max_pool3d_with_indices": 1.6,
}
"""How often they move what goes in and comes out, beside other operators."""
_HALF_TYPES = ("float16", "bfloat16")


@dataclass(frozen=True)
class Call:
    """One of PyTorch's operators, as it ran."""

    name: str
    dtype: str
    operations: float
    """Of matrices and convolutions; others are bound by memory."""
    bytes: int
    window: Window | None = None
    steps: int = 0
    """Of a recurrent layer, all layers together: each begins with what the one before has made."""
    means: Means | None = None
    """Of a norm."""

    @classmethod
    def of(cls, fields: Mapping[str, Any]) -> Call:
        window, means = fields["window"], fields["means"]
        return cls(**{**fields, "window": window and Window(**window), "means": means and Means(**means)})


def seconds(call: Call, chip: Chip) -> float:
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
    """One call of a model: what it brings itself, and what PyTorch does around it."""

    chip: Chip
    kernels: tuple[KernelCost, ...]
    calls: tuple[Call, ...]

    @property
    def seconds(self) -> float:
        """The chip's, or the host's where it has so little to do that it waits."""
        own = sum(kernel.seconds * kernel.launches for kernel in self.kernels)
        asked = sum(_LONGER.get(call.name, HOST) for call in self.calls if call.bytes)
        asked += HOST * sum(kernel.launches for kernel in self.kernels)
        return START + max(own + sum(seconds(call, self.chip) for call in self.calls), asked)

    def fields(self) -> dict[str, Any]:
        return {
            "chip": self.chip.name,
            "predicted_seconds": self.seconds,
            "kernels": [kernel.fields() for kernel in self.kernels],
            "pytorch": [{**asdict(call), "predicted_seconds": seconds(call, self.chip)} for call in self.calls],
        }
