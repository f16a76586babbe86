"""ResNet-18 and an encoder of four layers, in PyTorch and written for MindSpore by hand."""

from __future__ import annotations

from typing import Any

_STAGES = ((64, 1), (128, 2), (256, 2), (512, 2))
_WIDTH, _HEADS, _INNER, _LAYERS, _CLASSES = 128, 4, 512, 4, 10


def encoder_of_pytorch() -> Any:
    from torch import nn

    layer = nn.TransformerEncoderLayer(_WIDTH, _HEADS, _INNER, dropout=0.0, batch_first=True)
    return nn.TransformerEncoder(layer, _LAYERS, enable_nested_tensor=False)


def encoder_by_hand() -> Any:
    from mindspore import nn

    layer = nn.TransformerEncoderLayer(_WIDTH, _HEADS, _INNER, dropout=0.0, batch_first=True)
    return nn.TransformerEncoder(layer, _LAYERS)


def resnet18_of_pytorch() -> Any:
    from torch import nn

    class Block(nn.Module):
        def __init__(self, before: int, width: int, stride: int) -> None:
            super().__init__()
            self.conv1 = nn.Conv2d(before, width, 3, stride, padding=1, bias=False)
            self.norm1 = nn.BatchNorm2d(width)
            self.conv2 = nn.Conv2d(width, width, 3, padding=1, bias=False)
            self.norm2 = nn.BatchNorm2d(width)
            self.relu = nn.ReLU()
            self.shortcut = nn.Identity()
            if before != width or stride > 1:
                self.shortcut = nn.Sequential(nn.Conv2d(before, width, 1, stride, bias=False), nn.BatchNorm2d(width))

        def forward(self, x: Any) -> Any:
            y = self.norm2(self.conv2(self.relu(self.norm1(self.conv1(x)))))
            return self.relu(y + self.shortcut(x))

    head = [nn.Conv2d(3, 64, 7, 2, padding=3, bias=False), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(3, 2, 1)]
    return nn.Sequential(*head, *_blocks(Block), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, _CLASSES))


def resnet18_by_hand() -> Any:
    from mindspore import nn

    def convolution(before: int, width: int, size: int, stride: int = 1) -> Any:
        return nn.Conv2d(before, width, size, stride, pad_mode="pad", padding=size // 2)

    class Block(nn.Cell):  # type: ignore[misc]
        def __init__(self, before: int, width: int, stride: int) -> None:
            super().__init__()
            self.conv1 = convolution(before, width, 3, stride)
            self.norm1 = nn.BatchNorm2d(width)
            self.conv2 = convolution(width, width, 3)
            self.norm2 = nn.BatchNorm2d(width)
            self.relu = nn.ReLU()
            self.shortcut = nn.Identity()
            if before != width or stride > 1:
                self.shortcut = nn.SequentialCell(convolution(before, width, 1, stride), nn.BatchNorm2d(width))

        def construct(self, x: Any) -> Any:
            y = self.norm2(self.conv2(self.relu(self.norm1(self.conv1(x)))))
            return self.relu(y + self.shortcut(x))

    pool = nn.MaxPool2d(3, 2, pad_mode="pad", padding=1)
    head = [convolution(3, 64, 7, 2), nn.BatchNorm2d(64), nn.ReLU(), pool]
    return nn.SequentialCell(*head, *_blocks(Block), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Dense(512, _CLASSES))


def _blocks(block: Any) -> Any:
    before = 64
    for width, stride in _STAGES:
        yield block(before, width, stride)
        yield block(width, width, 1)
        before = width
