"""Count the operations of PyTorch operators from shapes alone."""

from __future__ import annotations

from typing import Any

from torch.utils.flop_counter import flop_registry

from opbridge.analysis.judge.tensors import tensors_in

_IDLE = frozenset(
    {
        *("empty", "empty_like", "empty_strided", "new_empty", "new_empty_strided", "lift_fresh", "set", "resize"),
        *("zeros", "zeros_like", "new_zeros", "ones", "ones_like", "new_ones", "full", "full_like", "new_full", "fill"),
        *("zero", "scalar_tensor", "arange", "linspace", "eye", "rand", "randn", "randint", "rand_like", "randn_like"),
        *("normal", "uniform", "random", "bernoulli", "native_dropout", "randperm", "record_stream", "is_pinned"),
        *("item", "_local_scalar_dense", "copy", "clone", "_to_copy", "_reshape_copy", "cat", "stack", "index"),
        *(
            "index_select",
            "gather",
            "embedding",
            "take",
            "take_along_dim",
            "repeat",
            "repeat_interleave",
            "flip",
            "roll",
        ),
        *("constant_pad_nd", "reflection_pad1d", "reflection_pad2d", "replication_pad1d", "replication_pad2d"),
        *(
            "slice_scatter",
            "select_scatter",
            "as_strided_scatter",
            "scatter",
            "index_copy",
            "index_put",
            "_index_put_impl",
        ),
        *(
            "masked_fill",
            "masked_select",
            "tril",
            "triu",
            "im2col",
            "pixel_shuffle",
            "pixel_unshuffle",
            "channel_shuffle",
        ),
        *("upsample_nearest1d", "upsample_nearest2d", "upsample_nearest3d", "_unsafe_index", "one_hot", "nonzero"),
    }
)
"""Operators that only make, draw and move numbers."""
_PER_ELEMENT = {
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
_RECURRENT = frozenset({"mkldnn_rnn_layer"})
_ATTENTION = frozenset({"_scaled_dot_product_flash_attention_for_cpu"})


def operations_of(func: Any, args: Any, kwargs: Any, result: Any) -> float:
    """Return the operations of one call of an operator.

    They are products and sums in matrix products, convolutions, attention and recurrent layers. All others have one for
    each element of their largest tensor, or several if they are made up of several operators.
    """
    name = func._schema.name.partition("::")[2].removesuffix("_")
    if func.is_view or name in _IDLE:
        return 0.0
    if (count := flop_registry.get(func._overloadpacket)) is not None:
        return float(count(*args, **kwargs, out_val=result))
    given = tensors_in([*args, *kwargs.values()])
    if name in _ATTENTION:
        query, key, value = given[:3]
        return float(2 * query.numel() * key.shape[-2] * (1 + value.shape[-1] / query.shape[-1]))
    if name in _RECURRENT:
        return float(2 * given[0].numel() // given[0].shape[-1] * (given[1].numel() + given[2].numel()))
    most = max((tensor.numel() for tensor in (*given, *tensors_in(result))), default=0)
    return float(most * _PER_ELEMENT.get(name, 1))
