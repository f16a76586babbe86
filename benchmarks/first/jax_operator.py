"""The same in JAX, compiled."""

import jax
from _scaled import scaled

gradient = jax.jit(jax.grad(lambda x: scaled(x, 2.5).sum()))(jax.numpy.ones(4))
assert gradient.tolist() == [2.5] * 4
