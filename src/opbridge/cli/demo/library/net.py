"""A PyTorch network that the demo converts."""

from torch import nn

classifier = nn.Sequential(
    nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.GELU(), nn.Flatten(), nn.Linear(512, 10)
)
