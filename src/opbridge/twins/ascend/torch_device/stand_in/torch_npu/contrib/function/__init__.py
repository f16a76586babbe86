"""The stand-in for the torch_npu module of this name."""

from opbridge.twins.ascend.torch_device.contributed_functions import (
    dropout_with_byte_mask,
    fuse_add_softmax_dropout,
    matmul_transpose,
    npu_fast_condition_index_put,
    npu_iou,
    npu_ptiou,
    roll,
)

__all__ = [
    "dropout_with_byte_mask",
    "fuse_add_softmax_dropout",
    "matmul_transpose",
    "npu_fast_condition_index_put",
    "npu_iou",
    "npu_ptiou",
    "roll",
]
