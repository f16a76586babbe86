"""Call operators with Paddle tensors."""
