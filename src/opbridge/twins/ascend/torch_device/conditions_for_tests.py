"""Decorators that skip tests, under the names of torch_npu.testing.common_utils and common_distributed."""

from __future__ import annotations

import re
import unittest
from collections.abc import Callable, Sequence
from functools import wraps

import torch

Test = Callable[..., object]


class _Condition:
    """A decorator that skips a test when it runs, unless `why_not` returns an empty text."""

    def __call__(self, fn: Test) -> Test:
        """Return the test with the condition."""

        @wraps(fn)
        def conditional(*args: object, **kwargs: object) -> object:
            if why := self.why_not():
                raise unittest.SkipTest(why)
            return fn(*args, **kwargs)

        return conditional

    def why_not(self) -> str:
        """Return the reason to skip the test."""
        raise NotImplementedError


class SupportedDevices(_Condition):
    """Skip a test on other chips than the named families, such as Ascend910B."""

    def __init__(self, supported_devices: Sequence[str]) -> None:
        self.supported_devices = supported_devices

    def why_not(self) -> str:
        """Return the reason to skip the test."""
        name = torch.npu.get_device_name(0)
        family = re.match(r"Ascend\d+(?:_\d+|[A-Z])?", name)
        if family is not None and family[0] in self.supported_devices:
            return ""
        return f"this test is for {', '.join(self.supported_devices)}, and the device is {name}"


class SkipIfNotGteCANNVersion(_Condition):
    """Accept a required version of CANN: the simulated device has no version that could be too old."""

    def __init__(self, base_version: str, module: str = "CANN") -> None:
        self.base_version, self.module = base_version, module

    def why_not(self) -> str:
        """Return no reason."""
        return ""


class SkipIfNoLapack(_Condition):
    """Skip a test if PyTorch has no LAPACK."""

    def why_not(self) -> str:
        """Return the reason to skip the test."""
        return "" if torch._C.has_lapack else "PyTorch was compiled without LAPACK"


class SkipIfNotRegistered(_Condition):
    """Skip a test that needs an operator of Caffe2, which PyTorch no longer has."""

    def __init__(self, op_name: str, message: str = "") -> None:
        self.op_name, self.message = op_name, message

    def why_not(self) -> str:
        """Return the reason to skip the test."""
        return self.message or f"PyTorch has no {self.op_name}"


class skipIfUnsupportMultiNPU(_Condition):  # noqa: N801
    """Skip a test that needs more devices than there are."""

    def __init__(self, npu_number_needed: int) -> None:
        self.needed = npu_number_needed

    def why_not(self) -> str:
        """Return the reason to skip the test."""
        there = torch.npu.device_count()
        return "" if there >= self.needed else f"this test needs {self.needed} NPUs, and there are {there}"
