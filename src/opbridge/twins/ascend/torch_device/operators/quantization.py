"""8-bit and 4-bit numbers: quantization, and matrix products of quantized operands."""

from __future__ import annotations

import torch

from opbridge.base.errors import CallError
from opbridge.twins.ascend.torch_device.operators.registration import dtype_of, operator, refuse

_QUANTISED = {torch.qint8: torch.int8, torch.quint8: torch.uint8, torch.qint32: torch.int32}
_SCALE_BITS, _QUANTISES, _OFFSET_AT = 0xFFFFE000, 1 << 46, 37
"""The fields of a scale as the matrix unit reads it: a 19-bit float, a flag, and a 9-bit offset."""


def rounded_to(x: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """Round to the nearest integer, ties to even, and clamp to the range of the type."""
    limits = torch.iinfo(dtype)
    return torch.clamp(torch.round(x), limits.min, limits.max).to(dtype)


def smoothed(x: torch.Tensor, scales: torch.Tensor | None, group_index: torch.Tensor | None) -> torch.Tensor:
    """Multiply by the smoothing scales in float32; a group index gives the end row of each scale."""
    if scales is None:
        return x.float()
    if group_index is None:
        return x.float() * scales.float()
    counts = torch.diff(group_index.long(), prepend=group_index.new_zeros(1).long())
    rows = scales.float().repeat_interleave(counts, 0)
    return (x.float().flatten(0, -2) * rows).view(x.shape)


@operator(
    "npu_dynamic_quant(Tensor input, *, Tensor? smooth_scales=None, Tensor? group_index=None, int? dst_type=None) "
    "-> (Tensor, Tensor)"
)
def npu_dynamic_quant(
    input: torch.Tensor,
    *,
    smooth_scales: torch.Tensor | None = None,
    group_index: torch.Tensor | None = None,
    dst_type: int | None = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Quantize each row by its own scale, which maps its largest absolute value to 127; return also the scales."""
    dtype = _int8("npu_dynamic_quant", dst_type)
    wide = smoothed(input, smooth_scales, group_index)
    scale = wide.abs().amax(-1) / torch.iinfo(dtype).max
    return rounded_to(torch.nan_to_num(wide / scale.unsqueeze(-1)), dtype), scale


@operator(
    "npu_dynamic_quant_asymmetric(Tensor input, *, Tensor? smooth_scales=None, Tensor? group_index=None, "
    "int? dst_type=None) -> (Tensor, Tensor, Tensor)"
)
def npu_dynamic_quant_asymmetric(
    input: torch.Tensor,
    *,
    smooth_scales: torch.Tensor | None = None,
    group_index: torch.Tensor | None = None,
    dst_type: int | None = None,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Quantize the range of each row; return also the scales and the offsets."""
    dtype = _int8("npu_dynamic_quant_asymmetric", dst_type)
    limits = torch.iinfo(dtype)
    wide = smoothed(input, smooth_scales, group_index)
    scale = (wide.amax(-1) - wide.amin(-1)) / (limits.max - limits.min)
    offset = limits.max - wide.amax(-1) / scale
    return rounded_to(wide / scale.unsqueeze(-1) + offset.unsqueeze(-1), dtype), scale, offset


def _int8(name: str, code: int | None) -> torch.dtype:
    dtype = dtype_of(code, torch.int8)
    refuse(name, dst_type=None if dtype is torch.int8 else dtype)
    return dtype


@operator(
    "npu_quantize(Tensor self, Tensor scales, Tensor? zero_points, int dtype, int axis=1, bool div_mode=True) -> Tensor"
)
def npu_quantize(
    self: torch.Tensor,
    scales: torch.Tensor,
    zero_points: torch.Tensor | None,
    dtype: int,
    axis: int = 1,
    div_mode: bool = True,
) -> torch.Tensor:
    """Quantize along an axis: divide or multiply by the scales, add the zero points, round and clamp."""
    shape = [-1 if place == axis % self.dim() else 1 for place in range(self.dim())]
    by = scales.float().view(shape)
    wide = self.float() / by if div_mode else self.float() * by
    if zero_points is not None:
        wide = wide + zero_points.float().view(shape)
    wanted = dtype_of(dtype, torch.int8)
    return rounded_to(wide, _QUANTISED.get(wanted, wanted))


@operator("npu_anti_quant(Tensor x, Tensor scale, *, Tensor? offset=None, int? dst_dtype=None) -> Tensor")
def npu_anti_quant(
    x: torch.Tensor, scale: torch.Tensor, *, offset: torch.Tensor | None = None, dst_dtype: int | None = None
) -> torch.Tensor:
    """Return `(x + offset) * scale`, in float16 by default."""
    wide = x.float() if offset is None else x.float() + offset.float()
    return (wide * scale.float()).to(dtype_of(dst_dtype, torch.float16))


@operator("npu_trans_quant_param(Tensor scale, Tensor? offset=None) -> Tensor")
def npu_trans_quant_param(scale: torch.Tensor, offset: torch.Tensor | None = None) -> torch.Tensor:
    """Encode scales and offsets as the matrix unit reads them."""
    bits = scale.float().view(torch.int32).long() & _SCALE_BITS | _QUANTISES
    if offset is None:
        return bits
    return bits | (torch.clamp(torch.round(offset.float()), -256, 255).long() & 0x1FF) << _OFFSET_AT


def _unpacked(scale: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    low = (scale & 0xFFFFFFFF).to(torch.int64)
    signed = torch.where(low >= 1 << 31, low - (1 << 32), low).to(torch.int32)
    offset = scale >> _OFFSET_AT & 0x1FF
    return signed.view(torch.float32), torch.where(offset >= 256, offset - 512, offset).float()


@operator(
    "npu_quant_matmul(Tensor x1, Tensor x2, Tensor scale, *, Tensor? offset=None, Tensor? pertoken_scale=None, "
    "Tensor? bias=None, int? output_dtype=None, int[]? group_sizes=None) -> Tensor"
)
def npu_quant_matmul(
    x1: torch.Tensor,
    x2: torch.Tensor,
    scale: torch.Tensor,
    *,
    offset: torch.Tensor | None = None,
    pertoken_scale: torch.Tensor | None = None,
    bias: torch.Tensor | None = None,
    output_dtype: int | None = None,
    group_sizes: list[int] | None = None,
) -> torch.Tensor:
    """Compute x1 @ x2 in integers, then scale the result.

    An integer bias is added before the scales, a float one last: (... + bias) * scale * pertoken_scale + offset + bias.

    Raises:
        CallError: An operand is not int8.
        UnsupportedError: `group_sizes` is given.
    """
    refuse("npu_quant_matmul", group_sizes=group_sizes)
    if x1.dtype is not torch.int8 or x2.dtype is not torch.int8:
        raise CallError(f"npu_quant_matmul: expected x1 and x2 of int8, got {x1.dtype} and {x2.dtype}")
    wanted = dtype_of(output_dtype, torch.int8)
    total = products(x1, x2)
    if bias is not None and not bias.is_floating_point():
        total = total + bias
    if wanted is torch.int32:
        return total.to(torch.int32)
    if scale.dtype is torch.int64:
        scale, packed = _unpacked(scale)
        offset = packed if offset is None else offset
    made = total.float() * scale.float()
    if pertoken_scale is not None:
        made = made * pertoken_scale.float().unsqueeze(-1)
    if offset is not None:
        made = made + offset.float()
    if bias is not None and bias.is_floating_point():
        made = made + bias.float()
    return made.to(wanted) if wanted.is_floating_point else rounded_to(made, wanted)


def products(left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
    """Multiply integer matrices exactly: a double holds every sum of 8-bit products."""
    return left.double() @ right.double()


@operator(
    "npu_weight_quant_batchmatmul(Tensor x, Tensor weight, Tensor antiquant_scale, Tensor? antiquant_offset=None, "
    "Tensor? quant_scale=None, Tensor? quant_offset=None, Tensor? bias=None, int antiquant_group_size=0, "
    "int inner_precise=0, int? weight_dtype=None) -> Tensor"
)
def npu_weight_quant_batchmatmul(
    x: torch.Tensor,
    weight: torch.Tensor,
    antiquant_scale: torch.Tensor,
    antiquant_offset: torch.Tensor | None = None,
    quant_scale: torch.Tensor | None = None,
    quant_offset: torch.Tensor | None = None,
    bias: torch.Tensor | None = None,
    antiquant_group_size: int = 0,
    inner_precise: int = 0,
    weight_dtype: int | None = None,
) -> torch.Tensor:
    """Return x @ ((weight + antiquant_offset) * antiquant_scale) + bias, as int8 if there is a quant_scale."""
    refuse("npu_weight_quant_batchmatmul", weight_dtype=weight_dtype)
    whole = unpacked(weight, x.shape[-1]) if weight.dtype is torch.int32 else weight

    def along(factor: torch.Tensor) -> torch.Tensor:
        """Repeat each row of a factor for its group of weight rows."""
        if antiquant_group_size == 0:
            return factor.float()
        return factor.float().repeat_interleave(antiquant_group_size, -2)[..., : whole.shape[-2], :]

    wide = whole.float()
    if antiquant_offset is not None:
        wide = wide + along(antiquant_offset)
    made = x.float() @ (wide * along(antiquant_scale))
    made = made if bias is None else made + bias.float()
    if quant_scale is None:
        return made.to(x.dtype)
    scale, offset = _unpacked(quant_scale) if quant_scale.dtype is torch.int64 else (quant_scale.float(), quant_offset)
    made = made * scale
    return rounded_to(made if offset is None else made + offset.float(), torch.int8)


@operator("npu_convert_weight_to_int4pack(Tensor weight, int inner_k_tiles=0) -> Tensor")
def npu_convert_weight_to_int4pack(weight: torch.Tensor, inner_k_tiles: int = 0) -> torch.Tensor:
    """Pack eight 4-bit numbers into each int32, the first in the lowest bits.

    Raises:
        CallError: The weight is not int32, or its last dimension is not a multiple of 8.
    """
    if weight.dtype is not torch.int32 or weight.shape[-1] % 8 != 0:
        raise CallError(
            "npu_convert_weight_to_int4pack: expected a weight of int32 whose last dimension is a multiple of 8, got "
            f"{weight.dtype} of shape {tuple(weight.shape)}"
        )
    bits = (weight.long() & 15).unflatten(-1, (-1, 8)) << torch.arange(0, 32, 4, device=weight.device)
    packed = bits.sum(-1)
    return torch.where(packed >= 1 << 31, packed - (1 << 32), packed).to(torch.int32)


def unpacked(weight: torch.Tensor, rows: int) -> torch.Tensor:
    """Unpack a 4-bit weight with `rows` rows; a transposed one packs eight rows into one."""
    by_columns = weight.shape[-2] == rows
    last = weight if by_columns else weight.transpose(-1, -2)
    bits = last.long().unsqueeze(-1) >> torch.arange(0, 32, 4, device=weight.device) & 15
    numbers = torch.where(bits >= 8, bits - 16, bits).flatten(-2)
    return numbers if by_columns else numbers.transpose(-1, -2)
