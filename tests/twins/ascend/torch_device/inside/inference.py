"""Operators of inference with caches, experts and four bits, each against its documented formula written out."""

from __future__ import annotations

import math

import pytest
import torch
import torch_npu
from torch.nn.functional import rms_norm
from torch.nn.functional import scaled_dot_product_attention as attention

BATCH, LENGTH, WIDTH, ROPE, BLOCK = 2, 3, 32, 16, 4


def turned(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    """Element by element, as the documents have it."""
    half = x.shape[-1] // 2
    q = torch.stack([x[..., 2 * i % x.shape[-1] + 2 * i // x.shape[-1]] for i in range(2 * half)], -1)
    other = torch.stack([-q[..., i + half] if i < half else q[..., i - half] for i in range(2 * half)], -1)
    return q * cos + other * sin


def test_interleaved_rotation() -> None:
    x, cos, sin = (torch.randn(BATCH, 1, LENGTH, ROPE).npu() for _ in range(3))
    torch.testing.assert_close(torch_npu.npu_interleave_rope(x, cos, sin), turned(x, cos, sin))


def kv() -> tuple[torch.Tensor, ...]:
    gamma = torch.rand(WIDTH).npu()
    return torch.randn(BATCH, 1, LENGTH, WIDTH + ROPE).npu(), gamma, *torch.randn(2, BATCH, 1, LENGTH, ROPE).npu()


def test_a_cache_of_its_own_for_each_sequence() -> None:
    x, gamma, cos, sin = kv()
    k_cache, ckv_cache = torch.zeros(BATCH, 1, 8, ROPE).npu(), torch.zeros(BATCH, 1, 8, WIDTH).npu()
    index = torch.tensor([[0, 1, 2], [5, 7, 6]]).npu()
    torch_npu.npu_kv_rmsnorm_rope_cache(x, gamma, cos, sin, index, k_cache, ckv_cache, epsilon=1e-6)
    for item in range(BATCH):
        kept = rms_norm(x[item, 0, :, :WIDTH], (WIDTH,), gamma, 1e-6)
        torch.testing.assert_close(ckv_cache[item, 0, index[item]], kept)
        torch.testing.assert_close(k_cache[item, 0, index[item]], turned(x[..., WIDTH:], cos, sin)[item, 0])
    assert int((k_cache != 0).any(-1).sum()) == BATCH * LENGTH


@pytest.mark.parametrize("mode", ["PA_BNSD", "PA_NZ", "PA_BLK_BNSD", "PA_BLK_NZ"])
@pytest.mark.parametrize("quantised", [False, True])
def test_a_cache_in_blocks(mode: str, quantised: bool) -> None:
    x, gamma, cos, sin = kv()
    blocks, dtype = 3, torch.int8 if quantised else torch.float16
    x, cos, sin = (one.half() for one in (x, cos, sin))
    scales = {"k_rope_scale": torch.full((32,), 20.0).npu(), "c_kv_scale": torch.full((WIDTH,), 20.0).npu()}
    width = 32 if quantised else ROPE
    if quantised:
        x = torch.cat([x[..., :WIDTH], torch.randn(BATCH, 1, LENGTH, 32).half().npu()], -1)
        cos, sin = torch.randn(2, BATCH, 1, LENGTH, 32).half().npu()
    k_cache, ckv_cache = (torch.zeros(blocks, BLOCK, 1, n, dtype=dtype).npu() for n in (width, WIDTH))
    places = torch.tensor([8, 9, 10, 4, 5, 6]).npu()
    index = torch.tensor([8, 4]).npu() if "BLK" in mode else places
    _, _, rope, kept = torch_npu.npu_kv_rmsnorm_rope_cache(
        x, gamma, cos, sin, index, k_cache, ckv_cache, cache_mode=mode, is_output_kv=True, **scales if quantised else {}
    )
    torch.testing.assert_close(
        rope, turned(x[..., WIDTH:].float(), cos.float(), sin.float()).half(), rtol=0.01, atol=0.01
    )
    for cache, values in ((k_cache, rope), (ckv_cache, kept)):
        rows = cache
        if "NZ" in mode:
            piece = 32 if quantised else 16
            rows = cache.view(blocks, -1, BLOCK, piece).transpose(1, 2).flatten(2)
        found = rows.reshape(blocks * BLOCK, -1)[places].float() / (20 if quantised else 1)
        expected = values.flatten(0, -2).float()
        torch.testing.assert_close(found, expected.clamp(-6.4, 6.35) if quantised else expected, rtol=0, atol=0.03)


@pytest.mark.parametrize("mode", ["PA_BSND", "PA_NZ"])
def test_what_stands_before_latent_attention(mode: str) -> None:
    hidden, low, heads, depth = 24, 20, 2, 8
    x = torch.randn(BATCH, LENGTH, hidden).npu()
    down, up = torch.randn(hidden, low).npu(), torch.randn(low, heads * (depth + ROPE)).npu()
    key_up, key_down = torch.randn(heads, depth, WIDTH).npu(), torch.randn(hidden, WIDTH + ROPE).npu()
    gamma_q, gamma_k = torch.rand(low).npu(), torch.rand(WIDTH).npu()
    sin, cos = torch.randn(2, BATCH, LENGTH, ROPE).npu()
    index = torch.tensor([[3, 1, 0], [7, 6, 4]]).npu()
    kv_cache, kr_cache = torch.zeros(2, BLOCK, 1, WIDTH).npu(), torch.zeros(2, BLOCK, 1, ROPE).npu()
    query, rope, kept, keys = torch_npu.npu_mla_prolog(
        x, down, up, key_up, key_down, gamma_q, gamma_k, sin, cos, index, kv_cache, kr_cache, cache_mode=mode
    )
    q = (rms_norm(x @ down, (low,), gamma_q, 1e-5) @ up).unflatten(-1, (heads, -1))
    expected = torch.stack([q[..., h, :depth] @ key_up[h] for h in range(heads)], -2)
    torch.testing.assert_close(query, expected, rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(rope, turned(q[..., depth:], cos.unsqueeze(2), sin.unsqueeze(2)), rtol=1e-4, atol=1e-4)
    both = x @ key_down
    for cache, given, rows in (
        (kept, kv_cache, rms_norm(both[..., :WIDTH], (WIDTH,), gamma_k, 1e-5)),
        (keys, kr_cache, turned(both[..., WIDTH:], cos, sin)),
    ):
        assert cache.data_ptr() == given.data_ptr()
        plain = cache if mode == "PA_BSND" else cache.view(2, -1, BLOCK, 8).transpose(1, 2).flatten(2)
        torch.testing.assert_close(plain.reshape(2 * BLOCK, -1)[index.flatten()], rows.flatten(0, 1))


@pytest.mark.parametrize("layout", ["BNSD", "BSH"])
def test_attention_of_whole_sequences_and_of_one_position(layout: str) -> None:
    heads, size, rows = 2, 8, 5
    q, k, v = (torch.randn(BATCH, heads, rows, size).npu() for _ in range(3))

    def laid_out(x: torch.Tensor) -> torch.Tensor:
        return x if layout == "BNSD" else x.transpose(1, 2).flatten(2)

    hidden = torch.ones(rows, rows, dtype=torch.bool).triu(1).npu()
    said = {"num_heads": heads, "input_layout": layout, "scale_value": size**-0.5}
    out = torch_npu.npu_prompt_flash_attention(*map(laid_out, (q, k, v)), atten_mask=hidden, **said)
    torch.testing.assert_close(out, laid_out(attention(q, k, v, is_causal=True)))
    last = q[:, :, -1:]
    out = torch_npu.npu_incre_flash_attention(*map(laid_out, (last, k, v)), actual_seq_lengths=[5, 3], **said)
    for item, held in enumerate((5, 3)):
        one = attention(last[item : item + 1], k[item : item + 1, :, :held], v[item : item + 1, :, :held])
        torch.testing.assert_close(out[item : item + 1], laid_out(one))


@pytest.mark.parametrize("transposed", [False, True])
def test_weights_of_four_bits(transposed: bool) -> None:
    m, k, n, group = 4, 16, 24, 8
    x, weight = torch.randn(m, k).half().npu(), torch.randint(-8, 8, (k, n), dtype=torch.int32)
    scale, offset = torch.rand(2, k // group, n).half().npu()
    given = weight.T.contiguous() if transposed else weight
    packed = torch_npu.npu_convert_weight_to_int4pack(given.npu())
    assert packed.dtype is torch.int32
    assert packed.shape == (given.shape[0], given.shape[1] // 8)
    assert int(packed[0, 0]) & 15 == int(given[0, 0]) & 15
    out = torch_npu.npu_weight_quant_batchmatmul(
        x, packed.T if transposed else packed, scale, offset, antiquant_group_size=group
    )
    wide = (weight.npu() + offset.float().repeat_interleave(group, 0)) * scale.float().repeat_interleave(group, 0)
    torch.testing.assert_close(out, (x.float() @ wide).half())
    eight = torch_npu.npu_weight_quant_batchmatmul(
        x, packed.T if transposed else packed, scale, offset, torch.full((n,), 0.5).npu(), antiquant_group_size=group
    )
    assert torch.equal(eight, (x.float() @ wide * 0.5).round().clamp(-128, 127).to(torch.int8))


def tokens() -> tuple[torch.Tensor, torch.Tensor]:
    return torch.randn(4, 8).npu(), torch.tensor([[2, 0], [1, 2], [0, 3], [2, 1]], dtype=torch.int32).npu()


@pytest.mark.parametrize("first", [0, 1])
def test_rows_go_to_the_experts_that_take_part(first: int) -> None:
    x, chosen = tokens()
    out, where, counts, _ = torch_npu.npu_moe_init_routing_v2(
        x, chosen, expert_num=4, active_expert_range=[first, 3], expert_tokens_num_flag=True, expert_tokens_num_type=1
    )
    expected = [(expert, place) for place, expert in enumerate(chosen.flatten().tolist()) if first <= expert < 3]
    for row, (_, place) in enumerate(sorted(expected)):
        torch.testing.assert_close(out[row], x[place // 2])
        assert int(where[place]) == row
    assert not out[len(expected) :].any()
    assert counts.tolist() == [sum(expert == e for e, _ in expected) for expert in range(first, 3)]
    _, order, ends, _ = torch_npu.npu_moe_init_routing_v2(
        x, chosen, expert_num=4, active_expert_range=[0, 4], row_idx_type=1, expert_tokens_num_flag=True
    )
    assert torch.equal(order.cpu().long(), chosen.flatten().cpu().argsort(stable=True))
    assert ends.tolist() == [2, 4, 7, 8]


def test_experts_with_room_for_so_many_rows() -> None:
    x, chosen = tokens()
    out, where, counts, scales = torch_npu.npu_moe_init_routing_v2(
        x, chosen, expert_num=4, expert_capacity=2, drop_pad_mode=1, quant_mode=1, expert_tokens_num_flag=True
    )
    assert out.shape == (4, 2, 8)
    assert out.dtype is torch.int8
    assert counts.tolist() == [2, 2, 3, 1]
    made = out.flatten(0, 1).float() * scales.unsqueeze(-1)
    assert where.tolist() == [4, 0, 2, 5, 1, 6, -1, 3]
    for place, to in enumerate(where.tolist()):
        if to >= 0:
            torch.testing.assert_close(made[to], x[place // 2], rtol=0, atol=float(x.abs().max()) / 127)
    assert not made[7].any()
    assert math.isclose(float(scales[7]), 0)


def test_all_rows_by_one_scale() -> None:
    x, chosen = tokens()
    scale, offset = torch.tensor([20.0]).npu(), torch.tensor([3.0]).npu()
    out, where, *_ = torch_npu.npu_moe_init_routing_v2(
        x, chosen, scale=scale, offset=offset, expert_num=4, active_num=8, quant_mode=0
    )
    expected = (x * 20 + 3).round().clamp(-128, 127).to(torch.int8)
    assert torch.equal(out[where.long()], expected.repeat_interleave(2, 0))
