"""The stand-in for the torch_npu module of this name."""

from opbridge.twins.ascend.torch_device.testing import TestCase, run_tests

__all__ = ["TestCase", "run_tests"]
