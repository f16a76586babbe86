"""Ways in which the tensors of a trial lie in memory.

A gradient that is right for tensors without gaps may be wrong for views: that of MindSpore's `mint.split` is, where a
transposed tensor gives it its gradients.
"""

from __future__ import annotations

from opbridge.models.scan.trial_framework import Tensor


class Layout:
    """Tensors as they come: a copy is viewed as it is."""

    def turned(self, tensor: Tensor) -> Tensor:
        """Return the view of a copy in which it holds the tensor that was copied."""
        return tensor

    def copied(self, tensor: Tensor) -> Tensor:
        """Return the tensor whose view is the given one."""
        return tensor


class Turned(Layout):
    """Views in which the first and the last dimension are exchanged."""

    def turned(self, tensor: Tensor) -> Tensor:
        """Return a view in which the first and the last dimension are exchanged; its inverse is itself."""
        return tensor.transpose(0, -1) if tensor.ndim > 1 else tensor

    def copied(self, tensor: Tensor) -> Tensor:
        """Return a copy in the order of the view."""
        return self.turned(tensor).contiguous()
