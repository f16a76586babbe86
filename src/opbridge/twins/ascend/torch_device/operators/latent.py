"""Latent attention as in DeepSeek: the steps before attention, and the caches that they fill."""

from __future__ import annotations

import torch

from opbridge.base.errors import UnsupportedError
from opbridge.twins.ascend.torch_device.operators.quantization import rounded_to
from opbridge.twins.ascend.torch_device.operators.registration import operator, refuse

Tensors = tuple[torch.Tensor, ...]

_IN_FRACTALS = ("PA_NZ", "PA_BLK_NZ")
_BY_BLOCKS = ("PA_BLK_BNSD", "PA_BLK_NZ")


def interleaved(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    """Put even places first and odd ones after them, then rotate by halves; return float32."""
    apart = x.float().unflatten(-1, (-1, 2)).transpose(-1, -2).flatten(-2)
    first, second = apart.chunk(2, -1)
    return apart * cos.float() + torch.cat((-second, first), -1) * sin.float()


def normed(x: torch.Tensor, gamma: torch.Tensor, epsilon: float) -> torch.Tensor:
    """Return the RMS norm of `x` times `gamma`, in float32."""
    return x.float() * torch.rsqrt(x.float().square().mean(-1, keepdim=True) + epsilon) * gamma.float()


@operator("npu_interleave_rope(Tensor x, Tensor cos, Tensor sin) -> Tensor")
def npu_interleave_rope(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    """Apply the rotary embedding of interleaved pairs."""
    return interleaved(x, cos, sin).to(x.dtype)


def store(cache: torch.Tensor, rows: torch.Tensor, places: torch.Tensor, mode: str) -> None:
    """Write token rows into a cache of blocks [blocks, size, 1, width]; rows with a negative place are dropped."""
    taken = places >= 0
    rows, places = rows[taken].to(cache.dtype), places[taken]
    size, width = cache.shape[1], cache.shape[-1]
    if mode not in _IN_FRACTALS:
        cache.view(-1, width).index_copy_(0, places, rows)
        return
    # In the fractal format, the n-th 32-byte pieces of all positions of a block are adjacent.
    piece = 32 // cache.element_size()
    view = cache.view(cache.shape[0], width // piece, size, piece)
    view[places // size, :, places % size] = rows.unflatten(-1, (-1, piece))


def places_of(index: torch.Tensor, mode: str, cache: torch.Tensor, batch: int, length: int) -> torch.Tensor:
    """Return the cache place of each token; some modes give only the start of each block."""
    if mode not in _BY_BLOCKS:
        return index.flatten()
    size = cache.shape[1]
    starts = index.view(batch, -1).repeat_interleave(size, -1)
    return (starts + torch.arange(starts.shape[-1], device=index.device) % size)[:, :length].flatten()


@operator(
    "npu_kv_rmsnorm_rope_cache(Tensor kv, Tensor gamma, Tensor cos, Tensor sin, Tensor index, Tensor k_cache, "
    "Tensor ckv_cache, *, Tensor? k_rope_scale=None, Tensor? c_kv_scale=None, Tensor? k_rope_offset=None, "
    "Tensor? c_kv_offset=None, Tensor? v=None, float epsilon=1e-5, str cache_mode='Norm', bool is_output_kv=False) "
    "-> (Tensor, Tensor, Tensor, Tensor)"
)
def npu_kv_rmsnorm_rope_cache(
    kv: torch.Tensor,
    gamma: torch.Tensor,
    cos: torch.Tensor,
    sin: torch.Tensor,
    index: torch.Tensor,
    k_cache: torch.Tensor,
    ckv_cache: torch.Tensor,
    *,
    k_rope_scale: torch.Tensor | None = None,
    c_kv_scale: torch.Tensor | None = None,
    k_rope_offset: torch.Tensor | None = None,
    c_kv_offset: torch.Tensor | None = None,
    v: torch.Tensor | None = None,
    epsilon: float = 1e-5,
    cache_mode: str = "Norm",
    is_output_kv: bool = False,
) -> Tensors:
    """Normalize the first part of kv, rotate the rest, and write both to their caches.

    Raises:
        UnsupportedError: The cache mode or an argument is not supported.
    """
    name = "npu_kv_rmsnorm_rope_cache"
    refuse(name, k_rope_offset=k_rope_offset, c_kv_offset=c_kv_offset, v=v)
    batch, _, length, _ = kv.shape
    kept = normed(kv[..., : gamma.shape[-1]], gamma, epsilon)
    turned = interleaved(kv[..., gamma.shape[-1] :], cos, sin)
    for cache, values, scale in ((k_cache, turned, k_rope_scale), (ckv_cache, kept, c_kv_scale)):
        rows = values.flatten(0, -2)
        if scale is not None:
            rows = rounded_to(rows * scale.float(), torch.int8)
        if cache_mode == "Norm":
            for item, own in enumerate(rows.view(batch, length, -1)):
                cache[item, 0].index_copy_(0, index[item], own.to(cache.dtype))
        elif cache_mode in ("PA", "PA_BNSD", *_IN_FRACTALS, *_BY_BLOCKS):
            store(cache, rows, places_of(index, cache_mode, cache, batch, length), cache_mode)
        else:
            raise UnsupportedError(f"{name} with cache_mode '{cache_mode}'; there are Norm, PA, and PA_…")
    if is_output_kv:
        return k_cache, ckv_cache, turned.to(kv.dtype), kept.to(kv.dtype)
    return k_cache, ckv_cache, kv.new_empty(0), kv.new_empty(0)


@operator(
    "npu_mla_prolog(Tensor token_x, Tensor weight_dq, Tensor weight_uq_qr, Tensor weight_uk, Tensor weight_dkv_kr, "
    "Tensor rmsnorm_gamma_cq, Tensor rmsnorm_gamma_ckv, Tensor rope_sin, Tensor rope_cos, Tensor cache_index, "
    "Tensor kv_cache, Tensor kr_cache, *, Tensor? dequant_scale_x=None, Tensor? dequant_scale_w_dq=None, "
    "Tensor? dequant_scale_w_uq_qr=None, Tensor? dequant_scale_w_dkv_kr=None, Tensor? quant_scale_ckv=None, "
    "Tensor? quant_scale_ckr=None, Tensor? smooth_scales_cq=None, float rmsnorm_epsilon_cq=1e-05, "
    'float rmsnorm_epsilon_ckv=1e-05, str cache_mode="PA_BSND") -> (Tensor, Tensor, Tensor, Tensor)'
)
def npu_mla_prolog(
    token_x: torch.Tensor,
    weight_dq: torch.Tensor,
    weight_uq_qr: torch.Tensor,
    weight_uk: torch.Tensor,
    weight_dkv_kr: torch.Tensor,
    rmsnorm_gamma_cq: torch.Tensor,
    rmsnorm_gamma_ckv: torch.Tensor,
    rope_sin: torch.Tensor,
    rope_cos: torch.Tensor,
    cache_index: torch.Tensor,
    kv_cache: torch.Tensor,
    kr_cache: torch.Tensor,
    *,
    quant_scale_ckv: torch.Tensor | None = None,
    quant_scale_ckr: torch.Tensor | None = None,
    rmsnorm_epsilon_cq: float = 1e-5,
    rmsnorm_epsilon_ckv: float = 1e-5,
    cache_mode: str = "PA_BSND",
    **quantised: object,
) -> Tensors:
    """Return the query without and with its position, and write the two key parts to their caches.

    Raises:
        UnsupportedError: The cache mode or a quantization argument is not supported.
    """
    refuse("npu_mla_prolog", **quantised)
    if cache_mode not in ("PA_BSND", "PA_NZ"):
        raise UnsupportedError(f"npu_mla_prolog with cache_mode '{cache_mode}'; there are PA_BSND and PA_NZ")
    before = token_x.shape[:-1]
    x = token_x.float().flatten(0, -2)
    cos, sin = (angle.float().flatten(0, -2) for angle in (rope_cos, rope_sin))
    heads, depth, _ = weight_uk.shape

    def rounded(value: torch.Tensor) -> torch.Tensor:
        return value.to(token_x.dtype).float()  # the matrix unit rounds its results to this type

    low = rounded(normed(rounded(x @ weight_dq.float()), rmsnorm_gamma_cq, rmsnorm_epsilon_cq))
    query = rounded(low @ weight_uq_qr.float()).unflatten(-1, (heads, -1))
    plain = torch.einsum("tnd,ndh->tnh", query[..., :depth], weight_uk.float())
    turned = interleaved(query[..., depth:], cos.unsqueeze(1), sin.unsqueeze(1))
    key = x @ weight_dkv_kr.float()
    width = rmsnorm_gamma_ckv.shape[-1]
    kept = normed(key[:, :width], rmsnorm_gamma_ckv, rmsnorm_epsilon_ckv)
    parts = ((kv_cache, kept, quant_scale_ckv), (kr_cache, interleaved(key[:, width:], cos, sin), quant_scale_ckr))
    for cache, rows, scale in parts:
        made = rows if scale is None else rounded_to(rows * scale.float(), torch.int8)
        store(cache, made, cache_index.flatten(), cache_mode)
    return (
        plain.to(token_x.dtype).unflatten(0, before),
        turned.to(token_x.dtype).unflatten(0, before),
        kv_cache,
        kr_cache,
    )
