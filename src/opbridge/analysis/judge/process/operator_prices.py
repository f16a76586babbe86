"""The operations of PyTorch operators for each element, without PyTorch."""

from __future__ import annotations

IDLE = frozenset(
    {
        *("empty", "empty_like", "empty_strided", "new_empty", "new_empty_strided", "lift_fresh", "set", "resize"),
        *("zeros", "zeros_like", "new_zeros", "ones", "ones_like", "new_ones", "full", "full_like", "new_full"),
        *("fill", "zero", "scalar_tensor", "arange", "linspace", "eye", "rand", "randn", "randint", "rand_like"),
        *("randn_like", "normal", "uniform", "random", "bernoulli", "native_dropout", "randperm", "record_stream"),
        *("is_pinned", "item", "_local_scalar_dense", "copy", "clone", "_to_copy", "_reshape_copy", "cat", "stack"),
        *("index", "index_select", "gather", "embedding", "take", "take_along_dim", "repeat", "repeat_interleave"),
        *("flip", "roll", "constant_pad_nd", "reflection_pad1d", "reflection_pad2d", "replication_pad1d"),
        *("replication_pad2d", "slice_scatter", "select_scatter", "as_strided_scatter", "scatter", "index_copy"),
        *("index_put", "_index_put_impl", "masked_fill", "masked_select", "tril", "triu", "im2col", "pixel_shuffle"),
        *("pixel_unshuffle", "channel_shuffle", "upsample_nearest1d", "upsample_nearest2d", "upsample_nearest3d"),
        *("_unsafe_index", "one_hot", "nonzero"),
    }
)
"""Operators that only make, draw or move numbers."""
PER_ELEMENT = {
    **dict.fromkeys(("addcmul", "addcdiv", "linalg_vector_norm", "norm", "dist", "xlogy"), 2),
    **dict.fromkeys(("mse_loss", "sigmoid", "softplus", "elu", "celu", "selu", "hardsigmoid", "lerp"), 3),
    **dict.fromkeys(("var", "std", "var_mean", "std_mean"), 3),
    **dict.fromkeys(
        ("_softmax", "_safe_softmax", "_log_softmax", "logsumexp", "_logcumsumexp", "silu", "hardswish"), 4
    ),
    **dict.fromkeys(("smooth_l1_loss", "huber_loss", "log_sigmoid_forward", "_fused_rms_norm", "gelu"), 4),
    **dict.fromkeys(("binary_cross_entropy", "binary_cross_entropy_with_logits", "mish"), 6),
    **dict.fromkeys(("native_layer_norm", "native_group_norm", "native_batch_norm", "_native_batch_norm_legit"), 6),
    **dict.fromkeys(("_native_batch_norm_legit_no_training", "cudnn_batch_norm", "miopen_batch_norm"), 6),
    **dict.fromkeys(("upsample_bilinear2d", "upsample_trilinear3d", "upsample_bicubic2d", "grid_sampler_2d"), 8),
}
"""Operators that simpler ones make up, and how many: an answer may leave one of these to PyTorch."""


def plain_name(name: str) -> str:
    """Return the name of an operator without its namespace, and the same for the one that works in place."""
    return name.partition("::")[2].removesuffix("_")


def operations_told(name: str, elements: float, products: float) -> float:
    """Return the operations of a call from what the twin records: `products` is 0 unless it consists of products."""
    plain = plain_name(name)
    return 0.0 if plain in IDLE else products or elements * PER_ELEMENT.get(plain, 1)
