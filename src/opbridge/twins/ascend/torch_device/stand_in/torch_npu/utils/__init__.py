"""Stands in for torch_npu.utils."""
