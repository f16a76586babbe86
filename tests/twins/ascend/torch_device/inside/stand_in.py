"""torch_npu, where nothing but its stand-in is installed."""

from __future__ import annotations

import pytest
import torch
import torch_npu
from torch_npu.testing.testcase import TestCase


def test_it_is_what_programs_import() -> None:
    assert torch_npu.npu is torch.npu
    assert torch_npu.npu.is_available()
    assert torch_npu.__version__.endswith("+opbridge")
    torch.npu.config.allow_internal_format = False
    torch.npu.set_compile_mode(jit_compile=False)


def test_formats_are_plain() -> None:
    x = torch.ones(2, 3).npu()
    assert torch_npu.get_npu_format(x) == 2
    cast = torch_npu.npu_format_cast(x, 29)
    assert torch.equal(cast, x)
    assert torch_npu.get_npu_format(torch_npu.npu_format_cast_(x, 2)) == 2
    assert torch_npu.npu_dtype_cast(x, torch.float16).dtype == torch.float16


def test_operators_are_those_of_the_documents() -> None:
    torch.manual_seed(0)
    x = torch.randn(3, 8).npu().requires_grad_()
    gamma = torch.rand(8).npu()
    normed, rstd = torch_npu.npu_rms_norm(x, gamma, epsilon=1e-5)
    torch.testing.assert_close(normed, torch.nn.functional.rms_norm(x, (8,), gamma, 1e-5))
    assert rstd.shape == (3, 1)
    gate, value = x.chunk(2, -1)
    torch.testing.assert_close(torch_npu.npu_swiglu(x), torch.nn.functional.silu(gate) * value)
    cos, sin = torch.rand(2, 3, 8).npu()
    rotated = torch_npu.npu_rotary_mul(x, cos, sin)
    torch.testing.assert_close(rotated[:, :4], x[:, :4] * cos[:, :4] - x[:, 4:] * sin[:, :4])
    absolute = x.abs()
    documented = x / (1 + torch.exp(-1.702 * absolute)) * torch.exp(0.851 * (x - absolute))
    torch.testing.assert_close(torch_npu.npu_fast_gelu(x), documented)
    torch_npu.npu_swiglu(x).sum().backward()
    assert x.grad is not None


class Case(TestCase):
    def runTest(self) -> None:  # noqa: N802
        pass


def test_few_elements_may_differ() -> None:
    case = Case()
    x = torch.zeros(10_000)
    y = x.clone()
    y[0] = 1
    case.assertRtolEqual(x.npu(), y)
    y[1:3] = 1
    with pytest.raises(AssertionError, match=r"3 of 10000 elements differ by more than 0\.0001; the most at"):
        case.assertRtolEqual(x.npu(), y)


def test_tolerances_follow_the_type() -> None:
    case = Case()
    case.assertRtolEqual(torch.ones(3).half().npu(), torch.full((3,), 1.0009765625).half())
    with pytest.raises(AssertionError, match="differ"):
        case.assertRtolEqual(torch.ones(3), torch.full((3,), 1.0009765625))
    case.assertRtolEqual([torch.ones(2).bfloat16()], [torch.ones(2).bfloat16()])
    case.assertRtolEqual(torch.tensor([torch.inf, torch.nan, 2.0]), torch.tensor([torch.inf, torch.nan, 2.0]))
    with pytest.raises(AssertionError, match=r"expected torch\.float32 of shape"):
        case.assertRtolEqual(torch.ones(3).half(), torch.ones(3))
    case.assertEqual(torch.ones(2).npu(), torch.ones(2))  # noqa: PT009 - it is what is tested
