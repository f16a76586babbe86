"""ob::half and ob::bfloat16: exact, and fast enough to be used."""

from __future__ import annotations

import platform
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

Array = np.ndarray[Any, np.dtype[Any]]
Host = Any  # of conftest.py


MACHINES = {"any machine": "", "this machine": "-march=native"}
if platform.machine() == "x86_64":
    MACHINES["AVX2"] = "-march=x86-64-v3"


@pytest.fixture(scope="session", params=MACHINES.values(), ids=list(MACHINES))
def shorts(request: pytest.FixtureRequest, load: Callable[..., Host], compiler: str) -> Host:
    """Conversions and arithmetic of the 16-bit types, which depend on what the processor has."""
    return load("dtypes.cpp", "-O2", *filter(None, [request.param]), compiler=compiler)


def same_bits(got: Array, expected: Array, nan: Array) -> None:
    """Equal bit by bit, save that one NaN is as good as another."""
    np.testing.assert_array_equal(got[~nan], expected[~nan])


@pytest.mark.parametrize("function", ["widen", "widen_rows"])
def test_every_half_becomes_the_right_float(shorts: Host, function: str) -> None:
    halves = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
    out = np.zeros(1 << 16, np.float32)
    shorts(function, [halves], [out])
    expected = halves.astype(np.float32)
    assert np.isnan(out[np.isnan(expected)]).all()
    same_bits(out.view(np.uint32), expected.view(np.uint32), np.isnan(expected))


def test_every_bfloat16_becomes_the_right_float(shorts: Host) -> None:
    bits = np.arange(1 << 16, dtype=np.uint16)
    out = np.zeros(1 << 16, np.float32)
    shorts("widen", [as_type(bits, "bfloat16")], [out])
    np.testing.assert_array_equal(out.view(np.uint32), bits.astype(np.uint32) << 16)


def as_type(bits: Array, name: str) -> Array:
    """16-bit words under the name of a type that NumPy may not have."""
    return bits.view([(name, np.uint16)])


def floats_that_round() -> Array:
    """Every tie between two neighbours of either type, the floats next to it, and floats of any kind."""
    shorts = np.arange(1 << 16, dtype=np.uint16)
    with np.errstate(all="ignore"):
        wide = [shorts.view(np.float16).astype(np.float32).view(np.uint32), shorts.astype(np.uint32) << 16]
    ties = np.concatenate([wide[0], wide[0] + (1 << 12), wide[1], wide[1] + (1 << 15)])
    # Between two subnormal halves the tie is not at a fixed bit.
    subnormal = (np.arange(1, 2050) * 2.0**-25).astype(np.float32).view(np.uint32)
    near = np.concatenate([ties, subnormal, subnormal | (1 << 31)])
    anything = np.random.default_rng(0).integers(0, 1 << 32, 1 << 18, dtype=np.uint32)
    bits: Array = np.concatenate([near - 1, near, near + 1, anything])
    return bits.view(np.float32)


@pytest.mark.parametrize("function", ["narrow", "narrow_rows"])
def test_floats_round_to_the_nearest_even_half(shorts: Host, function: str) -> None:
    x = floats_that_round()
    out = np.zeros(x.size, np.float16)
    shorts(function, [x], [out])
    with np.errstate(all="ignore"):
        expected = x.astype(np.float16)
    np.testing.assert_array_equal(np.isnan(out), np.isnan(x))
    same_bits(out.view(np.uint16), expected.view(np.uint16), np.isnan(x))


def test_floats_round_to_the_nearest_even_bfloat16(shorts: Host) -> None:
    torch = pytest.importorskip("torch")
    x = floats_that_round()
    out = np.zeros(x.size, np.uint16)
    shorts("narrow", [x], [as_type(out, "bfloat16")])
    expected = torch.from_numpy(x).bfloat16()
    nan = np.isnan(x)
    assert torch.from_numpy(out.view(np.int16)).view(torch.bfloat16).isnan().numpy()[nan].all()
    same_bits(out.view(np.int16), expected.view(torch.int16).numpy(), nan)


@pytest.mark.filterwarnings("ignore:(invalid value|divide by zero|overflow|underflow) encountered")
def test_arithmetic_rounds_once(shorts: Host) -> None:
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(0)
    bits = rng.integers(0, 1 << 16, (2, 1 << 16), dtype=np.uint16)
    outputs = [np.zeros(1 << 16, np.uint16) for _ in range(5)]
    for name in ("float16", "bfloat16"):
        shorts("arithmetic", [as_type(bits[0], name), as_type(bits[1], name)], [as_type(out, name) for out in outputs])
        x, y = (torch.from_numpy(b.view(np.int16).copy()).view(getattr(torch, name)) for b in bits)
        for out, expected in zip(outputs, (x + y, x - y, x * y, x / y, -x), strict=True):
            same_bits(out.view(np.int16), expected.view(torch.int16).numpy(), expected.isnan().numpy())


@pytest.mark.parametrize("name", ["float16", "bfloat16"])
def test_numeric_limits_are_those_of_the_type(shorts: Host, name: str) -> None:
    torch = pytest.importorskip("torch")
    info = torch.finfo(getattr(torch, name))
    out = np.zeros(7, np.uint16)
    shorts("limits", [], [as_type(out, name)])
    got = torch.from_numpy(out.view(np.int16)).view(getattr(torch, name)).double().tolist()
    smallest_subnormal = info.smallest_normal * info.eps
    assert got[:5] == [info.smallest_normal, info.max, info.min, info.eps, float("inf")]
    assert np.isnan(got[5])
    assert got[6] == smallest_subnormal


@pytest.mark.parametrize("dtype", ["float", "double", "ob::half", "ob::bfloat16", "int32_t"])
def test_a_loop_over_elements_becomes_vector_code(tmp_path: Path, strict: list[str], dtype: str) -> None:
    source = tmp_path / "loop.cpp"
    source.write_text(
        f"""#include <opbridge/kernel.h>
        template <class T> void fma(ob::In<T> x, ob::In<T> y, ob::Out<T> out) {{
          ob::parallel_for(out.numel(), [=](int64_t i) {{ out[i] = x[i] * T(2) + y[i]; }});
        }}
        OB_KERNEL(fma, {dtype})"""
    )
    command = ["g++", "-std=c++17", "-O3", *strict, "-fPIC", "-shared", "-fopt-info-vec", str(source)]
    done = subprocess.run([*command, "-o", str(tmp_path / "loop.so")], capture_output=True, text=True, check=True)
    assert re.search(r"parallel\.h:\d+:\d+: optimized: loop vectorized", done.stderr), done.stderr
