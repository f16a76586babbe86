"""Pooling windows and resizing of images."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from opbridge.models.scan.jax_forms.layers import Sizes, each
from opbridge.models.scan.jax_forms.type_promotion import Array

_Matrix = Any


def max_pool1d(
    self: Array,
    kernel_size: Sizes,
    stride: Sizes = (),
    padding: Sizes = 0,
    dilation: Sizes = 1,
    ceil_mode: bool = False,
) -> Array:
    """Return the maximum of each window; `stride` is the window size by default."""
    return _max_pool(self, 1, kernel_size, stride, padding, dilation, ceil_mode)


def max_pool2d(
    self: Array,
    kernel_size: Sizes,
    stride: Sizes = (),
    padding: Sizes = 0,
    dilation: Sizes = 1,
    ceil_mode: bool = False,
) -> Array:
    """Return the maximum of each window; `stride` is the window size by default."""
    return _max_pool(self, 2, kernel_size, stride, padding, dilation, ceil_mode)


def max_pool3d(
    self: Array,
    kernel_size: Sizes,
    stride: Sizes = (),
    padding: Sizes = 0,
    dilation: Sizes = 1,
    ceil_mode: bool = False,
) -> Array:
    """Return the maximum of each window; `stride` is the window size by default."""
    return _max_pool(self, 3, kernel_size, stride, padding, dilation, ceil_mode)


def _max_pool(
    image: Array, count: int, window: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, ceil_mode: bool
) -> Array:
    holes = each(dilation, count)
    window = each(window, count)
    steps = each(stride or window, count)
    sides = _sides(image, window, steps, each(padding, count), holes, ceil_mode)
    return _windows(image, -jnp.inf, jax.lax.max, window, steps, sides, holes)


def avg_pool1d(self: Array, kernel_size: Sizes, stride: Sizes = (), padding: Sizes = 0, **options: Any) -> Array:
    """Return the mean of each window; `stride` is the window size by default."""
    return _avg_pool(self, 1, kernel_size, stride, padding, **options)


def avg_pool2d(self: Array, kernel_size: Sizes, stride: Sizes = (), padding: Sizes = 0, **options: Any) -> Array:
    """Return the mean of each window; `stride` is the window size by default."""
    return _avg_pool(self, 2, kernel_size, stride, padding, **options)


def avg_pool3d(self: Array, kernel_size: Sizes, stride: Sizes = (), padding: Sizes = 0, **options: Any) -> Array:
    """Return the mean of each window; `stride` is the window size by default."""
    return _avg_pool(self, 3, kernel_size, stride, padding, **options)


def _avg_pool(
    image: Array,
    count: int,
    window: Sizes,
    stride: Sizes,
    padding: Sizes,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Array:
    window, margins, holes = each(window, count), each(padding, count), (1,) * count
    steps = each(stride or window, count)
    sides = _sides(image, window, steps, margins, holes, ceil_mode)
    total = _windows(image, 0.0, jax.lax.add, window, steps, sides, holes)
    if divisor_override is not None:
        return total / divisor_override
    # The extra padding at the end for the last window never counts.
    inner = tuple((side, side) if count_include_pad else (0, 0) for side in margins)
    ones = jnp.pad(jnp.ones(image.shape[-count:], image.dtype), inner, constant_values=1)
    rest = [(low - a, high - b) for (low, high), (a, b) in zip(sides, inner, strict=True)]
    return total / _windows(ones, 0.0, jax.lax.add, window, steps, rest, holes)


def _sides(
    image: Array,
    window: Sequence[int],
    steps: Sequence[int],
    margins: Sequence[int],
    holes: Sequence[int],
    ceil_mode: bool,
) -> list[tuple[int, int]]:
    """Return the padding before and after each dimension.

    With `ceil_mode`, more follows at the end if the last window begins in the image or in the padding before it.
    """
    sides = []
    for size, width, step, margin, hole in zip(image.shape[-len(window) :], window, steps, margins, holes, strict=True):
        room = size + 2 * margin - hole * (width - 1) - 1
        count = (-(-room // step) if ceil_mode else room // step) + 1
        if ceil_mode and (count - 1) * step >= size + margin:
            count -= 1
        sides.append((margin, margin + max(0, (count - 1) * step - room)))
    return sides


def _windows(
    image: Array,
    first: float,
    join: Callable[[Array, Array], Array],
    window: Sequence[int],
    steps: Sequence[int],
    sides: Sequence[tuple[int, int]],
    holes: Sequence[int],
) -> Array:
    before = image.ndim - len(window)
    return jax.lax.reduce_window(
        image,
        np.asarray(first, image.dtype)[()],  # a traced value here would leave no gradient
        join,
        (1,) * before + tuple(window),
        (1,) * before + tuple(steps),
        [(0, 0)] * before + list(sides),
        window_dilation=(1,) * before + tuple(holes),
    )


def adaptive_avg_pool1d(self: Array, output_size: Sequence[int]) -> Array:
    """Average along one dimension after another, since each window is a box."""
    for axis, size in enumerate(output_size, self.ndim - len(output_size)):
        self = _by(self, _means(self.shape[axis], size), axis)
    return self


adaptive_avg_pool2d = adaptive_avg_pool3d = adaptive_avg_pool1d


def _means(size: int, count: int) -> _Matrix:
    rows = np.zeros((count, size))
    for place in range(count):
        first, last = place * size // count, -(-(place + 1) * size // count)
        rows[place, first:last] = 1 / (last - first)
    return rows


def _by(image: Array, rows: _Matrix, axis: int) -> Array:
    """Apply a matrix along one dimension."""
    return jnp.moveaxis(jnp.tensordot(image, jnp.asarray(rows, image.dtype), (axis, 1)), -1, axis)


def upsample_nearest2d(
    input: Array, output_size: Sequence[int] | None = None, scale_factors: Sequence[float] | None = None
) -> Array:
    """Resize by the nearest source element, at positions computed in float32."""
    for axis, size, scale in _new_sizes(input, output_size, scale_factors):
        places = np.minimum((np.arange(size, dtype=np.float32) * np.float32(scale)).astype(int), input.shape[axis] - 1)
        input = jnp.take(input, places, axis)
    return input


upsample_nearest1d = upsample_nearest3d = upsample_nearest2d


def upsample_bilinear2d(
    input: Array,
    output_size: Sequence[int] | None = None,
    align_corners: bool = False,
    scale_factors: Sequence[float] | None = None,
) -> Array:
    """Resize by linear interpolation, one dimension after another."""
    for axis, size, scale in _new_sizes(input, output_size, scale_factors):
        input = _by(input, _between(input.shape[axis], size, scale, align_corners), axis)
    return input


upsample_linear1d = upsample_trilinear3d = upsample_bilinear2d


def _new_sizes(
    image: Array, sizes: Sequence[int] | None, factors: Sequence[float] | None
) -> list[tuple[int, int, float]]:
    """Return each dimension with its new size, and the distance of neighboring new places in the old image."""
    if sizes is None:
        sizes = [int(size * factor) for size, factor in zip(image.shape[2:], factors or (), strict=True)]
    old = image.shape[2:]
    scales = [1 / factor for factor in factors] if factors else [a / b for a, b in zip(old, sizes, strict=True)]
    return [(axis, *each) for axis, each in enumerate(zip(sizes, scales, strict=True), 2)]


def _between(size: int, count: int, scale: float, align_corners: bool) -> _Matrix:
    places = (
        np.arange(count) * ((size - 1) / max(1, count - 1))
        if align_corners
        else np.maximum(0, (np.arange(count) + 0.5) * scale - 0.5)
    )
    low = np.minimum(places.astype(int), size - 1)
    rows = np.zeros((count, size))
    rows[np.arange(count), low] += 1 - (places - low)
    rows[np.arange(count), np.minimum(low + 1, size - 1)] += places - low
    return rows
