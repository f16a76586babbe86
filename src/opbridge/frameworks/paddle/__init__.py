"""Operators on Paddle's tensors."""
