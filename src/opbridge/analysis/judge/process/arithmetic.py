"""Count the operations of PyTorch operators from shapes alone."""

from __future__ import annotations

from typing import Any

from torch.utils.flop_counter import flop_registry

from opbridge.analysis.judge.process.operator_prices import IDLE, PER_ELEMENT, plain_name
from opbridge.analysis.judge.tensors import tensors_in

_OF_PYTORCH = ("aten::", "prims::", "mkldnn::", "quantized::", "_quantized::", "onednn::", "inductor::")
"""The namespaces of PyTorch's own operators; the twin counts what others call."""
_RECURRENT = frozenset({"mkldnn_rnn_layer"})
_ATTENTION = frozenset({"_scaled_dot_product_flash_attention_for_cpu"})


def operations_of(func: Any, args: Any, kwargs: Any, result: Any) -> float:
    """Return the operations of one call of an operator.

    They are products and sums in matrix products, convolutions, attention and recurrent layers. All others have one for
    each element of their largest tensor, or several if they are made up of several operators.
    """
    name = plain_name(func._schema.name)
    if func.is_view or name in IDLE or not func._schema.name.startswith(_OF_PYTORCH):
        return 0.0
    if (count := flop_registry.get(func._overloadpacket)) is not None:
        return float(count(*args, **kwargs, out_val=result))
    given = tensors_in([*args, *kwargs.values()])
    if name in _ATTENTION:
        query, key, value = given[:3]
        return float(2 * query.numel() * key.shape[-2] * (1 + value.shape[-1] / query.shape[-1]))
    if count := _products_of(name, given, tensors_in(result)):
        return count
    if name in _RECURRENT:
        return float(2 * given[0].numel() // given[0].shape[-1] * (given[1].numel() + given[2].numel()))
    most = max((tensor.numel() for tensor in (*given, *tensors_in(result))), default=0)
    return float(most * PER_ELEMENT.get(name, 1))


def _products_of(name: str, given: list[Any], results: list[Any]) -> float:
    """Return the operations of what is made up of products too, as the twin does (`others_of`); 0 for all others."""
    if not given or not given[0].dim() or not results:
        return 0.0
    if "cdist_forward" in name or "euclidean_dist" in name:
        return float(2 * results[0].numel() * given[0].shape[-1])
    if name.startswith("linalg_") and "norm" not in name:
        return float(given[0].numel() * given[0].shape[-1])
    if "embedding_bag" in name and len(given) > 1:
        return float(2 * given[1].numel() * given[0].shape[-1])
    return 2.0 * given[1].numel() * given[0].shape[0] if "trilinear" in name and len(given) > 1 else 0.0
