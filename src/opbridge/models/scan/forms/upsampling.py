"""Upsampling: MindSpore takes the sizes of the result, PyTorch also factors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mindspore import Tensor, ops


def upsample_nearest1d(
    input: Tensor, output_size: Sequence[int] | None = None, scale_factors: Sequence[float] | None = None
) -> Tensor:
    """Repeat the nearest element of each row."""
    return ops.interpolate(input, size=_sizes(input, output_size, scale_factors), mode="nearest")


def upsample_nearest2d(
    input: Tensor, output_size: Sequence[int] | None = None, scale_factors: Sequence[float] | None = None
) -> Tensor:
    """Repeat the nearest pixel of each image."""
    return ops.interpolate(input, size=_sizes(input, output_size, scale_factors), mode="nearest")


def upsample_nearest3d(
    input: Tensor, output_size: Sequence[int] | None = None, scale_factors: Sequence[float] | None = None
) -> Tensor:
    """Repeat the nearest element of each volume."""
    return ops.interpolate(input, size=_sizes(input, output_size, scale_factors), mode="nearest")


def upsample_linear1d(
    input: Tensor, output_size: Sequence[int] | None, align_corners: bool, scale_factors: Sequence[float] | None = None
) -> Tensor:
    """Interpolate rows linearly."""
    sizes = _sizes(input, output_size, scale_factors)
    return ops.interpolate(input, size=sizes, mode="linear", align_corners=align_corners)


def upsample_bilinear2d(
    input: Tensor, output_size: Sequence[int] | None, align_corners: bool, scale_factors: Sequence[float] | None = None
) -> Tensor:
    """Interpolate images linearly in both directions."""
    sizes = _sizes(input, output_size, scale_factors)
    return ops.interpolate(input, size=sizes, mode="bilinear", align_corners=align_corners)


def upsample_trilinear3d(
    input: Tensor, output_size: Sequence[int] | None, align_corners: bool, scale_factors: Sequence[float] | None = None
) -> Tensor:
    """Interpolate volumes linearly in all directions."""
    sizes = _sizes(input, output_size, scale_factors)
    return ops.interpolate(input, size=sizes, mode="trilinear", align_corners=align_corners)


def _sizes(image: Tensor, output_size: Any, factors: Sequence[float] | None) -> tuple[int, ...]:
    """Return the sizes of the result; by a factor that gives a fraction PyTorch takes other places."""
    if factors is None:
        return tuple(output_size)
    sizes = tuple([int(image.shape[place + 2] * factors[place]) for place in range(len(factors))])
    for place in range(len(factors)):
        if sizes[place] != image.shape[place + 2] * factors[place]:
            raise ValueError("a scale factor gives a fraction of an element")
    return sizes
