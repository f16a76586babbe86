"""Imported first, it has a program for CUDA run on NPUs: `torch.cuda` is `torch.npu`, and "cuda" a name of "npu"."""

from __future__ import annotations

from opbridge.npu import transfer

transfer.install()
