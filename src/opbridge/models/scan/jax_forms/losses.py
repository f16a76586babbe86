"""Loss functions."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax.typing import ArrayLike

from opbridge.models.scan.jax_forms.arithmetic import abs as absolute
from opbridge.models.scan.jax_forms.type_promotion import Array


def _reduced(losses: Array, reduction: str) -> Array:
    return losses if reduction == "none" else losses.mean() if reduction == "mean" else losses.sum()


def mse_loss(self: Array, target: Array, reduction: str = "mean") -> Array:
    """Compute the squared error."""
    return _reduced(jnp.square(self - target), reduction)


def l1_loss(self: Array, target: Array, reduction: str = "mean") -> Array:
    """Compute the absolute error, with the gradient 0 at 0."""
    return _reduced(absolute(self - target), reduction)


def smooth_l1_loss(self: Array, target: Array, reduction: str = "mean", beta: float = 1.0) -> Array:
    """Compute the absolute error, which is a scaled square below `beta`."""
    distance = jnp.abs(self - target)
    return _reduced(jnp.where(distance < beta, jnp.square(distance) / (2 * beta), distance - beta / 2), reduction)


def binary_cross_entropy_with_logits(
    self: Array,
    target: Array,
    weight: ArrayLike | None = None,
    pos_weight: ArrayLike | None = None,
    reduction: str = "mean",
) -> Array:
    """Compute the binary cross entropy of logits, which does not overflow."""
    ones = 1 if pos_weight is None else pos_weight
    losses = -ones * target * jax.nn.log_sigmoid(self) - (1 - target) * jax.nn.log_sigmoid(-self)
    return _reduced(losses if weight is None else losses * weight, reduction)


def nll_loss(
    self: Array, target: Array, weight: ArrayLike | None = None, reduction: str = "mean", ignore_index: int = -100
) -> Array:
    """Compute the negative log likelihood; targets equal to `ignore_index` do not count."""
    axis = 1 if self.ndim > 1 else 0
    counts = target != ignore_index
    classes = jnp.where(counts, target, 0)
    losses = -jnp.squeeze(jnp.take_along_axis(self, jnp.expand_dims(classes, axis), axis), axis)
    share = counts.astype(self.dtype) if weight is None else jnp.where(counts, weight[classes], 0)
    losses = jnp.where(counts, losses, 0) * share
    return losses.sum() / share.sum() if reduction == "mean" else _reduced(losses, reduction)


nll_loss_nd = nll_loss


def cross_entropy_loss(
    self: Array,
    target: Array,
    weight: ArrayLike | None = None,
    reduction: str = "mean",
    ignore_index: int = -100,
    label_smoothing: float = 0.0,
) -> Array:
    """Compute the cross entropy of class indices; raise ValueError for other targets and smoothing."""
    if label_smoothing or target.dtype == self.dtype:
        raise ValueError("targets are classes here, without smoothing")
    return nll_loss(jax.nn.log_softmax(self, 1 if self.ndim > 1 else 0), target, weight, reduction, ignore_index)
