# ruff: noqa: PT009, PT027 - as such tests are written
import os
import sys

import torch
import torch_npu
from torch_npu.testing.testcase import TestCase, run_tests

sys.path.append(os.getcwd())
import muladd

torch.npu.config.allow_internal_format = False


class TestMulAdd(TestCase):
    def test_it_is_what_torch_computes(self):
        x = torch.rand([8, 2048], dtype=torch.float16)
        y = torch.rand([8, 2048], dtype=torch.float16)
        self.assertRtolEqual(muladd.muladd(x.npu(), y.npu()), x * y + x)
        self.assertRtolEqual(muladd.muladd(x.to("npu:1"), y.to("npu:1")).npu(), x * y + x)

    def test_it_refuses_the_cpu(self):
        with self.assertRaisesRegex(RuntimeError, "expected a tensor of an npu"):
            muladd.muladd(torch.ones(1024).half(), torch.ones(1024).half())

    def test_memory(self):
        self.assertEqual(muladd.first_of_copy(torch.tensor([2.5, 1.0]).npu()), 2.5)
        self.assertEqual(muladd.workspace(100), 100)
        self.assertTrue(torch_npu.npu.is_available())


if __name__ == "__main__":
    run_tests()
