"""Grouped matrix products: several products in one call, which divides the rows or the columns into groups."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import torch
from torch.nn import functional

from opbridge.base.errors import CallError, UnsupportedError
from opbridge.twins.ascend.torch_device.operators.quantization import products, rounded_to
from opbridge.twins.ascend.torch_device.operators.registration import dtype_of, operator, refuse

Tensors = Sequence[torch.Tensor]

_CUMULATIVE, _COUNTS = 0, 1
"""The contents of a group list: the end of each group, or its length."""
_ALONG_ROWS, _ALONG_SUMS = 0, 2
"""The dimension divided into groups: the rows of x, or the dimension that is summed over."""
_ONE_OUTPUT = (2, 3)
_ACTIVATIONS: Mapping[int, Callable[[torch.Tensor], torch.Tensor]] = {
    0: lambda y: y,
    1: functional.relu,
    2: lambda y: functional.gelu(y, approximate="tanh"),
    4: lambda y: y * torch.sigmoid(1.702 * y),
    5: functional.silu,
}

_SHARED = (
    "Tensor[] x, Tensor[] weight, *, Tensor[]? bias=None, Tensor[]? scale=None, Tensor[]? offset=None, "
    "Tensor[]? antiquant_scale=None, Tensor[]? antiquant_offset=None, Tensor[]? per_token_scale=None, "
    "{groups} group_list=None, Tensor[]? activation_input=None, Tensor[]? activation_quant_scale=None, "
    "Tensor[]? activation_quant_offset=None, int? split_item=0, int? group_type=None, int? group_list_type=0, "
    "int? act_type=0, int? output_dtype=None, int[]? tuning_config=None"
)


def _grouped_matmul(
    x: Tensors,
    weight: Tensors,
    *,
    bias: Tensors | None = None,
    scale: Tensors | None = None,
    offset: Tensors | None = None,
    antiquant_scale: Tensors | None = None,
    antiquant_offset: Tensors | None = None,
    per_token_scale: Tensors | None = None,
    group_list: torch.Tensor | list[int] | None = None,
    split_item: int | None = 0,
    group_type: int | None = None,
    group_list_type: int | None = 0,
    act_type: int | None = 0,
    output_dtype: int | None = None,
    tuning_config: list[int] | None = None,
    **activations: object,
) -> list[torch.Tensor]:
    """Return x_i @ weight_i + bias_i for each group, scaled if the operands are integers."""
    refuse("npu_grouped_matmul", **activations)
    if (act_type or 0) not in _ACTIVATIONS:
        raise UnsupportedError(
            f"npu_grouped_matmul with act_type {act_type}; there are {', '.join(map(str, _ACTIVATIONS))}"
        )
    counts = _counts(group_list, group_list_type)
    left, right = _operands(x, weight, counts, group_type)
    made = []
    for index, (a, b) in enumerate(zip(left, right, strict=True)):
        y = _product(a, b, _of(antiquant_scale, index), _of(antiquant_offset, index))
        y = _scaled(y, a, _of(bias, index), _of(scale, index), _of(offset, index))
        if per_token_scale is not None:
            rows = per_token_scale[index] if len(per_token_scale) > 1 else _rows(per_token_scale[0], counts, index)
            y = y * rows.float().unsqueeze(-1)
        if a.dtype is torch.int8 and (late := _of(bias, index)) is not None and late.is_floating_point():
            y = y + late.float()
        y = _ACTIVATIONS[act_type or 0](y)
        wanted = dtype_of(output_dtype, a.dtype)
        made.append(y.to(wanted) if wanted.is_floating_point else rounded_to(y, wanted))
    if split_item not in _ONE_OUTPUT:
        return made
    if group_type == _ALONG_SUMS:
        return [torch.stack(made)]
    total = torch.cat(made)
    rest = sum(one.shape[0] for one in x) - total.shape[0]
    return [functional.pad(total, (0, 0, 0, rest))]


for _name, _groups in (("npu_grouped_matmul", "Tensor?"), ("npu_grouped_matmul.List", "int[]?")):
    operator(f"{_name}({_SHARED.format(groups=_groups)}) -> Tensor[]")(_grouped_matmul)


def _counts(group_list: torch.Tensor | list[int] | None, kind: int | None) -> list[int] | None:
    if group_list is None:
        return None
    said = group_list.tolist() if isinstance(group_list, torch.Tensor) else list(group_list)
    if kind == _COUNTS:
        return said
    if kind != _CUMULATIVE:
        raise UnsupportedError(f"npu_grouped_matmul with group_list_type {kind}; there are 0 and 1")
    return [end - start for start, end in zip((0, *said[:-1]), said, strict=True)]


def _operands(x: Tensors, weight: Tensors, counts: list[int] | None, group_type: int | None) -> tuple[Tensors, Tensors]:
    if group_type == _ALONG_SUMS and counts is not None:
        ends = sum(counts)
        return x[0][..., :ends].split(counts, -1), weight[0][:ends].split(counts, 0)
    right = list(weight[0]) if len(weight) == 1 and weight[0].dim() == 3 else list(weight)
    if len(x) == 1 and (counts is not None or len(right) > 1):
        if counts is None or len(counts) != len(right):
            raise CallError(f"npu_grouped_matmul: one x for {len(right)} weights takes a group_list of as many numbers")
        return x[0][: sum(counts)].split(counts, 0), right
    if len(x) != len(right):
        raise CallError(f"npu_grouped_matmul: {len(x)} of x for {len(right)} weights")
    return x, right


def _of(given: Tensors | None, index: int) -> torch.Tensor | None:
    """Return the part of a group: an entry of the list, or a row of the only tensor."""
    if not given:
        return None
    return given[index] if len(given) > 1 else given[0][index] if given[0].dim() > 1 else given[0]


def _rows(scales: torch.Tensor, counts: list[int] | None, index: int) -> torch.Tensor:
    if counts is None:
        return scales
    start = sum(counts[:index])
    return scales[start : start + counts[index]]


def _product(a: torch.Tensor, b: torch.Tensor, scale: torch.Tensor | None, offset: torch.Tensor | None) -> torch.Tensor:
    if a.dtype is torch.int8:
        return products(a, b)
    wide = b.float()
    if offset is not None:
        wide = wide + offset.float()
    return a.float() @ (wide if scale is None else wide * scale.float())


def _scaled(
    y: torch.Tensor,
    a: torch.Tensor,
    bias: torch.Tensor | None,
    scale: torch.Tensor | None,
    offset: torch.Tensor | None,
) -> torch.Tensor:
    """Apply bias, scale and offset; a float bias of integer products is left to the caller, after all scales."""
    if bias is not None and not (a.dtype is torch.int8 and bias.is_floating_point()):
        y = y + bias
    if scale is not None:
        y = y.float() * scale.float()
    return y if offset is None else y + offset.float()
