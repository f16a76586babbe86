"""The stand-in for the torch_npu module of this name."""

from torch_npu.contrib.module._batchnorm_with_int32_count import FastBatchNorm1d, FastBatchNorm2d, FastBatchNorm3d
from torch_npu.contrib.module._ensemble_dropout import NpuPreGenDropout
from torch_npu.contrib.module.activations import Mish, SiLU, Swish
from torch_npu.contrib.module.bidirectional_lstm import BiLSTM
from torch_npu.contrib.module.channel_shuffle import ChannelShuffle
from torch_npu.contrib.module.crossentropy import LabelSmoothingCrossEntropy
from torch_npu.contrib.module.drop_path import NpuDropPath
from torch_npu.contrib.module.ensemble_dropout import NpuCachedDropout, NpuFairseqDropout
from torch_npu.contrib.module.focus import Focus
from torch_npu.contrib.module.npu_modules import DropoutWithByteMask
from torch_npu.contrib.module.prefetcher import Prefetcher

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
