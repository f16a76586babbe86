"""Wheels of kernels: `opbridge wheel` makes them, and `installed` is what they import where they were installed."""
