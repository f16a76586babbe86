"""Mixtures of experts: the choice of experts for each token, and the routing of tokens there and back."""

from __future__ import annotations

import math

import torch

from opbridge.base.errors import CallError
from opbridge.twins.ascend.torch_device.operators.quantization import rounded_to
from opbridge.twins.ascend.torch_device.operators.registration import operator, refuse

Tensors = tuple[torch.Tensor, ...]


@operator("npu_moe_gating_top_k_softmax(Tensor x, Tensor? finished=None, int k=1) -> (Tensor, Tensor, Tensor)")
def npu_moe_gating_top_k_softmax(x: torch.Tensor, finished: torch.Tensor | None = None, k: int = 1) -> Tensors:
    """Return the k largest softmax values, their experts, and their row numbers in column-major order."""
    y, experts = torch.topk(torch.softmax(x.float(), -1), k, -1)
    if finished is not None:
        experts = experts.masked_fill(finished.unsqueeze(-1), x.shape[-1])  # an index that is not an expert
    rows = math.prod(x.shape[:-1])
    numbers = torch.arange(rows * k, device=x.device, dtype=torch.int32).view(k, rows).t().reshape(experts.shape)
    return y.to(x.dtype), experts.to(torch.int32), numbers


@operator(
    "npu_moe_gating_top_k(Tensor x, int k, *, Tensor? bias=None, int k_group=1, int group_count=1, "
    "int group_select_mode=0, int renorm=0, int norm_type=0, bool out_flag=False, float routed_scaling_factor=1.0, "
    "float eps=1e-20) -> (Tensor, Tensor, Tensor)"
)
def npu_moe_gating_top_k(
    x: torch.Tensor,
    k: int,
    *,
    bias: torch.Tensor | None = None,
    k_group: int = 1,
    group_count: int = 1,
    group_select_mode: int = 0,
    renorm: int = 0,
    norm_type: int = 0,
    out_flag: bool = False,
    routed_scaling_factor: float = 1.0,
    eps: float = 1e-20,
) -> Tensors:
    """Choose the k best experts among the k_group best groups.

    The bias affects the choice and not the weights. The results are the weights, the experts, and the norms if
    `out_flag` is set.
    """
    normed = torch.softmax(x.float(), -1) if norm_type == 0 else torch.sigmoid(x.float())
    judged = normed if bias is None else normed + bias.float()
    if group_count > 1:
        groups = judged.unflatten(-1, (group_count, -1))
        worth = groups.amax(-1) if group_select_mode == 0 else groups.topk(2, -1).values.sum(-1)
        left = torch.ones_like(worth, dtype=torch.bool).scatter(-1, worth.topk(k_group, -1).indices, False)
        judged = groups.masked_fill(left.unsqueeze(-1), -math.inf).flatten(-2)
    experts = judged.topk(k, -1).indices
    y = normed.gather(-1, experts)
    if norm_type == 1 or renorm == 1:
        y = y / (y.sum(-1, keepdim=True) + eps)
    out = normed if out_flag else x.new_empty(0, dtype=torch.float32)
    return (y * routed_scaling_factor).to(x.dtype), experts.to(torch.int32), out


@operator(
    "npu_moe_init_routing(Tensor x, Tensor row_idx, Tensor expert_idx, int active_num) -> (Tensor, Tensor, Tensor)"
)
def npu_moe_init_routing(x: torch.Tensor, row_idx: torch.Tensor, expert_idx: torch.Tensor, active_num: int) -> Tensors:
    """Return rows sorted by expert, the new place of each row, and the sorted experts."""
    experts, order = torch.sort(expert_idx.flatten(), stable=True)
    rows = row_idx.flatten()[order].long()
    where = torch.empty_like(rows).scatter(0, rows, torch.arange(rows.numel(), device=x.device))
    active = min(active_num, x.shape[0]) * expert_idx.shape[-1]
    return x[rows[:active] % x.shape[0]], where.to(torch.int32), experts


