"""Inline PTX against NumPy; with checks on and off."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from opbridge.twins.cuda import RUNTIME
from opbridge.twins.cuda.rewriting.assembly import INSTRUCTIONS, unknown_instruction


@pytest.fixture(scope="module", params=[False, True], ids=["fast", "checked"])
def ptx(request: pytest.FixtureRequest, twin: Any) -> Any:
    return twin("ptx.cu", checks=request.param)


@pytest.fixture
def device(ptx: Any, on_device: Any) -> Any:
    return on_device(ptx)


def test_whole_numbers(ptx: Any, device: Any) -> None:
    bits = np.random.default_rng(0).integers(0, 2**32, (2, 100), dtype=np.uint32)
    a, b = device(bits[0]), device(bits[1])
    out = device(np.zeros((100, 12), np.uint32))
    ptx.run("run_whole_numbers", a, b, out, 100)
    for (x, y), found in zip(bits.T.tolist(), out.tolist(), strict=True):
        bytes_of_both = x.to_bytes(4, "little") + y.to_bytes(4, "little")
        signed_x, signed_y = (v - 2**32 if v >> 31 else v for v in (x, y))
        field = x >> 5 & 511
        expected = [
            x ^ y ^ 0x0F0F0F0F,
            int.from_bytes(bytes(bytes_of_both[k] for k in (0, 4, 1, 5)), "little"),
            field,
            field - 512 if field >> 8 else field,
            (y & ~0xF00) | (x & 15) << 8,
            signed_x * signed_y >> 32,
            signed_x >> 7,
            ((y << 32 | x) << 13) >> 32,
            11 if x < y else 2,
            x + y,
            x + y >> 32,
            x.bit_count(),
        ]
        assert found == [value % 2**32 for value in expected]


def test_loads_stores_loops_and_copies(ptx: Any, device: Any) -> None:
    values = np.arange(128, dtype=np.float32).reshape(32, 4)
    given, to, sums = device(values), device(np.zeros((32, 4), np.float32)), device(np.zeros(1, np.float32))
    ptx.run("run_moves", given, to, sums)
    np.testing.assert_array_equal(to, values[:, ::-1])
    assert sums[0] == values[:, 1].sum()


def test_lanes(ptx: Any, device: Any) -> None:
    values = np.random.default_rng(1).integers(0, 20, 32).astype(np.int32)
    given, out = device(values), device(np.zeros((4, 32), np.int32))
    ptx.run("run_lanes", given, out)
    np.testing.assert_array_equal(out[0], np.concatenate([[-1, -1, -1], values[:-3]]))
    bits = 1 << np.arange(32, dtype=np.uint64)
    assert set(out[1].view(np.uint32)) == {bits[values > 5].sum()}
    same = [bits[(values & 3) == (value & 3)].sum() for value in values]
    np.testing.assert_array_equal(out[2].view(np.uint32), same)
    assert set(out[3]) == {values.sum()}


def test_a_product_on_tensor_cores(ptx: Any, device: Any) -> None:
    generator = np.random.default_rng(2)
    a, b = (generator.standard_normal(shape).astype(np.float16) for shape in ((16, 16), (16, 8)))
    given, other, out = device(a), device(b), device(np.zeros((16, 8), np.float32))
    ptx.run("run_product", given, other, out)
    np.testing.assert_allclose(out, a.astype(np.float64) @ b.astype(np.float64) + 1, rtol=1e-6, atol=1e-6)


def test_numbers(ptx: Any, device: Any) -> None:
    x = np.array([1.5, -2.75, 1e4, 0.1], np.float32)
    given, out = device(x), device(np.zeros((5, 4), np.float32))
    ptx.run("run_numbers", given, out, 4)
    np.testing.assert_array_equal(out[0], np.trunc(x))
    np.testing.assert_array_equal(out[1], (-x).astype(np.float16).astype(np.float32))
    np.testing.assert_array_equal(out[2], (x.astype(np.float64) ** 2 + 1).astype(np.float32))
    np.testing.assert_array_equal(out[3], [1.5, np.nextafter(np.float32(-2.75), np.float32(0)), 1e4, np.float32(0.1)])
    np.testing.assert_array_equal(out[4], [3, 3, 3, 3])


def test_memory_is_checked(twin: Any, on_device: Any) -> None:
    ptx = twin("ptx.cu", checks=True)
    assert ptx.call("run_too_far", on_device(ptx)(np.zeros(4, np.float32))) == 700
    assert "too_far: write of 4 bytes out of bounds" in ptx.reports


def test_an_instruction_that_is_not_there_is_named(twin: Any) -> None:
    ptx = twin("ptx.cu", checks=True)
    assert ptx.call("run_unknown") != 0
    assert "`wgmma.fence`: the twin has no such instruction" in ptx.reports


def test_the_rewriting_knows_what_the_library_has() -> None:
    sources = "\n".join(path.read_text() for path in (RUNTIME / "ptx").glob("*.cpp"))
    tables = re.findall(r"\*new Instructions\{(.*?)\};", sources, re.DOTALL)
    named = {name for table in tables for name in re.findall(r'\{"(\w+)", ', table)} - {"pause"}
    assert named == INSTRUCTIONS


@pytest.mark.parametrize(
    ("code", "unknown"),
    [
        ("mov.u32 %0, %%laneid;", None),
        ("{ .reg .pred p; @!p bra.uni done; done: }", None),
        ("// wgmma\\n\\tst.global.v2.f32 [%0], {%1, %2};", None),
        ("wgmma.fence;", "wgmma"),
        ("@p tcgen05.ld.sync;", "tcgen05"),
        ("again: mapa.u64 %0, %1, 1;", "mapa"),
    ],
)
def test_unknown_instructions_are_found_in_literals(code: str, unknown: str | None) -> None:
    assert unknown_instruction([f'"{code}"']) == unknown
