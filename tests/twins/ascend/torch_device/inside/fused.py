"""Operators that torch_npu adds, each against its documented formula, written out or by PyTorch's own."""

from __future__ import annotations

import math

import pytest
import torch
import torch_npu
from torch.nn.functional import scaled_dot_product_attention as attention

BATCH, HEADS, ROWS, COLUMNS, SIZE = 2, 4, 5, 7, 8
CAUSAL = torch.ones(2048, 2048, dtype=torch.bool).triu(1).npu()


def heads(count: int, rows: int) -> torch.Tensor:
    return torch.randn(BATCH, count, rows, SIZE).npu()


def laid_out(x: torch.Tensor, layout: str) -> torch.Tensor:
    """Of batch, head, position, channel."""
    apart = x.transpose(1, 2)
    return {
        "BNSD": x,
        "BSND": apart,
        "BSH": apart.flatten(2),
        "SBH": apart.flatten(2).transpose(0, 1),
    }[layout].contiguous()


@pytest.mark.parametrize("layout", ["BNSD", "BSND", "BSH", "SBH"])
def test_fusion_attention_and_its_gradient(layout: str) -> None:
    q, k, v = heads(HEADS, ROWS), heads(2, COLUMNS), heads(2, COLUMNS)
    hidden = torch.rand(ROWS, COLUMNS).npu() < 0.3
    hidden[:, 0] = False
    given = [laid_out(x.clone(), layout).requires_grad_() for x in (q, k, v)]
    out, largest, total, *_ = torch_npu.npu_fusion_attention(*given, HEADS, layout, atten_mask=hidden, scale=0.3)
    plain = [x.clone().requires_grad_() for x in (q, k, v)]
    expected = attention(*plain, attn_mask=~hidden, scale=0.3, enable_gqa=True)
    torch.testing.assert_close(out, laid_out(expected, layout))
    weights = torch.randn_like(expected)
    out.backward(laid_out(weights, layout))
    expected.backward(weights)
    for ours, theirs in zip(given, plain, strict=True):
        torch.testing.assert_close(ours.grad, laid_out(theirs.grad, layout))
    assert largest.shape == total.shape == (BATCH, HEADS, ROWS, 8)
    scores = (q @ k.repeat_interleave(2, 1).transpose(-1, -2) * 0.3).masked_fill(hidden, -math.inf)
    torch.testing.assert_close(largest[..., 0] + total[..., 0].log(), scores.logsumexp(-1))
    by_hand = torch_npu.npu_fusion_attention_grad(
        *(x.detach() for x in given), laid_out(weights, layout), HEADS, layout, atten_mask=hidden, scale_value=0.3
    )
    for ours, theirs in zip(by_hand, given, strict=False):
        torch.testing.assert_close(ours, theirs.grad)


@pytest.mark.parametrize(
    ("mode", "before", "after", "takes_part"),
    [
        (2, 0, 0, lambda row, column: column <= row),
        (3, 0, 0, lambda row, column: column - row <= COLUMNS - ROWS),
        (4, 1, 2, lambda row, column: -1 <= column - row - (COLUMNS - ROWS) <= 2),
    ],
)
def test_sparse_modes(mode: int, before: int, after: int, takes_part: object) -> None:
    q, k, v = heads(HEADS, ROWS), heads(HEADS, COLUMNS), heads(HEADS, COLUMNS)
    out = torch_npu.npu_fusion_attention(
        q, k, v, HEADS, "BNSD", atten_mask=CAUSAL, sparse_mode=mode, pre_tockens=before, next_tockens=after
    )[0]
    table = torch.tensor([[takes_part(row, column) for column in range(COLUMNS)] for row in range(ROWS)])  # type: ignore[operator]
    torch.testing.assert_close(out, attention(q, k, v, attn_mask=table.npu(), scale=1.0))


