"""Operators that PyTorch has itself, in every framework."""
