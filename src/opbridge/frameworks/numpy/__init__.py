"""Operators on NumPy arrays."""
