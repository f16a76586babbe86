"""How long convolutions take by cuDNN and by PyTorch's own kernels, which is not what their products alone say.

A convolution of floats is a product of matrices on tensor cores where channels lie together, as PyTorch's tensors do
not: they are turned before, and what comes out is turned back.  A tile of it is as wide as many channels, and few
channels leave most of the tile empty.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any

from opbridge.costs.chips import Chip

_TURNED = 2
"""Passes over what goes in and comes out, before and after."""
_TILE, _TILE_OF_TRANSPOSED_VOLUMES = (8, 32), (32, 32)
"""Channels that go in and come out of the smallest tile; tensor cores take 8 of such floats at once.

For three dimensions, transposed, cuDNN has fewer kernels."""
_SHARE = 0.35
"""Of the rate of tensor cores, where channels fill tiles."""
_SHARE_OF_GROUPS = 0.1
"""Of the rate of floats, where each group is a small product by itself."""
_PASSES_BY_CHANNEL = 4
"""Of PyTorch's own kernel for one channel a group, which reads what windows share again."""


@dataclass(frozen=True)
class Window:
    """Of a convolution."""

    dimensions: int
    taps: int
    groups: int
    channels: int
    """Of a group that go in."""
    results: int
    """Of a group that come out."""
    is_transposed: bool
    repeats: int = 1
    """Times as many products as are needed: with a stride the zeros between what is transposed are multiplied too."""

    biased: float = 0.0
    """Passes over what goes in and comes out that a bias takes, which PyTorch adds to cuDNN's result in place."""


def window_of(args: Any, result: Any) -> Window:
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
    """`moving` is what it takes to move what goes in and comes out once."""
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
