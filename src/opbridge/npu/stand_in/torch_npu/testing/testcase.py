"""Stands for torch_npu's module of this name."""

from opbridge.npu.testing import TestCase, run_tests

__all__ = ["TestCase", "run_tests"]
