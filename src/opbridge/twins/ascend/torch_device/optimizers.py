"""The `torch_npu.optim` module: PyTorch's optimizers under the names of the fused ones, which take the same steps."""

from __future__ import annotations

import torch

__all__ = ["NpuFusedAdadelta", "NpuFusedAdam", "NpuFusedAdamW", "NpuFusedRMSprop", "NpuFusedSGD"]


class _Fused(torch.optim.Optimizer):  # type: ignore[misc]
    def clip_grad_norm_fused_(self, max_norm: float, norm_type: float = 2) -> torch.Tensor:
        parameters = [one for group in self.param_groups for one in group["params"]]
        return torch.nn.utils.clip_grad_norm_(parameters, max_norm, norm_type)


class NpuFusedAdam(torch.optim.Adam, _Fused):  # type: ignore[misc]
    """Adam under its fused name."""


class NpuFusedAdamW(torch.optim.AdamW, _Fused):  # type: ignore[misc]
    """AdamW under its fused name."""


class NpuFusedSGD(torch.optim.SGD, _Fused):  # type: ignore[misc]
    """SGD under its fused name."""


class NpuFusedAdadelta(torch.optim.Adadelta, _Fused):  # type: ignore[misc]
    """Adadelta under its fused name."""


class NpuFusedRMSprop(torch.optim.RMSprop, _Fused):  # type: ignore[misc]
    """RMSprop under its fused name."""
