"""Call operators from PyTorch."""
