"""Networks of torchvision and transformers in small configurations, with random weights."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import torch

Example = tuple[Any, ...]

_IMAGE, _BATCH, _LENGTH, _VOCABULARY = 64, 2, 12, 96


_DETECTION = torch.library.Library("torchvision", "FRAGMENT")
"""A torchvision that was built for CUDA cannot be imported beside a PyTorch for the CPU, for want of these."""
for _name in ("nms", "qnms"):
    if not hasattr(torch.ops.torchvision, _name):
        _DETECTION.define(f"{_name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")


def _vision(name: str, size: int = _IMAGE, **options: Any) -> tuple[Any, Example]:
    import torchvision  # type: ignore[import-not-found]

    return getattr(torchvision.models, name)(num_classes=10, **options), (torch.randn(_BATCH, 3, size, size),)


def _vit() -> tuple[Any, Example]:
    from torchvision.models import VisionTransformer

    sizes = {"num_layers": 2, "num_heads": 4, "hidden_dim": 32, "mlp_dim": 64, "num_classes": 10}
    return VisionTransformer(image_size=32, patch_size=8, **sizes), (torch.randn(_BATCH, 3, 32, 32),)


def _convnext() -> tuple[Any, Example]:
    from torchvision.models.convnext import CNBlockConfig, ConvNeXt  # type: ignore[import-not-found]

    blocks = [CNBlockConfig(16, 32, 1), CNBlockConfig(32, None, 1)]
    return ConvNeXt(blocks, num_classes=10, layer_scale=0.5), (torch.randn(_BATCH, 3, 32, 32),)


def _swin() -> tuple[Any, Example]:
    from torchvision.models import SwinTransformer

    sizes = {"embed_dim": 16, "depths": [2, 2], "num_heads": [2, 4], "window_size": [4, 4], "num_classes": 10}
    return SwinTransformer(patch_size=[4, 4], **sizes), (torch.randn(_BATCH, 3, 32, 32),)


def _text(name: str, inputs: Callable[[], Example], **options: Any) -> tuple[Any, Example]:
    import transformers  # type: ignore[import-not-found]

    network = getattr(transformers, name)
    return network(network.config_class(**options)), inputs()


def _tokens() -> Example:
    return (torch.randint(0, _VOCABULARY, (_BATCH, _LENGTH)),)


def _two_texts() -> Example:
    return (*_tokens(), torch.ones(_BATCH, _LENGTH, dtype=torch.int64), *_tokens())


def _sound() -> Example:
    return (torch.randn(_BATCH, 16, 40), torch.ones(_BATCH, 40, dtype=torch.int64), *_tokens())


_SMALL = {"vocab_size": _VOCABULARY, "hidden_size": 32, "num_hidden_layers": 2}
_HEADS = {"num_attention_heads": 4, "intermediate_size": 64}

NETWORKS: dict[str, Callable[[], tuple[Any, Example]]] = {
    "resnet18": partial(_vision, "resnet18"),
    "mobilenet_v3": partial(_vision, "mobilenet_v3_small"),
    "vit": _vit,
    "convnext": _convnext,
    "swin": _swin,
    "bert": partial(_text, "BertForMaskedLM", _tokens, **_SMALL, **_HEADS),
    "gpt2": partial(
        _text,
        "GPT2LMHeadModel",
        _tokens,
        vocab_size=_VOCABULARY,
        n_embd=32,
        n_layer=2,
        n_head=4,
        n_positions=64,
        use_cache=False,
    ),
    "t5": partial(
        _text,
        "T5ForConditionalGeneration",
        _two_texts,
        vocab_size=_VOCABULARY,
        d_model=32,
        d_kv=8,
        d_ff=64,
        num_layers=2,
        num_heads=4,
        use_cache=False,
    ),
    "whisper": partial(
        _text,
        "WhisperForConditionalGeneration",
        _sound,
        vocab_size=_VOCABULARY,
        d_model=32,
        num_mel_bins=16,
        max_source_positions=20,
        max_target_positions=32,
        encoder_layers=2,
        decoder_layers=2,
        encoder_attention_heads=4,
        decoder_attention_heads=4,
        encoder_ffn_dim=64,
        decoder_ffn_dim=64,
        pad_token_id=0,
        bos_token_id=1,
        eos_token_id=2,
        decoder_start_token_id=1,
        use_cache=False,
    ),
    "mamba": partial(_text, "MambaForCausalLM", _tokens, **_SMALL, state_size=4, use_cache=False),
    "llama": partial(_text, "LlamaForCausalLM", _tokens, **_SMALL, **_HEADS, num_key_value_heads=2, use_cache=False),
}


def made(name: str) -> tuple[Any, Example]:
    """A network in inference, and what it is called with; the same at every run."""
    torch.manual_seed(0)
    network, inputs = NETWORKS[name]()
    return network.eval(), inputs
