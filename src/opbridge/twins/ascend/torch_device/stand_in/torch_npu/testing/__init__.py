"""Stands in for torch_npu.testing."""
