"""Estimate the time of convolutions in cuDNN and in PyTorch's own kernels, which depends on more than their products.

A convolution of floats is a matrix product on tensor cores if channels are contiguous. They are not in PyTorch
tensors, so inputs are transposed before, and results are transposed back. A tile has a fixed number of channels, and
few channels leave most of the tile empty.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any

from opbridge.analysis.profile.chips import Chip

_TURNED = 2
"""Passes over inputs and results to transpose them, before and after."""
_TILE, _TILE_OF_TRANSPOSED_VOLUMES = (8, 32), (32, 32)
"""Input and output channels of the smallest tile; tensor cores take 8 such floats at once.

For transposed convolutions in three dimensions, cuDNN has fewer kernels."""
_SHARE = 0.35
"""The reached share of the tensor core rate, if channels fill tiles."""
_SHARE_OF_GROUPS = 0.1
"""The reached share of the float rate, if each group is a small separate product."""
_PASSES_BY_CHANNEL = 4
"""Passes of PyTorch's own kernel for one channel per group, which reads the overlap of windows again."""


@dataclass(frozen=True)
class Window:
    """The shape of a convolution."""

    dimensions: int
    taps: int
    groups: int
    channels: int
    """The input channels of a group."""
    results: int
    """The output channels of a group."""
    is_transposed: bool
    repeats: int = 1
    """Computed products per needed one: a transposed convolution with a stride multiplies the zeros between, too."""

    biased: float = 0.0
    """Passes over inputs and results for a bias, which PyTorch adds to cuDNN's result in place."""


def window_of(args: Any, result: Any) -> Window:
    """Return the window of a convolution, from the arguments and result of aten::convolution."""
    given, weights, bias, stride, _, _, is_transposed, _, groups = args
    return Window(
        dimensions=given.dim() - 2,
        taps=prod(weights.shape[2:]),
        groups=groups,
        channels=given.shape[1] // groups,
        results=result.shape[1] // groups,
        is_transposed=is_transposed,
        repeats=prod(stride) if is_transposed and groups == 1 else 1,
        biased=2 * result.numel() / (given.numel() + weights.numel() + result.numel()) if bias is not None else 0.0,
    )


def seconds(window: Window, operations: float, moving: float, chip: Chip, tensor_rate: float) -> float:
    """Return the predicted time; `moving` is the time to move inputs and results once."""
    if window.groups > 1 and window.channels == 1:
        return max(_PASSES_BY_CHANNEL * moving, operations / chip.float_rate)
    if window.groups > 1:
        rate = _SHARE_OF_GROUPS * chip.float_rate
    else:
        has_few_kernels = window.is_transposed and window.dimensions == 3
        channels, results = _TILE_OF_TRANSPOSED_VOLUMES if has_few_kernels else _TILE
        rate = _SHARE * min(1, window.channels / channels) * min(1, window.results / results) * tensor_rate
    turning = 0 if window.taps == 1 and not window.is_transposed else _TURNED * moving
    return window.biased * moving + turning + max(moving, window.repeats * operations / rate)
