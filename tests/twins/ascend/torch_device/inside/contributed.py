"""torch_npu.contrib and torch_npu.testing: the results of common PyTorch code, and tests as torch_npu's are written."""

from __future__ import annotations

import math
import unittest
import warnings

import numpy as np
import pytest
import torch
import torch_npu
from torch.nn import functional
from torch_npu.contrib.function import fuse_add_softmax_dropout, matmul_transpose, npu_fast_condition_index_put, roll
from torch_npu.contrib.module import BiLSTM, ChannelShuffle, Focus, LabelSmoothingCrossEntropy, NpuDropPath, Prefetcher
from torch_npu.testing.common_distributed import skipIfUnsupportMultiNPU
from torch_npu.testing.common_utils import (  # fmt: skip
    SupportedDevices,
    check_operators_in_prof,
    create_common_tensor,
    create_dtype_tensor,
)
from torch_npu.testing.common_utils import test_2args_broadcast as broadcast
from torch_npu.testing.decorator import Dtypes, Formats, instantiate_tests
from torch_npu.testing.testcase import TestCase


def test_functions_are_what_they_replace() -> None:
    x = torch.randn(2, 4, 6, 3).npu().requires_grad_()
    torch.testing.assert_close(roll(x, (-1, 2), (1, 2)), torch.roll(x, (-1, 2), (1, 2)))
    torch.testing.assert_close(matmul_transpose(x, x), x @ x.transpose(-1, -2))
    torch.testing.assert_close(npu_fast_condition_index_put(x, x < 0, 7.0), x.masked_fill(x < 0, 7.0))
    mask = torch.randn(2, 4, 6, 3).npu()
    weights = fuse_add_softmax_dropout(False, torch.nn.Identity(), mask, x, 16)
    torch.testing.assert_close(weights, functional.softmax(x / math.sqrt(16) + mask, -1))
    roll(x, (1, 1), (1, 2)).sum().backward()
    assert torch.equal(x.grad, torch.ones_like(x))


def test_each_name_has_a_module_of_its_own() -> None:
    from torch_npu.contrib.function.roll import roll as own
    from torch_npu.contrib.module.channel_shuffle import ChannelShuffle as Own

    assert own is torch_npu.contrib.function.roll is roll
    assert Own is torch_npu.contrib.ChannelShuffle


def test_boxes_overlap() -> None:
    boxes = torch.tensor([[0.0, 0, 10, 10], [5, 5, 15, 15]]).npu()
    found = torch_npu.contrib.npu_iou(boxes, boxes, mode="iou").cpu()
    torch.testing.assert_close(found, torch.tensor([[1.0, 25 / 175], [25 / 175, 1.0]]), rtol=1e-4, atol=1e-4)


def test_modules_are_what_they_replace() -> None:
    a, b = torch.randn(2, 2, 8, 3, 3).npu()
    whole = torch.cat([a, b], 1).view(2, 2, 8, 3, 3).transpose(1, 2).reshape(2, 16, 3, 3)
    halves = ChannelShuffle(16)(a, b)
    torch.testing.assert_close(torch.cat(halves, 1), whole)
    # Of two tensors with more channels together than it was told of, it takes the first.
    torch.testing.assert_close(ChannelShuffle(8, split_shuffle=False)(a, b), a[:, [0, 4, 1, 5, 2, 6, 3, 7]])
    scores, labels = torch.randn(5, 10).npu(), torch.arange(5).npu()
    torch.testing.assert_close(LabelSmoothingCrossEntropy(10)(scores, labels), functional.cross_entropy(scores, labels))
    assert BiLSTM(4, 6).npu()(torch.randn(3, 2, 4).npu()).shape == (3, 2, 12)
    assert Focus(3, 5).npu()(torch.randn(1, 3, 8, 8).npu()).shape == (1, 5, 4, 4)
    kept = NpuDropPath(0.5).npu()(torch.ones(64, 3).npu())
    assert set(kept.unique().tolist()) == {0.0, 2.0}


