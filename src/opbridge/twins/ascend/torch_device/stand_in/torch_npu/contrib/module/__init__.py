"""The stand-in for the torch_npu module of this name."""

from opbridge.twins.ascend.torch_device.contributed_modules import (
    BiLSTM,
    ChannelShuffle,
    DropoutWithByteMask,
    FastBatchNorm1d,
    FastBatchNorm2d,
    FastBatchNorm3d,
    Focus,
    LabelSmoothingCrossEntropy,
    Mish,
    NpuCachedDropout,
    NpuDropPath,
    NpuFairseqDropout,
    NpuPreGenDropout,
    Prefetcher,
    SiLU,
    Swish,
)

__all__ = [
    "BiLSTM",
    "ChannelShuffle",
    "DropoutWithByteMask",
    "FastBatchNorm1d",
    "FastBatchNorm2d",
    "FastBatchNorm3d",
    "Focus",
    "LabelSmoothingCrossEntropy",
    "Mish",
    "NpuCachedDropout",
    "NpuDropPath",
    "NpuFairseqDropout",
    "NpuPreGenDropout",
    "Prefetcher",
    "SiLU",
    "Swish",
]
