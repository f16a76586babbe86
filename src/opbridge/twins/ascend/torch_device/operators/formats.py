"""Memory formats: all tensors here have the plain one, and asking for another changes nothing."""

from __future__ import annotations

import torch

from opbridge.twins.ascend.torch_device.operators.registration import operator

FORMAT_ND = 2
"""The acl number of the plain format."""


@operator("npu_format_cast(Tensor self, int acl_format) -> Tensor")
def npu_format_cast(self: torch.Tensor, acl_format: int) -> torch.Tensor:
    """Return a copy: every tensor keeps the plain format."""
    return self.clone()


@operator("npu_format_cast_(Tensor(a!) self, int acl_format) -> Tensor(a!)")
def npu_format_cast_(self: torch.Tensor, acl_format: int) -> torch.Tensor:
    """Return the tensor unchanged: every tensor keeps the plain format."""
    return self


@operator("get_npu_format(Tensor self) -> int")
def get_npu_format(self: torch.Tensor) -> int:
    """Return the number of the plain format."""
    return FORMAT_ND


@operator("npu_dtype_cast(Tensor self, ScalarType dtype) -> Tensor")
def npu_dtype_cast(self: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """Convert a tensor to an element type."""
    return self.to(dtype)


@operator("npu_transpose(Tensor self, int[] perm, bool require_contiguous=True) -> Tensor")
def npu_transpose(self: torch.Tensor, perm: list[int], require_contiguous: bool = True) -> torch.Tensor:
    """Permute the dimensions and return a contiguous tensor."""
    return self.permute(perm).contiguous()


@operator("npu_confusion_transpose(Tensor self, int[] perm, int[] shape, bool transpose_first) -> Tensor")
def npu_confusion_transpose(
    self: torch.Tensor, perm: list[int], shape: list[int], transpose_first: bool
) -> torch.Tensor:
    """Permute and reshape a tensor, in the order that `transpose_first` selects."""
    if transpose_first:
        return self.permute(perm).contiguous().view(shape)
    return self.reshape(shape).permute(perm)
