"""The modules of torch_npu.contrib, computed by PyTorch's own operators on any device."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor, nn
from torch.nn import functional

from opbridge.twins.ascend.torch_device.contributed_functions import dropout_with_byte_mask


class ChannelShuffle(nn.Module):  # type: ignore[misc]
    """Take the first `in_channels` channels of two tensors, one of each group in turn, and split them unless told."""

    def __init__(self, in_channels: int, groups: int = 2, split_shuffle: bool = True) -> None:
        super().__init__()
        self.in_channels, self.groups, self.split_shuffle = in_channels, groups, split_shuffle

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor | tuple[Tensor, Tensor]:
        """Return the shuffled channels, in two parts if they are split: those of one group, and the others."""
        together = torch.cat([x1, x2], dim=1)[:, : self.in_channels]
        shuffled = together.unflatten(1, (self.groups, -1)).transpose(1, 2).flatten(1, 2)
        in_group = self.in_channels // self.groups
        return (shuffled[:, :in_group], shuffled[:, in_group:]) if self.split_shuffle else shuffled


class LabelSmoothingCrossEntropy(nn.Module):  # type: ignore[misc]
    """Compute the cross entropy with labels that share `smooth_factor` among the other classes."""

    def __init__(self, num_classes: int = 1000, smooth_factor: float = 0.0) -> None:
        super().__init__()
        self.on_value, self.off_value = 1.0 - smooth_factor, smooth_factor / (num_classes - 1)

    def forward(self, pred: Tensor, target: Tensor) -> Tensor:
        """Return the mean loss."""
        labels = torch.full_like(pred, self.off_value).scatter_(1, target.long()[:, None], self.on_value)
        return -(labels * functional.log_softmax(pred, dim=1)).sum(1).float().mean()


class Mish(nn.Mish):  # type: ignore[misc]
    """Compute x * tanh(softplus(x))."""


class SiLU(nn.SiLU):  # type: ignore[misc]
    """Compute x * sigmoid(x)."""


Swish = SiLU


class NpuDropPath(nn.Module):  # type: ignore[misc]
    """Drop the whole of some samples in training, and scale the others up."""

    def __init__(self, drop_prob: float = 0.0) -> None:
        super().__init__()
        self.drop_prob, self.keep_prob = drop_prob, 1 - drop_prob

    def forward(self, x: Tensor) -> Tensor:
        """Return the samples that are kept, and zeros for the others."""
        if self.drop_prob == 0.0 or not self.training:
            return x
        kept = torch.rand((x.shape[0],) + (1,) * (x.ndim - 1), dtype=x.dtype, device=x.device) < self.keep_prob
        return x.div(self.keep_prob) * kept

    @classmethod
    def enable_droppath_ensemble(cls, model: nn.Module) -> None:
        """Do nothing: torch_npu draws random numbers ahead on another stream here."""


class NpuCachedDropout(nn.Dropout):  # type: ignore[misc]
    """Drop elements in training, as PyTorch's dropout does."""

    def __init__(self, p: float, module_name: str | None = None) -> None:
        super().__init__(p)
        self.module_name = module_name

    @classmethod
    def enable_dropout_ensemble(cls, model: nn.Module) -> None:
        """Do nothing: torch_npu draws masks ahead on another stream here."""


NpuFairseqDropout = NpuPreGenDropout = NpuCachedDropout


class DropoutWithByteMask(nn.Module):  # type: ignore[misc]
    """Drop elements in training, as PyTorch's dropout does."""

    def __init__(self, p: float = 0.5, inplace: bool = False, max_seed: int = 1023) -> None:
        super().__init__()
        self.p, self.inplace = p, inplace

    def forward(self, input1: Tensor) -> Tensor:
        """Return the elements that are kept, scaled up."""
        return dropout_with_byte_mask(input1, self.p, self.training, self.inplace)


class _Convolution(nn.Module):  # type: ignore[misc]
    """A convolution, a normalization and an activation, with the names that checkpoints of YOLOv5 have."""

    def __init__(
        self, c1: int, c2: int, k: int | tuple[int, int], s: int, p: int | tuple[int, int] | None, g: int, act: bool
    ) -> None:
        super().__init__()
        same = k // 2 if isinstance(k, int) else [size // 2 for size in k]
        self.conv = nn.Conv2d(c1, c2, k, s, same if p is None else p, groups=g, bias=False)
        self.bn = nn.BatchNorm2d(c2)
        self.act = nn.LeakyReLU(0.1, inplace=True) if act else nn.Identity()

    def forward(self, x: Tensor) -> Tensor:
        """Return the activations."""
        return self.act(self.bn(self.conv(x)))


class Focus(nn.Module):  # type: ignore[misc]
    """Move each 2 x 2 pixels into channels, and convolve them, as the first layer of YOLOv5."""

    def __init__(
        self,
        c1: int,
        c2: int,
        k: int | tuple[int, int] = 1,
        s: int = 1,
        p: int | tuple[int, int] | None = None,
        g: int = 1,
        act: bool = True,
    ) -> None:
        super().__init__()
        self.conv = _Convolution(c1 * 4, c2, k, s, p, g, act)

    def forward(self, x: Tensor) -> Tensor:
        """Return the activations."""
        places = [(row, column) for column in (0, 1) for row in (0, 1)]
        return self.conv(torch.cat([x[..., row::2, column::2] for row, column in places], 1))


class BiLSTM(nn.Module):  # type: ignore[misc]
    """Run one LSTM forwards and one backwards over a sequence."""

    def __init__(self, input_size: int, hidden_size: int) -> None:
        super().__init__()
        self.fw_rnn, self.bw_rnn = (nn.LSTM(input_size, hidden_size) for _ in range(2))

    def forward(self, inputs: Tensor) -> Tensor:
        """Return the hidden states of both, side by side."""
        forwards, _ = self.fw_rnn(inputs)
        backwards, _ = self.bw_rnn(inputs.flip([0]))
        return torch.cat((forwards, backwards.flip([0])), 2)


class Prefetcher:
    """Copy the next batch of a loader to the NPU while the program uses the current one."""

    def __init__(self, loader: Iterable[tuple[Tensor, Tensor]], stream: torch.Stream | None = None) -> None:
        self.loader = iter(loader)
        self.stream = stream if stream is not None else torch.npu.Stream()
        self.preload()

    def preload(self) -> None:
        """Start to copy the next batch; after the last one there is None."""
        found = next(self.loader, (None, None))
        with torch.npu.stream(self.stream):
            self.next_input, self.next_target = (None if one is None else one.npu(non_blocking=True) for one in found)

    def next(self) -> tuple[Tensor | None, Tensor | None]:
        """Return the batch that was copied, and start to copy the one after it."""
        torch.npu.current_stream().wait_stream(self.stream)
        batch = self.next_input, self.next_target
        if self.next_target is not None:
            self.preload()
        return batch


class FastBatchNorm1d(nn.BatchNorm1d):  # type: ignore[misc]
    """Normalize a batch, as PyTorch's own module does."""


class FastBatchNorm2d(nn.BatchNorm2d):  # type: ignore[misc]
    """Normalize a batch, as PyTorch's own module does."""


class FastBatchNorm3d(nn.BatchNorm3d):  # type: ignore[misc]
    """Normalize a batch, as PyTorch's own module does."""