def test_attention_of_sequences_one_behind_the_other() -> None:
    q, k, v = (torch.randn(9, HEADS, SIZE).npu() for _ in range(3))
    ends = [4, 9]
    made = torch_npu.npu_fusion_attention(q, k, v, HEADS, "TND", actual_seq_qlen=ends, actual_seq_kvlen=ends)[0]
    inferred, _ = torch_npu.npu_fused_infer_attention_score(
        q, k, v, num_heads=HEADS, input_layout="TND", actual_seq_lengths=ends, actual_seq_lengths_kv=ends
    )
    for part in (slice(0, 4), slice(4, 9)):
        expected = attention(*(x[part].transpose(0, 1) for x in (q, k, v)), scale=1.0).transpose(0, 1)
        torch.testing.assert_close(made[part], expected)
        torch.testing.assert_close(inferred[part], expected)


def test_a_row_in_which_all_is_hidden_gives_zeros() -> None:
    q, k, v = heads(HEADS, ROWS), heads(HEADS, COLUMNS), heads(HEADS, COLUMNS)
    hidden = torch.zeros(ROWS, COLUMNS, dtype=torch.bool).npu()
    hidden[1] = True
    out = torch_npu.npu_fusion_attention(q, k, v, HEADS, "BNSD", atten_mask=hidden)[0]
    assert (out[:, :, 1] == 0).all()
    assert out[:, :, 0].abs().min() > 0


def test_attention_with_what_is_added_to_scores_and_a_sink() -> None:
    q, k, v = heads(HEADS, ROWS), heads(HEADS, COLUMNS), heads(HEADS, COLUMNS)
    added, sink = torch.randn(BATCH, HEADS, ROWS, COLUMNS).npu(), torch.randn(HEADS).npu()
    given = [x.clone().requires_grad_() for x in (q, k, v, added, sink)]
    out, largest, total, *_ = torch_npu.npu_fusion_attention(
        *given[:3], HEADS, "BNSD", pse=given[3], scale=0.3, sink=given[4]
    )
    plain = [x.clone().requires_grad_() for x in (q, k, v, added, sink)]
    scores = 0.3 * (plain[0] @ plain[1].transpose(-1, -2) + plain[3])
    # A sink is one more column of scores, behind which there is no value.
    column = plain[4].view(1, HEADS, 1, 1).expand(BATCH, HEADS, ROWS, 1)
    expected = torch.cat((scores, column), -1).softmax(-1)[..., :COLUMNS] @ plain[2]
    torch.testing.assert_close(out, expected)
    torch.testing.assert_close(largest[..., 0] + total[..., 0].log(), torch.cat((scores, column), -1).logsumexp(-1))
    weights = torch.randn_like(expected)
    out.backward(weights)
    expected.backward(weights)
    by_hand = torch_npu.npu_fusion_attention_grad(
        q, k, v, weights, HEADS, "BNSD", pse=added, scale_value=0.3, sink=sink
    )
    for ours, hand, theirs in zip(given, by_hand, plain, strict=True):
        torch.testing.assert_close(ours.grad, theirs.grad)
        torch.testing.assert_close(hand, theirs.grad)
    shifted, _ = torch_npu.npu_fused_infer_attention_score(
        q, k, v, pse_shift=added, num_heads=HEADS, input_layout="BNSD", scale=0.3
    )
    torch.testing.assert_close(shifted, attention(q, k, v, attn_mask=added, scale=0.3))
    with pytest.raises(Exception, match="which is compressed"):
        torch_npu.npu_fusion_attention(q, k, v, HEADS, "BNSD", pse=added[:, :, :2])


