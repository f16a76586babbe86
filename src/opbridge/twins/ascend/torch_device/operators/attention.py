"""Attention for training and inference, in every layout."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch.nn import functional

from opbridge.base.errors import CallError, UnsupportedError
from opbridge.twins.ascend.torch_device.operators.registration import operator, refuse

_UNBOUNDED = 2147483647
_DEFAULT, _ALL, _LEFT_UP, _RIGHT_DOWN, _BAND = range(5)
"""Sparse modes: mask and band, mask alone, causal from the first or from the last position, band alone."""
_STATISTICS = 8
"""The number of copies of each row's maximum and sum in the output, as on hardware."""


def to_heads(x: torch.Tensor, layout: str, heads: int) -> torch.Tensor:
    """Return a tensor as batch, head, position, channel.

    Raises:
        UnsupportedError: The layout is none of BNSD, BSND, BSH and SBH.
    """
    if layout == "BNSD":
        return x
    if layout == "BSND":
        return x.transpose(1, 2)
    if layout in ("BSH", "SBH"):
        batched = x if layout == "BSH" else x.transpose(0, 1)
        return batched.unflatten(-1, (heads, -1)).transpose(1, 2)
    raise UnsupportedError(f"attention in the layout '{layout}'; there are BNSD, BSND, BSH, SBH and TND")


def from_heads(x: torch.Tensor, layout: str) -> torch.Tensor:
    """Return a tensor of batch, head, position, channel in `layout`."""
    if layout == "BNSD":
        return x
    if layout == "BSND":
        return x.transpose(1, 2).contiguous()
    merged = x.transpose(1, 2).flatten(2)
    return merged if layout == "BSH" else merged.transpose(0, 1).contiguous()


def masked(
    rows: int, columns: int, mask: torch.Tensor | None, mode: int, before: int, after: int, device: torch.device
) -> torch.Tensor | None:
    """Return the mask of hidden elements, which broadcasts to batch, head, query, key; None if nothing is hidden.

    Raises:
        UnsupportedError: The sparse mode does not exist.
        CallError: The sparse mode needs a mask and got none.
    """
    if mode not in (_DEFAULT, _ALL, _LEFT_UP, _RIGHT_DOWN, _BAND):
        raise UnsupportedError(f"attention with sparse_mode {mode}; there are 0 to 4")
    if mask is None:
        if mode != _DEFAULT:
            raise CallError(
                f"sparse_mode {mode} takes an atten_mask; 2, 3 and 4 one of 2048 x 2048, with a triangle of ones"
            )
        return None
    if mode == _ALL:
        return mask.bool()
    shift = columns - rows if mode in (_RIGHT_DOWN, _BAND) else 0
    ahead = torch.arange(columns, device=device) - torch.arange(rows, device=device).unsqueeze(1) - shift
    if mode in (_LEFT_UP, _RIGHT_DOWN):
        return ahead > 0
    band = (ahead > after) | (ahead < -before)
    return band if mode == _BAND else mask[..., :rows, :columns].bool() | band


