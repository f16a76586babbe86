"""Operators in PyTorch."""