def test_dropout_of_attention_drops_shares_and_makes_the_others_larger() -> None:
    q, k = heads(HEADS, ROWS), heads(HEADS, COLUMNS)
    shown = torch.eye(COLUMNS).npu().expand(BATCH, HEADS, COLUMNS, COLUMNS)
    shares, whole = (
        torch_npu.npu_fusion_attention(q, k, shown, HEADS, "BNSD", scale=0.3, keep_prob=keep)[0] for keep in (0.5, 1.0)
    )
    kept = shares != 0
    assert 0.25 < kept.float().mean() < 0.75
    torch.testing.assert_close(shares[kept], 2 * whole[kept])
    torch.testing.assert_close(whole, (0.3 * q @ k.transpose(-1, -2)).softmax(-1))
    with pytest.raises(Exception, match="npu_fusion_attention_grad with dropout"):
        torch_npu.npu_fusion_attention_grad(q, k, k, q, HEADS, "BNSD", keep_prob=0.5)


def test_what_attention_does_not_take_is_refused() -> None:
    q = heads(HEADS, ROWS)
    for wrong, message in (
        ({"sparse_mode": 2}, "takes an atten_mask"),
        ({"sparse_mode": 6, "atten_mask": CAUSAL}, "sparse_mode 6; there are 0 to 4"),
        ({"padding_mask": CAUSAL}, "does not take 'padding_mask'"),
    ):
        with pytest.raises(Exception, match=message):
            torch_npu.npu_fusion_attention(q, q, q, HEADS, "BNSD", **wrong)


def test_inference_over_a_cache_in_blocks() -> None:
    lengths, block = [6, 3], 4
    q, k, v = heads(HEADS, 1), heads(2, 8), heads(2, 8)
    table = torch.tensor([[3, 0], [2, 1]], dtype=torch.int32).npu()
    caches = []
    for x in (k, v):
        cache = torch.zeros(4, block, 2 * SIZE).npu()
        for sequence in range(BATCH):
            for place in range(2):
                rows = x[sequence, :, place * block : (place + 1) * block].transpose(0, 1).flatten(1)
                cache[int(table[sequence, place])] = rows
        caches.append(cache)
    out, sums = torch_npu.npu_fused_infer_attention_score(
        q.squeeze(2).flatten(1).unsqueeze(1),
        *caches,
        num_heads=HEADS,
        num_key_value_heads=2,
        scale=0.5,
        input_layout="BSH",
        block_table=table,
        block_size=block,
        actual_seq_lengths_kv=lengths,
        softmax_lse_flag=True,
    )
    for i, n in enumerate(lengths):
        expected = attention(q[i : i + 1], k[i : i + 1, :, :n], v[i : i + 1, :, :n], scale=0.5, enable_gqa=True)
        torch.testing.assert_close(out[i], expected.flatten().view(1, -1))
    assert sums.shape == (BATCH, HEADS, 1, 1)


def test_norms_with_what_is_added_before() -> None:
    x, y, gamma, beta = torch.randn(3, 8).npu(), torch.randn(3, 8).npu(), torch.rand(8).npu(), torch.rand(8).npu()
    normed, rstd, total = torch_npu.npu_add_rms_norm(x, y, gamma, 1e-5)
    assert torch.equal(total, x + y)
    torch.testing.assert_close(normed, torch.nn.functional.rms_norm(total, (8,), gamma, 1e-5))
    torch.testing.assert_close(rstd, 1 / torch.sqrt(total.square().mean(-1, keepdim=True) + 1e-5))
    layer, mean, _, total = torch_npu.npu_add_layer_norm(x, y, gamma, beta, 1e-5, True)
    torch.testing.assert_close(layer, torch.nn.functional.layer_norm(total, (8,), gamma, beta, 1e-5))
    torch.testing.assert_close(mean, total.mean(-1, keepdim=True))
    _, _, deep = torch_npu.npu_deep_norm(x, y, beta, gamma, 0.5, 1e-5)
    torch.testing.assert_close(deep, torch.nn.functional.layer_norm(0.5 * x + y, (8,), gamma, beta, 1e-5))