def test_batches_are_copied_ahead() -> None:
    batches = [(torch.full((2,), float(i)), torch.tensor([i])) for i in range(3)]
    ahead = Prefetcher(batches)
    seen = []
    x, y = ahead.next()
    while y is not None:
        assert x.device.type == y.device.type == "npu"
        seen.append((x[0].item(), y.item()))
        x, y = ahead.next()
    assert seen == [(0.0, 0), (1.0, 1), (2.0, 2)]


class Variants(TestCase):
    @Dtypes(torch.float, torch.half)
    @Formats(2, 29)
    def test_add(self, npu_format: int, dtype: torch.dtype, device: str = "cpu") -> None:
        host, there = create_dtype_tensor((2, 3), dtype, npu_format, no_zero=True)
        assert device == there.device.type == "npu"
        assert bool((host != 0).all())
        self.assertRtolEqual(there + there, host + host)

    @SupportedDevices(["Ascend910B"])
    def test_here(self) -> None:
        host, there = create_common_tensor([np.float32, 2, (4, 4)], -1, 1)
        self.assertRtolEqual(there.exp(), host.exp())

    @SupportedDevices(["Ascend310P"])
    def test_elsewhere(self) -> None:
        self.fail("not this chip")

    @skipIfUnsupportMultiNPU(100)
    def test_on_many(self) -> None:
        self.fail("not so many devices")


Variants = instantiate_tests(Variants)


def test_tests_are_made_of_types_and_formats_and_skipped_elsewhere() -> None:
    names = sorted(name for name in vars(Variants) if name.startswith("test_add"))
    assert names == [f"test_add_{dtype}_{form}" for dtype in ("float16", "float32") for form in (2, 29)]
    result = unittest.TestResult()
    unittest.defaultTestLoader.loadTestsFromTestCase(Variants).run(result)
    assert (result.testsRun, result.errors, result.failures) == (7, [], [])
    assert [why for _, why in result.skipped] == [
        "this test is for Ascend310P, and the device is Ascend910B (simulated)",
        f"this test needs 100 NPUs, and there are {torch.npu.device_count()}",
    ]


def test_operands_broadcast_and_profiles_name_operators() -> None:
    for host, there in broadcast(torch.add):
        np.testing.assert_array_equal(host, there)
    with torch.autograd.profiler.profile() as prof:
        torch.ones(2).npu() + 1
    assert check_operators_in_prof(["aten::add"], prof)
    assert not check_operators_in_prof(["aten::add"], prof, ["aten::add"])
    assert not check_operators_in_prof(["aten::conv2d"], prof)


def test_values_are_equal_within_a_tolerance() -> None:
    case = Variants("test_here")
    equal, unequal = case.assertEqual, case.assertNotEqual
    x = torch.ones(3).npu()
    equal(x, torch.ones(3))
    equal({"a": [x, 1.0]}, {"a": [x + 1e-3, 1.0 + 1e-3]}, 1e-2)
    equal(x.sum(), 3)
    equal("a", "a", "a message")
    unequal(x, x + 1)
    case.assertExpectedInline(x.device, "npu:0")
    case.assertNotWarn(x.sum)
    wrong = [(x, x + 1), ([x], [x, x]), ({"a": 1}, {"b": 1}), ({"a": 1}, [1]), (1.0, 1.1), (x, x.half()), (x, "x")]
    for first, second in wrong:
        with pytest.raises(AssertionError):
            equal(first, second)
    with pytest.raises(AssertionError, match="said so"):
        equal(x, x + 1, message="said so")
    with pytest.raises(AssertionError, match="expected values that differ"):
        unequal(x, torch.ones(3))
    with pytest.raises(AssertionError, match="said"):
        case.assertNotWarn(lambda: warnings.warn("said", stacklevel=1))
