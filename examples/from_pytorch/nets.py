"""Two typical PyTorch models: the transformer layer of torch.nn, and a small convolutional network."""

from __future__ import annotations

import torch
from torch.nn import functional


def encoder_layer() -> torch.nn.Module:
    return torch.nn.TransformerEncoderLayer(16, 4, 32, dropout=0.0, activation="gelu", batch_first=True)


class SpatialNet(torch.nn.Module):
    """A spatial transformer, which a small network steers, followed by pooling at several scales."""

    def __init__(self) -> None:
        super().__init__()
        self.pose = torch.nn.Linear(3, 6)
        self.features = torch.nn.Conv2d(3, 8, 3, padding=1)
        self.style = torch.nn.InstanceNorm2d(8, affine=True)
        self.classify = torch.nn.Linear(8, 5)

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        pose = self.pose(image.mean((2, 3))).view(-1, 2, 3)
        grid = functional.affine_grid(pose, list(image.shape), align_corners=False)
        features = self.style(self.features(functional.grid_sample(image, grid, align_corners=False)))
        features = functional.rrelu(functional.interpolate(features, scale_factor=2, mode="bicubic"))
        pooled = functional.lp_pool2d(features.abs(), 2, 4)
        return functional.log_softmax(self.classify(torch.logsumexp(pooled, (2, 3))), -1)