def test_activations() -> None:
    x = torch.randn(3, 8).npu().requires_grad_()
    by_tanh = 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))
    for ours, formula in (
        (torch_npu.npu_gelu(x), 0.5 * x * (1 + torch.erf(x / math.sqrt(2)))),
        (torch_npu.npu_gelu(x, approximate="tanh"), by_tanh),
        (torch_npu.npu_silu(x), x / (1 + torch.exp(-x))),
        (torch_npu.npu_fast_gelu(x), x / (1 + torch.exp(-1.702 * x.abs())) * torch.exp(0.851 * (x - x.abs()))),
    ):
        torch.testing.assert_close(ours, formula)
        torch.testing.assert_close(*(torch.autograd.grad(one.sum(), x, retain_graph=True) for one in (ours, formula)))


def test_softmax_of_what_is_scaled_and_masked() -> None:
    x = torch.randn(2, 3, 4, 4).npu().half().requires_grad_()
    mask = torch.rand(2, 1, 4, 4).npu() < 0.5
    mask[..., 0, :] = True  # of a row that is hidden whole, all shares are alike
    above = torch.ones(4, 4, dtype=torch.bool).triu(1).npu()
    for fixed, hidden in ((False, mask), (True, above)):
        ours = torch_npu.npu_scaled_masked_softmax(x, mask, 0.5, fixed)
        formula = torch.where(hidden, -10000.0, 0.5 * x.float()).softmax(-1).half()
        assert ours.dtype is torch.float16
        torch.testing.assert_close(ours, formula)
        seed = torch.randn_like(ours)
        torch.testing.assert_close(*(torch.autograd.grad(one, x, seed) for one in (ours, formula)))


def test_axes_that_change_places_and_the_linear_layer() -> None:
    x = torch.arange(24.0).view(2, 3, 4).npu()
    moved = torch_npu.npu_transpose(x, [2, 0, 1])
    assert torch.equal(moved, x.permute(2, 0, 1))
    assert moved.is_contiguous()
    first = torch_npu.npu_confusion_transpose(x, [1, 0, 2], [3, 8], True)
    assert torch.equal(first, x.permute(1, 0, 2).reshape(3, 8))
    last = torch_npu.npu_confusion_transpose(x, [1, 0], [4, 6], False)
    assert torch.equal(last, x.reshape(4, 6).t())
    weight, bias = torch.randn(5, 4).npu(), torch.randn(5).npu()
    torch.testing.assert_close(torch_npu.npu_linear(x, weight, bias), x @ weight.t() + bias)
    torch.testing.assert_close(torch_npu.npu_linear(x, weight), x @ weight.t())


def test_rotation_by_halves_and_by_pairs() -> None:
    x, cos, sin = (torch.randn(3, 8).npu() for _ in range(3))
    pairs = torch_npu.npu_rotary_mul(x, cos, sin, rotary_mode="interleave")
    torch.testing.assert_close(pairs[:, ::2], x[:, ::2] * cos[:, ::2] - x[:, 1::2] * sin[:, ::2])
    torch.testing.assert_close(pairs[:, 1::2], x[:, 1::2] * cos[:, 1::2] + x[:, ::2] * sin[:, 1::2])
    q, k = torch_npu.npu_apply_rotary_pos_emb(x, 2 * x, cos, sin)
    torch.testing.assert_close(k, 2 * q)
    torch.testing.assert_close(q, torch_npu.npu_rotary_mul(x, cos, sin))


