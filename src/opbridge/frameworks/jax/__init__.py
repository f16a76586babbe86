"""Call operators from JAX."""
