"""Stands for torch_npu's module of this name."""