def test_quantisation_by_rows() -> None:
    x = torch.randn(4, 16, dtype=torch.float16).npu()
    smooth = torch.rand(16).npu().half() + 0.5
    y, scale = torch_npu.npu_dynamic_quant(x, smooth_scales=smooth)
    assert (y.dtype, scale.dtype, scale.shape) == (torch.int8, torch.float32, (4,))
    assert (y.abs().amax(-1) == 127).all()
    torch.testing.assert_close(
        y * scale[:, None], x.float() * smooth.float(), rtol=0, atol=float(scale.max()) / 2 + 1e-6
    )
    two = torch.stack((smooth, 2 * smooth))
    grouped, _ = torch_npu.npu_dynamic_quant(x, smooth_scales=two, group_index=torch.tensor([1, 4]).int().npu())
    assert torch.equal(grouped, y)  # a factor of a whole row is the scale's
    y, scale, offset = torch_npu.npu_dynamic_quant_asymmetric(x)
    torch.testing.assert_close((y - offset[:, None]) * scale[:, None], x.float(), rtol=0, atol=float(scale.max()))
    steps = torch_npu.npu_quantize(x.float(), torch.tensor([0.1]).npu(), torch.tensor([3.0]).npu(), torch.qint8, -1)
    assert torch.equal(steps, torch.clamp(torch.round(x.float() / 0.1 + 3), -128, 127).to(torch.int8))
    factor, shift = torch.rand(16).npu(), torch.randn(16).npu()
    back = torch_npu.npu_anti_quant(steps, factor, offset=shift)
    assert torch.equal(back, ((steps.float() + shift) * factor).half())
    assert torch.equal(torch_npu.npu_anti_quant(steps, factor, dst_dtype=torch.bfloat16), (steps * factor).bfloat16())


def test_products_of_integers() -> None:
    a, b = (
        torch.randint(-128, 128, (3, 64)).to(torch.int8).npu(),
        torch.randint(-128, 128, (64, 5)).to(torch.int8).npu(),
    )
    exact = (a.cpu().long() @ b.cpu().long()).npu()
    scale, rows, bias = torch.rand(5).npu() / 1000, torch.rand(3).npu(), torch.randint(-99, 99, (5,)).int().npu()
    made = torch_npu.npu_quant_matmul(a, b, scale, bias=bias, output_dtype=torch.float16, pertoken_scale=rows)
    torch.testing.assert_close(made, ((exact + bias) * scale * rows[:, None]).half())
    assert torch.equal(torch_npu.npu_quant_matmul(a, b, scale, output_dtype=torch.int32), exact.int())
    packed = torch_npu.npu_trans_quant_param(scale, torch.full((5,), -3.0).npu())
    assert packed.dtype == torch.int64
    eight = torch_npu.npu_quant_matmul(a, b, packed)
    expected = torch.clamp(torch.round(exact * scale - 3), -128, 127)
    assert (eight - expected).abs().max() <= 1  # scales of 19 bits
    weight, factor = torch.randint(-8, 8, (64, 5)).to(torch.int8).npu(), torch.rand(2, 5).npu().half()
    x = torch.randn(3, 64).npu().half()
    made = torch_npu.npu_weight_quant_batchmatmul(x, weight, factor, antiquant_group_size=32)
    torch.testing.assert_close(made, (x.float() @ (weight.float() * factor.float().repeat_interleave(32, 0))).half())
    with pytest.raises(Exception, match="expected x1 and x2 of int8"):
        torch_npu.npu_quant_matmul(x, weight, scale)


def test_products_in_groups() -> None:
    x, weight, bias = torch.randn(10, 8).npu(), torch.randn(3, 8, 4).npu(), torch.randn(3, 4).npu()
    counts = [2, 0, 5]
    expected = torch.cat([x[:2] @ weight[0] + bias[0], x[2:7] @ weight[2] + bias[2], torch.zeros(3, 4).npu()])
    groups = torch.tensor(counts).npu()
    said = ({"group_list": groups, "group_list_type": 1}, {"group_list": groups.cumsum(0)}, {"group_list": [2, 2, 7]})
    for one in said:
        (made,) = torch_npu.npu_grouped_matmul([x], [weight], bias=[bias], split_item=3, group_type=0, **one)
        torch.testing.assert_close(made, expected)
    apart = torch_npu.npu_grouped_matmul([x[:2], x[2:]], [weight[0], weight[1]])
    torch.testing.assert_close(apart[1], x[2:] @ weight[1])
    (sums,) = torch_npu.npu_grouped_matmul([x.T], [x], group_list=[4, 10], split_item=3, group_type=2)
    torch.testing.assert_close(sums[1], x[4:].T @ x[4:])
    a, b = torch.randint(-9, 9, (6, 8)).to(torch.int8).npu(), torch.randint(-9, 9, (2, 8, 4)).to(torch.int8).npu()
    scale, rows = torch.rand(2, 4).npu(), torch.rand(6).npu()
    (made,) = torch_npu.npu_grouped_matmul(
        [a],
        [b],
        scale=[scale],
        per_token_scale=[rows],
        group_list=[4, 6],
        split_item=2,
        group_type=0,
        output_dtype=torch.bfloat16,
    )
    whole = torch.cat([a[:4].float() @ b[0].float() * scale[0], a[4:].float() @ b[1].float() * scale[1]])
    torch.testing.assert_close(made, (whole * rows[:, None]).bfloat16())


