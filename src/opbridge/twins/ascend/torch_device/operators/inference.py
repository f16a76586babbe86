"""Attention for inference: sequences of different lengths in one batch, with keys and values in cache blocks."""

from __future__ import annotations

import torch

from opbridge.base.errors import CallError
from opbridge.twins.ascend.torch_device.operators.attention import attended, from_heads, masked, pieces, to_heads
from opbridge.twins.ascend.torch_device.operators.registration import operator, refuse

_FUSED = "npu_fused_infer_attention_score"
_UNBOUNDED = 2147483647
_LAYOUTS = ("BSH", "BSND", "BNSD", "TND", "BNSD_BSND")


@operator(
    "npu_fused_infer_attention_score(Tensor query, Tensor key, Tensor value, *, Tensor? pse_shift=None, "
    "Tensor? atten_mask=None, SymInt[]? actual_seq_lengths=None, SymInt[]? actual_seq_lengths_kv=None, "
    "Tensor? dequant_scale1=None, Tensor? quant_scale1=None, Tensor? dequant_scale2=None, Tensor? quant_scale2=None, "
    "Tensor? quant_offset2=None, Tensor? antiquant_scale=None, Tensor? antiquant_offset=None, "
    "Tensor? block_table=None, Tensor? query_padding_size=None, Tensor? kv_padding_size=None, "
    "Tensor? key_antiquant_scale=None, Tensor? key_antiquant_offset=None, Tensor? value_antiquant_scale=None, "
    "Tensor? value_antiquant_offset=None, Tensor? key_shared_prefix=None, Tensor? value_shared_prefix=None, "
    "SymInt[]? actual_shared_prefix_len=None, Tensor? query_rope=None, Tensor? key_rope=None, "
    "Tensor? key_rope_antiquant_scale=None, int num_heads=1, float scale=1.0, int pre_tokens=2147483647, "
    'int next_tokens=2147483647, str input_layout="BSH", int num_key_value_heads=0, int sparse_mode=0, '
    "int inner_precise=0, int block_size=0, int antiquant_mode=0, bool softmax_lse_flag=False, "
    "int key_antiquant_mode=0, int value_antiquant_mode=0) -> (Tensor, Tensor)"
)
def npu_fused_infer_attention_score(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    *,
    pse_shift: torch.Tensor | None = None,
    atten_mask: torch.Tensor | None = None,
    actual_seq_lengths: list[int] | None = None,
    actual_seq_lengths_kv: list[int] | None = None,
    block_table: torch.Tensor | None = None,
    query_rope: torch.Tensor | None = None,
    key_rope: torch.Tensor | None = None,
    num_heads: int = 1,
    scale: float = 1.0,
    pre_tokens: int = _UNBOUNDED,
    next_tokens: int = _UNBOUNDED,
    input_layout: str = "BSH",
    num_key_value_heads: int = 0,
    sparse_mode: int = 0,
    inner_precise: int = 0,
    block_size: int = 0,
    antiquant_mode: int = 0,
    softmax_lse_flag: bool = False,
    key_antiquant_mode: int = 0,
    value_antiquant_mode: int = 0,
    **quantised: object,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return softmax(mask(scale * query @ key^T)) @ value, and the log-sum-exp if `softmax_lse_flag` is set.

    Raises:
        UnsupportedError: A quantization or rotary argument is given.
        CallError: The layout is unknown, or the sequence lengths that it needs are missing.
    """
    refuse(_FUSED, query_rope=query_rope, key_rope=key_rope, **quantised)
    if input_layout not in _LAYOUTS:
        raise CallError(f"{_FUSED}: input_layout is '{input_layout}'; expected {', '.join(_LAYOUTS)}")
    heads = num_key_value_heads or num_heads
    into, out_of = (input_layout.split("_") * 2)[:2]
    if input_layout == "TND":
        queries = pieces(query, _ends(actual_seq_lengths))
        keys, values = (pieces(x, _ends(actual_seq_lengths_kv)) for x in (key, value))
    else:
        queries = _sequences(to_heads(query, into, num_heads), actual_seq_lengths)
        if block_table is None:
            keys, values = (_sequences(to_heads(x, into, heads), actual_seq_lengths_kv) for x in (key, value))
        else:
            held = _lengths_in_blocks(actual_seq_lengths_kv, len(queries))
            keys, values = (_all_from_blocks(x, block_table, held, heads) for x in (key, value))
    made = []
    for index, (q, k, v) in enumerate(zip(queries, keys, values, strict=True)):
        hidden = masked(q.shape[2], k.shape[2], _of(atten_mask, index), sparse_mode, pre_tokens, next_tokens, q.device)
        shift = _of(pse_shift, index)
        added = None if shift is None else shift[..., : q.shape[2], : k.shape[2]] / scale
        made.append(attended(q, k, v, hidden, scale=scale, added=added))
    outs, sums = [one for one, _, _ in made], [largest + total.log() for _, largest, total in made]
    rows = query.shape[1 if into in ("BSH", "BSND") else 2]
    out, lse = (_joined(parts, None if input_layout == "TND" else rows) for parts in (outs, sums))
    out = out if input_layout == "TND" else from_heads(out, out_of)
    return out, lse if softmax_lse_flag else query.new_zeros(1, dtype=torch.float32)


def _joined(parts: list[torch.Tensor], rows: int | None) -> torch.Tensor:
    """Return the sequences as one tensor: one after the other, or as a batch padded to this number of rows."""
    if rows is None:
        return torch.cat([one[0].transpose(0, 1) for one in parts])
    return torch.cat([_padded(one, rows) for one in parts])


def _ends(given: list[int] | None) -> list[int]:
    if given is None:
        raise CallError(f"{_FUSED}: TND takes actual_seq_lengths and actual_seq_lengths_kv, where each sequence ends")
    return given


def _sequences(heads: torch.Tensor, lengths: list[int] | None) -> list[torch.Tensor]:
    """Return the sequences of a batch, each cut to its length."""
    ends = _lengths(lengths, heads.shape[0], heads.shape[2])
    return [heads[i : i + 1, :, :end] for i, end in enumerate(ends)]


def _lengths(given: list[int] | None, batch: int, all_of_it: int) -> list[int]:
    if given is None:
        return [all_of_it] * batch
    return list(given) * batch if len(given) == 1 else list(given)


def _lengths_in_blocks(given: list[int] | None, batch: int) -> list[int]:
    if given is None:
        raise CallError(f"{_FUSED}: a block_table takes actual_seq_lengths_kv")
    return _lengths(given, batch, 0)


def _all_from_blocks(cache: torch.Tensor, tables: torch.Tensor, lengths: list[int], heads: int) -> list[torch.Tensor]:
    return [_from_blocks(cache, tables[i], length, heads) for i, length in enumerate(lengths)]


def _from_blocks(cache: torch.Tensor, table: torch.Tensor, length: int, heads: int) -> torch.Tensor:
    """Return one sequence of a paged cache, whose blocks hold positions, or heads of positions."""
    size = cache.shape[1] if cache.dim() == 3 else cache.shape[2]
    blocks = cache[table[: -(-length // size)].long()]
    if cache.dim() == 3:
        return blocks.flatten(0, 1)[:length].unflatten(-1, (heads, -1)).transpose(0, 1).unsqueeze(0)
    return blocks.transpose(0, 1).flatten(1, 2)[:, :length].unsqueeze(0)


def _of(x: torch.Tensor | None, index: int) -> torch.Tensor | None:
    """Return the mask of one sequence, or the common mask."""
    return x[index : index + 1] if x is not None and x.dim() > 2 and x.shape[0] > 1 else x


def _padded(x: torch.Tensor, rows: int) -> torch.Tensor:
    """Append zeros for the positions after the end of a sequence."""
    return torch.nn.functional.pad(x, (0, 0, 0, rows - x.shape[2]))


_PROMPT = "npu_prompt_flash_attention"
_INCREMENTAL = "npu_incre_flash_attention"


@operator(
    f"{_PROMPT}(Tensor query, Tensor key, Tensor value, *, Tensor? padding_mask=None, Tensor? atten_mask=None, "
    "Tensor? pse_shift=None, int[]? actual_seq_lengths=None, Tensor? deq_scale1=None, Tensor? quant_scale1=None, "
    "Tensor? deq_scale2=None, Tensor? quant_scale2=None, Tensor? quant_offset2=None, int num_heads=1, "
    'float scale_value=1.0, int pre_tokens=2147483647, int next_tokens=0, str input_layout="BSH", '
    "int num_key_value_heads=0, int[]? actual_seq_lengths_kv=None, int sparse_mode=0) -> Tensor"
)
def npu_prompt_flash_attention(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    *,
    atten_mask: torch.Tensor | None = None,
    pse_shift: torch.Tensor | None = None,
    scale_value: float = 1.0,
    next_tokens: int = 0,
    sparse_mode: int = 0,
    padding_mask: torch.Tensor | None = None,
    deq_scale1: torch.Tensor | None = None,
    deq_scale2: torch.Tensor | None = None,
    **rest: object,
) -> torch.Tensor:
    """Compute attention of whole sequences; without a mask, each position sees all positions."""
    refuse(_PROMPT, padding_mask=padding_mask, deq_scale1=deq_scale1, deq_scale2=deq_scale2)
    out, _ = npu_fused_infer_attention_score(
        query,
        key,
        value,
        atten_mask=atten_mask,
        pse_shift=pse_shift,
        scale=scale_value,
        next_tokens=next_tokens,
        sparse_mode=sparse_mode,
        **rest,
    )
    return out


@operator(
    f"{_INCREMENTAL}(Tensor query, Tensor key, Tensor value, *, Tensor? padding_mask=None, Tensor? atten_mask=None, "
    "Tensor? pse_shift=None, SymInt[]? actual_seq_lengths=None, Tensor? antiquant_scale=None, "
    "Tensor? antiquant_offset=None, Tensor? block_table=None, Tensor? dequant_scale1=None, "
    "Tensor? quant_scale1=None, Tensor? dequant_scale2=None, Tensor? quant_scale2=None, Tensor? quant_offset2=None, "
    'Tensor? kv_padding_size=None, int num_heads=1, float scale_value=1.0, str input_layout="BSH", '
    "int num_key_value_heads=0, int block_size=0, int inner_precise=1) -> Tensor"
)
def npu_incre_flash_attention(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    *,
    actual_seq_lengths: list[int] | None = None,
    scale_value: float = 1.0,
    padding_mask: torch.Tensor | None = None,
    **rest: object,
) -> torch.Tensor:
    """Compute attention of one new position to a cache that each sequence has filled in part."""
    refuse(_INCREMENTAL, padding_mask=padding_mask)
    out, _ = npu_fused_infer_attention_score(
        query, key, value, actual_seq_lengths_kv=actual_seq_lengths, scale=scale_value, **rest
    )
    return out
