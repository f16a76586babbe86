"""Operators in JAX."""