def test_the_way_of_tokens_to_experts_and_back() -> None:
    tokens, experts, k = 6, 4, 2
    x, logits = torch.randn(tokens, 8).npu(), torch.randn(tokens, experts).npu()
    shares, chosen, rows = torch_npu.npu_moe_gating_top_k_softmax(logits, None, k)
    torch.testing.assert_close(shares, logits.softmax(-1).topk(k).values)
    assert torch.equal(rows.cpu(), torch.arange(tokens * k).view(k, tokens).t().int())
    expanded, where, order = torch_npu.npu_moe_init_routing(x, rows, chosen, tokens)
    assert torch.equal(order, chosen.flatten().sort().values)
    ends = torch_npu.npu_moe_compute_expert_tokens(order, experts)
    assert torch.equal(ends.cpu(), torch.bincount(chosen.flatten().cpu(), minlength=experts).cumsum(0).int())
    bias = torch.randn(experts, 8).npu()
    worked = expanded * (order[:, None] + 1)  # what each expert does
    out = torch_npu.npu_moe_finalize_routing(worked, x, None, bias, shares, where, chosen)
    expected = x + sum(
        shares[:, i : i + 1] * (x * (chosen[:, i : i + 1] + 1) + bias[chosen[:, i].long()]) for i in range(k)
    )
    torch.testing.assert_close(out, expected)


def test_permuted_tokens_come_back_with_their_gradients() -> None:
    x = torch.randn(5, 8).npu().requires_grad_()
    chosen = torch.tensor([[2, 0], [1, 2], [0, 1], [2, 1], [0, 2]]).npu()
    probs = torch.rand(5, 2).npu()
    permuted, where = torch_npu.npu_moe_token_permute(x, chosen)
    assert torch.equal(permuted[where.long()], x.repeat_interleave(2, 0))
    back = torch_npu.npu_moe_token_unpermute(permuted, where, probs)
    torch.testing.assert_close(back, x * probs.sum(1, keepdim=True))
    back.sum().backward()
    torch.testing.assert_close(x.grad, probs.sum(1, keepdim=True).expand(5, 8))
    fewer, _ = torch_npu.npu_moe_token_permute(x, chosen, num_out_tokens=4)
    assert torch.equal(fewer, permuted[:4])


def test_the_choice_of_experts_in_groups() -> None:
    logits, bias = torch.randn(3, 8).npu(), torch.randn(8).npu()
    y, chosen, normed = torch_npu.npu_moe_gating_top_k(
        logits,
        2,
        bias=bias,
        k_group=1,
        group_count=2,
        group_select_mode=1,
        norm_type=1,
        out_flag=True,
        routed_scaling_factor=2.5,
    )
    torch.testing.assert_close(normed, logits.sigmoid())
    judged = (logits.sigmoid() + bias).cpu()
    for row in range(3):
        halves = judged[row].view(2, 4)
        best = int(halves.topk(2).values.sum(-1).argmax())
        assert chosen[row].tolist() == (halves[best].topk(2).indices + 4 * best).tolist()
    picked = normed.gather(-1, chosen.long())
    torch.testing.assert_close(y, picked / picked.sum(-1, keepdim=True) * 2.5)
