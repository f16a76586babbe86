"""Textures and surfaces against what the programming guide says of fetches, worked out by NumPy."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from tests.twins.cuda.conftest import ON_GPU, twin_only

WRAP, CLAMP, MIRROR, BORDER = range(4)
POINT, LINEAR = 0, 1


@pytest.fixture(scope="module", params=[False, True], ids=["fast", "checked"])
def kernels(request: pytest.FixtureRequest, twin: Any) -> Any:
    return twin("textures.cu", checks=request.param)


@pytest.fixture
def device(kernels: Any, on_device: Any) -> Any:
    return on_device(kernels)


def texel(texels: Any, at: tuple[int, ...], mode: int) -> float:
    """`texels` by z, y, x; `at` by x, y, z."""
    place = []
    for index, count in zip(at, texels.shape[::-1], strict=True):
        if mode == BORDER and not 0 <= index < count:
            return -1
        mirrored = index % (2 * count)
        inside = {WRAP: index % count, MIRROR: min(mirrored, 2 * count - 1 - mirrored)}
        place.append(inside.get(mode, min(max(index, 0), count - 1)))
    return float(texels[tuple(place[::-1])])


def fetch(texels: Any, at: Any, mode: int, linear: int, normalized: int) -> float:
    counts = texels.shape[::-1]
    scaled = [float(np.float32(x) * np.float32(n)) if normalized else float(x) for x, n in zip(at, counts, strict=True)]
    mode = mode if normalized or mode == BORDER else CLAMP
    if not linear:
        return texel(texels, tuple(int(np.floor(x)) for x in scaled), mode)
    first = [int(np.floor(x - 0.5)) for x in scaled]
    share = [np.rint((x - 0.5 - i) * 256) / 256 for x, i in zip(scaled, first, strict=True)]
    total = 0.0
    for corner in product((0, 1), repeat=len(first)):
        weight = np.prod([s if c else 1 - s for s, c in zip(share, corner, strict=True)])
        total += weight * texel(texels, tuple(i + c for i, c in zip(first, corner, strict=True)), mode)
    return total


@pytest.mark.parametrize("shape", [(7,), (4, 6), (3, 4, 5)])
@pytest.mark.parametrize(("linear", "normalized"), [(POINT, 0), (LINEAR, 0), (LINEAR, 1)])
@pytest.mark.parametrize("mode", [WRAP, CLAMP, MIRROR, BORDER])
def test_fetches(kernels: Any, device: Any, shape: tuple[int, ...], mode: int, linear: int, normalized: int) -> None:
    draw = np.random.default_rng(len(shape))
    texels = draw.integers(0, 100, shape).astype(np.float32)
    reach = 2.0 if normalized else 9.0
    at = draw.uniform(-reach / 2, reach, (40, len(shape))).astype(np.float32)
    to = device(np.zeros(40, np.float32))
    width, height, depth = (*shape[::-1], 0, 0)[:3]
    kernels.run("look_up", texels, width, height, depth, device(at), to, 40, mode, linear, normalized)
    expected = [fetch(texels, place, mode, linear, normalized) for place in at]
    # A GPU rounds the share that each corner has, and not only where the place lies between two.
    close = 0.4 if ON_GPU and linear else 0.02 if normalized else 1e-4
    np.testing.assert_allclose(to, expected, rtol=1e-5, atol=close)


def test_bytes_as_shares_of_the_largest(kernels: Any, device: Any) -> None:
    pixels = np.random.default_rng(0).integers(0, 256, (5, 3, 4)).astype(np.uint8)
    to = device(np.zeros((5, 3, 4), np.float32))
    kernels.run("as_shares", pixels, to, 3, 5)
    np.testing.assert_allclose(to, pixels / 255, rtol=1e-6)


def test_surfaces(kernels: Any, device: Any) -> None:
    values = np.arange(36, dtype=np.int32).reshape(6, 6)
    to = device(np.zeros((6, 6), np.int32))
    kernels.run("turned", values, to, 6, 6, 4)
    np.testing.assert_array_equal(to, 2 * values.T)


@twin_only
@pytest.mark.parametrize(
    ("n", "size", "why"),
    [(7, 4, "outside its texels"), (6, 1, "x counts bytes: expected a multiple of the texel's size")],
)
def test_misused_surfaces(kernels: Any, device: Any, n: int, size: int, why: str) -> None:
    values = np.zeros((6, 6), np.int32)
    assert kernels.call("turned", values, values.copy(), 6, n, size) != 0
    assert why in kernels.reports
