"""A device that is simulated for PyTorch: what those of all twins share."""
