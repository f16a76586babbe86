"""Whole networks of PyTorch: what they run, and their source in another framework."""
