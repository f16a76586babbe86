"""Importing this module first runs a CUDA program on NPUs: `torch.cuda` becomes `torch.npu`, and "cuda" means "npu"."""

from __future__ import annotations

from opbridge.twins.ascend.torch_device import cuda_to_npu

cuda_to_npu.install()
