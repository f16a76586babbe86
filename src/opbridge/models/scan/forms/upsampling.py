"""Upsampling: MindSpore takes the sizes of the result, PyTorch also factors."""

from __future__ import annotations

from typing import Any

from mindspore import ops


def upsample_nearest1d(input: Any, output_size: Any = None, scale_factors: Any = None) -> Any:
    """Repeat the nearest element of each row."""
    return ops.interpolate(input, size=_sizes(input, output_size, scale_factors), mode="nearest")


def upsample_nearest2d(input: Any, output_size: Any = None, scale_factors: Any = None) -> Any:
    """Repeat the nearest pixel of each image."""
    return ops.interpolate(input, size=_sizes(input, output_size, scale_factors), mode="nearest")


def upsample_nearest3d(input: Any, output_size: Any = None, scale_factors: Any = None) -> Any:
    """Repeat the nearest element of each volume."""
    return ops.interpolate(input, size=_sizes(input, output_size, scale_factors), mode="nearest")


def upsample_linear1d(input: Any, output_size: Any, align_corners: bool, scale_factors: Any = None) -> Any:
    """Interpolate rows linearly."""
    sizes = _sizes(input, output_size, scale_factors)
    return ops.interpolate(input, size=sizes, mode="linear", align_corners=align_corners)


def upsample_bilinear2d(input: Any, output_size: Any, align_corners: bool, scale_factors: Any = None) -> Any:
    """Interpolate images linearly in both directions."""
    sizes = _sizes(input, output_size, scale_factors)
    return ops.interpolate(input, size=sizes, mode="bilinear", align_corners=align_corners)


def upsample_trilinear3d(input: Any, output_size: Any, align_corners: bool, scale_factors: Any = None) -> Any:
    """Interpolate volumes linearly in all directions."""
    sizes = _sizes(input, output_size, scale_factors)
    return ops.interpolate(input, size=sizes, mode="trilinear", align_corners=align_corners)


def _sizes(image: Any, output_size: Any, factors: Any) -> Any:
    """Return the sizes of the result; by a factor that gives a fraction PyTorch takes other places."""
    if factors is None:
        return tuple(output_size)
    sizes = tuple([int(image.shape[place + 2] * factors[place]) for place in range(len(factors))])
    for place in range(len(factors)):
        if sizes[place] != image.shape[place + 2] * factors[place]:
            raise ValueError("a scale factor gives a fraction of an element")
    return sizes
