"""What the source of a converted network calls in JAX."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp

from opbridge.conversion import weights


def load(path: str | Path, tied: Mapping[str, str]) -> dict[str, Any]:
    """The values of a file of safetensors, or of PyTorch's; `tied` are names that stand for others."""
    path = Path(path)
    if path.suffix == ".safetensors":
        state: Mapping[str, Any] = weights.load(path)
    else:
        import torch

        state = {name: value.numpy() for name, value in torch.load(path, weights_only=True).items()}
    return {name: jnp.asarray(value) for name, value in state.items() if name not in tied}


def attention(
    query: Any,
    key: Any,
    value: Any,
    attn_mask: Any = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Any:
    """PyTorch's scaled_dot_product_attention without dropout, for which its own would ask for a generator."""
    if enable_gqa:
        groups = query.shape[-3] // key.shape[-3]
        key, value = jnp.repeat(key, groups, axis=-3), jnp.repeat(value, groups, axis=-3)
    scores = query @ jnp.swapaxes(key, -1, -2) * (query.shape[-1] ** -0.5 if scale is None else scale)
    if is_causal:
        attn_mask = jnp.tril(jnp.ones(scores.shape[-2:], bool))
    if attn_mask is not None:
        scores = jnp.where(attn_mask, scores, -jnp.inf) if attn_mask.dtype == bool else scores + attn_mask
    return jax.nn.softmax(scores, axis=-1) @ value
