"""Create a tensor on the simulated `cuda` of PyTorch."""

import torch

import opbridge.cuda_twin  # noqa: F401 - registers the device

assert (torch.ones(4, device="cuda") + 1).tolist() == [2] * 4
