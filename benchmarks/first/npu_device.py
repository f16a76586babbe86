"""Create a tensor on the simulated `npu` of PyTorch."""

import torch

import opbridge.npu  # noqa: F401 - registers the device

assert (torch.ones(4, device="npu") + 1).tolist() == [2] * 4