@operator(
    "npu_moe_init_routing_v2(Tensor x, Tensor expert_idx, *, Tensor? scale=None, Tensor? offset=None, "
    "int active_num=-1, int expert_capacity=-1, int expert_num=-1, int drop_pad_mode=0, "
    "int expert_tokens_num_type=0, bool expert_tokens_num_flag=False, int quant_mode=-1, "
    "int[2] active_expert_range=[], int row_idx_type=0, int? x_dtype=None) -> (Tensor, Tensor, Tensor, Tensor)"
)
def npu_moe_init_routing_v2(
    x: torch.Tensor,
    expert_idx: torch.Tensor,
    *,
    scale: torch.Tensor | None = None,
    offset: torch.Tensor | None = None,
    active_num: int = -1,
    expert_capacity: int = -1,
    expert_num: int = -1,
    drop_pad_mode: int = 0,
    expert_tokens_num_type: int = 0,
    expert_tokens_num_flag: bool = False,
    quant_mode: int = -1,
    active_expert_range: list[int] | None = None,
    row_idx_type: int = 0,
    x_dtype: int | None = None,
) -> Tensors:
    """Return rows sorted by expert, where each row went or came from, the rows of each expert, and the scales.

    Rows of experts that take no part come last, and are zeros.

    Raises:
        UnsupportedError: A quantization mode or count type is not supported.
        CallError: Static quantization lacks its scale or offset.
    """
    name = "npu_moe_init_routing_v2"
    refuse(name, x_dtype=x_dtype, quant_mode=None if quant_mode in (-1, 0, 1) else quant_mode)
    refuse(name, expert_tokens_num_type=None if expert_tokens_num_type in (0, 1) else expert_tokens_num_type)
    begin, end = active_expert_range or (0, expert_num)
    k = expert_idx.shape[-1]
    chosen = expert_idx.flatten().long()
    takes_part = (chosen >= begin) & (chosen < end)
    experts, order = torch.sort(chosen.masked_fill(~takes_part, torch.iinfo(torch.int64).max), stable=True)
    active = int(takes_part.sum())
    experts, rows = experts[:active], order[:active]
    counts = torch.bincount(experts - begin, minlength=end - begin)
    if drop_pad_mode == 1:
        among = torch.arange(active, device=x.device) - (counts.cumsum(0) - counts)[experts - begin]
        kept = among < expert_capacity
        experts, rows, to = experts[kept], rows[kept], (experts * expert_capacity + among)[kept]
        shape: tuple[int, ...] = (expert_num, expert_capacity)
    else:
        to = torch.arange(active, device=x.device)
        shape = (min(active_num, chosen.numel()) if active_num > 0 else chosen.numel(),)
    where = torch.full_like(chosen, -1).index_copy(0, rows, to)
    if row_idx_type == 1 and drop_pad_mode == 0:
        where = order
    fits = to < math.prod(shape)
    made, scales = _rows_for_experts(
        x[rows[fits] // k], rows[fits] // k, experts[fits] - begin, scale, offset, quant_mode
    )
    expanded = made.new_zeros(math.prod(shape), x.shape[-1]).index_copy(0, to[fits], made).view(*shape, x.shape[-1])
    spread = scales.new_zeros(math.prod(shape)).index_copy(0, to[fits], scales) if scales.numel() else scales
    if expert_tokens_num_type == 0 and drop_pad_mode == 0:
        counts = counts.cumsum(0)
    return expanded, where.to(torch.int32), counts if expert_tokens_num_flag else counts.new_empty(0), spread


def _rows_for_experts(
    x: torch.Tensor,
    rows: torch.Tensor,
    experts: torch.Tensor,
    scale: torch.Tensor | None,
    offset: torch.Tensor | None,
    mode: int,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return rows unchanged (-1), quantized by one scale (0) or by one scale each (1), and the scales."""
    none = x.new_zeros(0, dtype=torch.float32)
    if mode == -1:
        return x, none if scale is None else scale.float().flatten()[rows]
    wide = x.float()
    if mode == 0:
        if scale is None or offset is None:
            raise CallError("npu_moe_init_routing_v2 with quant_mode 0 takes a scale and an offset")
        return rounded_to(wide * scale.float().flatten()[0] + offset.float().flatten()[0], torch.int8), none
    if scale is not None:
        wide = wide * (scale.float() if scale.shape[0] == 1 else scale.float()[experts])
    scales = wide.abs().amax(-1) / 127
    return rounded_to(torch.nan_to_num(wide / scales.unsqueeze(-1)), torch.int8), scales


@operator("npu_moe_compute_expert_tokens(Tensor sorted_expert_for_source_row, int num_expert) -> Tensor")
def npu_moe_compute_expert_tokens(sorted_expert_for_source_row: torch.Tensor, num_expert: int) -> torch.Tensor:
    """Return, for each expert, the number of rows that go to it and to the experts before it."""
    numbers = torch.arange(num_expert, device=sorted_expert_for_source_row.device)
    ends = torch.searchsorted(sorted_expert_for_source_row.long(), numbers, right=True)
    return ends.to(sorted_expert_for_source_row.dtype)


@operator(
    "npu_moe_finalize_routing(Tensor expanded_permuted_rows, Tensor? skip1, Tensor? skip2, Tensor? bias, "
    "Tensor? scales, Tensor expanded_src_to_dst_row, Tensor? export_for_source_row, int? drop_pad_mode=0) -> Tensor"
)
def npu_moe_finalize_routing(
    expanded_permuted_rows: torch.Tensor,
    skip1: torch.Tensor | None,
    skip2: torch.Tensor | None,
    bias: torch.Tensor | None,
    scales: torch.Tensor | None,
    expanded_src_to_dst_row: torch.Tensor,
    export_for_source_row: torch.Tensor | None,
    drop_pad_mode: int | None = 0,
) -> torch.Tensor:
    """Return skip1 + skip2 + the sum over a row's experts of scale * (their row + bias).

    A dropped row counts as zeros.
    """
    k = 1 if scales is None else scales.shape[1]
    rows = expanded_permuted_rows.float().flatten(0, -2)
    by_columns = drop_pad_mode in (None, 0, 1)
    places = expanded_src_to_dst_row.long()
    places = places.view(k, -1).t() if by_columns else places.view(-1, k)
    taken = rows[places.clamp_min(0)].masked_fill((places < 0).unsqueeze(-1), 0)
    if bias is not None and export_for_source_row is not None:
        taken = taken + bias.float()[export_for_source_row.long().view(-1, k)]
    if scales is not None:
        taken = taken * scales.float().unsqueeze(-1)
    made = taken.sum(1)
    for skip in (skip1, skip2):
        made = made if skip is None else made + skip.float()
    return made.to(expanded_permuted_rows.dtype)


@operator(
    "npu_moe_token_permute(Tensor tokens, Tensor indices, int? num_out_tokens=None, bool padded_mode=False) "
    "-> (Tensor, Tensor)"
)
def npu_moe_token_permute(
    tokens: torch.Tensor, indices: torch.Tensor, num_out_tokens: int | None = None, padded_mode: bool = False
) -> Tensors:
    """Return tokens sorted by expert, and the new place of each."""
    refuse("npu_moe_token_permute", padded_mode=padded_mode or None)
    k = indices.shape[1] if indices.dim() > 1 else 1
    order = torch.argsort(indices.flatten(), stable=True)
    where = torch.argsort(order, stable=True).to(torch.int32)
    count = order.numel() if not num_out_tokens else order[:num_out_tokens].numel()
    return tokens.index_select(0, order[:count] // k), where


@operator(
    "npu_moe_token_unpermute(Tensor permuted_tokens, Tensor sorted_indices, Tensor? probs=None, "
    "bool padded_mode=False, int[]? restore_shape=None) -> Tensor"
)
def npu_moe_token_unpermute(
    permuted_tokens: torch.Tensor,
    sorted_indices: torch.Tensor,
    probs: torch.Tensor | None = None,
    padded_mode: bool = False,
    restore_shape: list[int] | None = None,
) -> torch.Tensor:
    """Sum the rows of each token, weighted by their probabilities.

    Rows that `npu_moe_token_permute` left out count as zeros.
    """
    refuse("npu_moe_token_unpermute", padded_mode=padded_mode or None)
    k = probs.shape[1] if probs is not None else 1
    where = sorted_indices.long()
    left_out = where >= permuted_tokens.shape[0]
    rows = permuted_tokens.index_select(0, where.masked_fill(left_out, 0)).masked_fill(left_out.unsqueeze(-1), 0)
    rows = rows.view(-1, k, permuted_tokens.shape[-1])
    if probs is not None:
        rows = rows * probs.unsqueeze(-1)
    return rows.sum(1).to(permuted_tokens.dtype)
