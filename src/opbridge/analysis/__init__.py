"""What kernels cost, whether an answer is right, and what a port lacks."""