def attended(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    hidden: torch.Tensor | None,
    *,
    scale: float,
    added: torch.Tensor | None = None,
    sink: torch.Tensor | None = None,
    keep: float = 1.0,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Compute attention by heads in single precision; return the result, and each row's maximum and softmax sum.

    A row in which everything is hidden gives zeros.
    """
    groups = query.shape[1] // key.shape[1]
    key, value = (x.repeat_interleave(groups, 1) if groups > 1 else x for x in (key, value))
    scores = query.float() @ key.float().transpose(-1, -2)
    scores = scale * (scores if added is None else scores + added.float())
    if hidden is not None:
        scores = scores.masked_fill(hidden, -math.inf)
    largest = scores.amax(-1, keepdim=True)
    if sink is not None:
        largest = torch.maximum(largest, sink.float().view(1, -1, 1, 1))
    largest = largest.masked_fill(largest == -math.inf, 0).detach()
    weights = (scores - largest).exp()
    total = weights.sum(-1, keepdim=True)
    if sink is not None:
        total = total + (sink.float().view(1, -1, 1, 1) - largest).exp()
    shares = functional.dropout(weights / total.clamp_min(torch.finfo(torch.float32).tiny), 1 - keep)
    return (shares @ value.float()).to(query.dtype), largest, total


def pieces(x: torch.Tensor, ends: Sequence[int]) -> list[torch.Tensor]:
    """Split packed sequences at `ends`; each result is head, position, channel with a batch of one."""
    starts = (0, *ends[:-1])
    return [x[start:end].transpose(0, 1).unsqueeze(0) for start, end in zip(starts, ends, strict=True)]


_FUSION = (
    "Tensor query, Tensor key, Tensor value, {dy}int head_num, str input_layout, {star}Tensor? pse=None, "
    "Tensor? padding_mask=None, Tensor? atten_mask=None, {forward}float {scale}=1., float keep_prob=1., "
    "int pre_tockens=2147483647, int next_tockens=2147483647, int inner_precise=0, {seeds}int[]? prefix=None, "
    "int[]? actual_seq_qlen=None, int[]? actual_seq_kvlen=None, int sparse_mode=0, bool gen_mask_parallel=True, "
    'bool sync=False, str softmax_layout="", Tensor? sink=None'
)


@operator(
    f"npu_fusion_attention({_FUSION.format(dy='', star='', forward='', scale='scale', seeds='')}) "
    "-> (Tensor, Tensor, Tensor, Tensor, int, int, int)"
)
def npu_fusion_attention(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    head_num: int,
    input_layout: str,
    pse: torch.Tensor | None = None,
    padding_mask: torch.Tensor | None = None,
    atten_mask: torch.Tensor | None = None,
    scale: float = 1.0,
    keep_prob: float = 1.0,
    pre_tockens: int = _UNBOUNDED,
    next_tockens: int = _UNBOUNDED,
    inner_precise: int = 0,
    prefix: list[int] | None = None,
    actual_seq_qlen: list[int] | None = None,
    actual_seq_kvlen: list[int] | None = None,
    sparse_mode: int = 0,
    gen_mask_parallel: bool = True,
    sync: bool = False,
    softmax_layout: str = "",
    sink: torch.Tensor | None = None,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor, int, int, int]:
    """Compute dropout(softmax(mask(scale * (query @ key^T + pse)))) @ value.

    The other results are those that the backward pass needs on hardware.

    Raises:
        UnsupportedError: `padding_mask` or `prefix` is given, or `pse` is compressed.
        CallError: The layout is TND and the sequence ends are missing.
    """
    refuse("npu_fusion_attention", padding_mask=padding_mask, prefix=prefix)

    def one(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        if pse is not None and pse.shape[-2] not in (1, q.shape[2]):
            raise UnsupportedError(
                f"npu_fusion_attention: pse of {tuple(pse.shape)}, which is compressed; give all of it"
            )
        hidden = masked(q.shape[2], k.shape[2], atten_mask, sparse_mode, pre_tockens, next_tockens, q.device)
        return attended(q, k, v, hidden, scale=scale, added=pse, sink=sink, keep=keep_prob)

    empty = query.new_empty(0)
    if input_layout == "TND":
        if actual_seq_qlen is None or actual_seq_kvlen is None:
            raise CallError("the layout TND takes actual_seq_qlen and actual_seq_kvlen, where each sequence ends")
        q, k, v = pieces(query, actual_seq_qlen), pieces(key, actual_seq_kvlen), pieces(value, actual_seq_kvlen)
        made = [one(*parts) for parts in zip(q, k, v, strict=True)]
        out, largest, total = (
            torch.cat([part[0].transpose(0, 1) for part in those]) for those in zip(*made, strict=True)
        )
        numels = sum(a.shape[2] * b.shape[2] for a, b in zip(q, k, strict=True)) * head_num
    else:
        q = to_heads(query, input_layout, head_num)
        heads = head_num * key.shape[-1] // query.shape[-1]
        k, v = to_heads(key, input_layout, heads), to_heads(value, input_layout, heads)
        out, largest, total = one(q, k, v)
        out = from_heads(out, input_layout)
        numels = q.shape[0] * q.shape[1] * q.shape[2] * k.shape[2]
    statistics = (x.expand(*x.shape[:-1], _STATISTICS).contiguous() for x in (largest, total))
    return out, next(statistics), next(statistics), empty, 0, 0, numels


@operator(
    "npu_fusion_attention_grad("
    + _FUSION.format(
        dy="Tensor dy, ",
        star="*, ",
        forward="Tensor? softmax_max=None, Tensor? softmax_sum=None, Tensor? softmax_in=None, "
        "Tensor? attention_in=None, ",
        scale="scale_value",
        seeds="int seed=0, int offset=0, int numels=0, ",
    )
    + ") -> (Tensor, Tensor, Tensor, Tensor, Tensor)"
)
def npu_fusion_attention_grad(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    dy: torch.Tensor,
    head_num: int,
    input_layout: str,
    *,
    pse: torch.Tensor | None = None,
    atten_mask: torch.Tensor | None = None,
    scale_value: float = 1.0,
    keep_prob: float = 1.0,
    sink: torch.Tensor | None = None,
    **rest: object,
) -> tuple[torch.Tensor, ...]:
    """Return the gradients of query, key, value, pse and sink, computing the forward pass again.

    Raises:
        UnsupportedError: Dropout was used, because only autograd knows its mask.
    """
    if keep_prob != 1:
        raise UnsupportedError("npu_fusion_attention_grad with dropout, whose mask is known to autograd alone")
    ignored = ("softmax_max", "softmax_sum", "softmax_in", "attention_in", "seed", "offset", "numels")
    rest = {name: value for name, value in rest.items() if name not in ignored}
    with torch.enable_grad():
        given = [None if x is None else x.detach().requires_grad_() for x in (query, key, value, pse, sink)]
        q, k, v, added, sunk = given
        out = npu_fusion_attention(
            q, k, v, head_num, input_layout, pse=added, atten_mask=atten_mask, scale=scale_value, sink=sunk, **rest
        )[0]
        there = [x for x in given if x is not None]
        found = iter(torch.autograd.grad(out, there, dy))
    return tuple(query.new_empty(0) if x is None else next(found) for x in given)
