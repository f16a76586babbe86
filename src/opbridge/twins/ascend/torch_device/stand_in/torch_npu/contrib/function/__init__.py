"""The stand-in for the torch_npu module of this name."""

from torch_npu.contrib.function.fuse_add_softmax_dropout import fuse_add_softmax_dropout
from torch_npu.contrib.function.index_op import npu_fast_condition_index_put
from torch_npu.contrib.function.iou import npu_iou, npu_ptiou
from torch_npu.contrib.function.matmul_transpose import matmul_transpose
from torch_npu.contrib.function.npu_functional import dropout_with_byte_mask
from torch_npu.contrib.function.roll import roll

__all__ = [
    "dropout_with_byte_mask",
    "fuse_add_softmax_dropout",
    "matmul_transpose",
    "npu_fast_condition_index_put",
    "npu_iou",
    "npu_ptiou",
    "roll",
]
