"""Call operators with NumPy arrays."""
