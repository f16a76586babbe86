"""Provide the operators of PyTorch itself in every framework."""
