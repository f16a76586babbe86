"""Importing this module first runs a CUDA program on NPUs: `torch.cuda` becomes `torch.npu`, and "cuda" means "npu"."""

from __future__ import annotations

from opbridge.npu import transfer

transfer.install()
