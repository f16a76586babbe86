"""Twelve small networks in plain PyTorch, one of each common kind, with random weights."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.nn import functional

Example = tuple[torch.Tensor, ...]


class Residual(nn.Module):
    def __init__(self, width: int, stride: int = 1) -> None:
        super().__init__()
        self.first = nn.Conv2d(width, width, 3, stride, 1, bias=False)
        self.second = nn.Conv2d(width, width, 3, 1, 1, bias=False)
        self.norms = nn.ModuleList(nn.BatchNorm2d(width) for _ in range(3))
        self.short = nn.Conv2d(width, width, 1, stride, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.norms[0](self.first(x)).relu_()
        y = self.norms[1](self.second(y))
        y += self.norms[2](self.short(x))
        return y.relu_()


class ResNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(inplace=True))
        self.blocks = nn.Sequential(Residual(8), Residual(8, 2))
        self.pool, self.head = nn.AdaptiveAvgPool2d(1), nn.Linear(8, 10)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        features = self.blocks(functional.max_pool2d(self.stem(images), 3, 2, 1))
        return self.head(torch.flatten(self.pool(features), 1))


class Recurrent(nn.Module):
    def __init__(self, kind: type[nn.Module]) -> None:
        super().__init__()
        self.embed = nn.Embedding(20, 8)
        self.layers = kind(8, 8, num_layers=2, batch_first=True, bidirectional=True)
        self.head = nn.Linear(16, 20)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        return self.head(self.layers(self.embed(tokens))[0])


class UNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.down, self.deep = self.pair(3, 8), self.pair(8, 16)
        self.up, self.last, self.out = nn.ConvTranspose2d(16, 8, 2, 2), self.pair(16, 8), nn.Conv2d(8, 2, 1)

    @staticmethod
    def pair(inputs: int, outputs: int) -> nn.Module:
        convolutions = (nn.Conv2d(inputs, outputs, 3, padding=1), nn.Conv2d(outputs, outputs, 3, padding=1))
        return nn.Sequential(*(part for each in convolutions for part in (each, nn.GroupNorm(2, outputs), nn.SiLU())))

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        wide = self.down(images)
        deep = self.deep(functional.avg_pool2d(wide, 2))
        rough = functional.interpolate(deep, scale_factor=2, mode="nearest")[:, :8]
        return self.out(self.last(torch.cat([wide, self.up(deep) + rough], 1)))


class Decoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.start = nn.Linear(6, 16 * 4 * 4)
        self.layers = nn.Sequential(
            nn.ConvTranspose2d(16, 8, 4, 2, 1),
            nn.BatchNorm2d(8),
            nn.LeakyReLU(0.2),
            nn.ConvTranspose2d(8, 3, 3, 2, 1, 1),
            nn.Tanh(),
        )

    def forward(self, noise: torch.Tensor) -> torch.Tensor:
        return self.layers(self.start(noise).view(-1, 16, 4, 4))


class Attention(nn.Module):
    """Attention written out, with a causal mask kept as a buffer and one product for all three parts."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads, self.parts, self.out = heads, nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.register_buffer("mask", torch.tril(torch.ones(16, 16, dtype=torch.bool)).view(1, 1, 16, 16))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, width = x.shape
        query, key, value = (
            part.view(batch, length, self.heads, -1).transpose(1, 2) for part in self.parts(x).split(width, 2)
        )
        scores = query @ key.transpose(-2, -1) / math.sqrt(width // self.heads)
        scores = scores.masked_fill(~self.mask[:, :, :length, :length], torch.finfo(scores.dtype).min)
        return self.out((scores.softmax(-1) @ value).transpose(1, 2).reshape(batch, length, width))


class TanhGelu(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * torch.pow(x, 3))))


class GptBlock(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(2))
        self.attention = Attention(width, 4)
        self.feed = nn.Sequential(nn.Linear(width, 4 * width), TanhGelu(), nn.Linear(4 * width, width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + self.attention(self.norms[0](x))
        return x + self.feed(self.norms[1](x))


class Gpt(nn.Module):
    """As GPT-2: learned positions, tanh-GELU, and a head that shares the weights of the embedding."""

    def __init__(self) -> None:
        super().__init__()
        self.tokens, self.places = nn.Embedding(96, 32), nn.Embedding(16, 32)
        self.blocks, self.norm = nn.ModuleList(GptBlock(32) for _ in range(2)), nn.LayerNorm(32)
        self.head = nn.Linear(32, 96, bias=False)
        self.head.weight = self.tokens.weight

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        x = self.tokens(tokens) + self.places(torch.arange(tokens.shape[1])[None])
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


class Bert(nn.Module):
    """A padding mask, segments and dropout; the attention is PyTorch's own."""

    def __init__(self) -> None:
        super().__init__()
        self.words, self.segments = nn.Embedding(96, 32, padding_idx=0), nn.Embedding(2, 32)
        self.norm, self.drop = nn.LayerNorm(32, 1e-12), nn.Dropout(0.1)
        self.query, self.key, self.value, self.out = (nn.Linear(32, 32) for _ in range(4))
        self.feed = nn.Sequential(nn.Linear(32, 64), nn.GELU(), nn.Linear(64, 32), nn.LayerNorm(32))
        self.pooled = nn.Sequential(nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 3))

    def forward(self, tokens: torch.Tensor, mask: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        x = self.drop(self.norm(self.words(tokens) + self.segments(torch.zeros_like(tokens))))
        parts = (layer(x).view(*tokens.shape, 4, 8).transpose(1, 2) for layer in (self.query, self.key, self.value))
        added = (1.0 - mask[:, None, None, :].to(x.dtype)) * torch.finfo(x.dtype).min
        heads = functional.scaled_dot_product_attention(*parts, attn_mask=added)
        x = x + self.out(heads.permute(0, 2, 1, 3).reshape(x.shape))
        x = x + self.feed(x)
        return x, self.pooled(x[:, 0])


class Clip(nn.Module):
    """An encoder of image patches and one of texts, and the similarity of each pair."""

    def __init__(self) -> None:
        super().__init__()
        self.patches, self.mark = nn.Conv2d(3, 16, 4, 4), nn.Parameter(torch.randn(16))
        self.tokens, self.places = nn.Embedding(40, 16), nn.Parameter(torch.randn(17, 16))
        self.images, self.texts = (
            nn.TransformerEncoder(
                nn.TransformerEncoderLayer(16, 2, 32, 0.0, "gelu", batch_first=True, norm_first=True),
                1,
                enable_nested_tensor=False,
            )
            for _ in range(2)
        )
        self.project, self.scale = nn.Linear(16, 8, bias=False), nn.Parameter(torch.tensor(2.0))

    def forward(self, images: torch.Tensor, texts: torch.Tensor) -> torch.Tensor:
        seen = self.patches(images).flatten(2).transpose(1, 2)
        seen = torch.cat([self.mark.expand(len(images), 1, -1), seen], 1) + self.places
        read = self.tokens(texts) + self.places[: texts.shape[1]]
        read = self.texts(read)[torch.arange(len(texts)), texts.argmax(-1)]
        one, other = (self.project(each) for each in (self.images(seen)[:, 0], read))
        one, other = one / one.norm(dim=-1, keepdim=True), functional.normalize(other, dim=-1)
        return self.scale.exp() * one @ other.t()


class Experts(nn.Module):
    """Two of four experts for each token, with every expert computed and weighed by its gate."""

    def __init__(self) -> None:
        super().__init__()
        self.gate = nn.Linear(16, 4, bias=False)
        self.inward, self.outward = (nn.Parameter(torch.randn(4, *size) / 8) for size in ((16, 32), (32, 16)))
        self.norm = nn.RMSNorm(16)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        chances = self.gate(self.norm(x)).softmax(-1)
        best, which = torch.topk(chances, 2, dim=-1)
        gates = torch.zeros_like(chances).scatter(-1, which, best / best.sum(-1, keepdim=True))
        hidden = functional.silu(torch.einsum("btd,edf->btef", x, self.inward))
        found = torch.einsum("btef,efd->bted", hidden, self.outward)
        return x + (found * gates[..., None]).sum(2), functional.one_hot(which[..., 0], 4).float().mean((0, 1))


class Speech(nn.Module):
    """As wav2vec 2.0: strided convolutions of samples, a normed grouped convolution for positions, an encoder."""

    def __init__(self) -> None:
        super().__init__()
        self.convolutions = nn.ModuleList(
            nn.Conv1d(*sizes, bias=False) for sizes in ((1, 16, 10, 5), (16, 16, 3, 2), (16, 16, 3, 2))
        )
        self.first, self.norm = nn.GroupNorm(16, 16), nn.LayerNorm(16)
        self.places = nn.utils.parametrizations.weight_norm(nn.Conv1d(16, 16, 8, padding=4, groups=4), dim=2)
        self.encoder = nn.TransformerEncoderLayer(16, 4, 32, 0.0, "gelu", batch_first=True)
        self.head = nn.Linear(16, 12)

    def forward(self, sound: torch.Tensor) -> torch.Tensor:
        x = sound[:, None]
        for place, layer in enumerate(self.convolutions):
            x = layer(x)
            x = functional.gelu(self.first(x) if place == 0 else x)
        x = self.norm(x.transpose(1, 2))
        x = x + functional.gelu(self.places(x.transpose(1, 2))[:, :, :-1]).transpose(1, 2)
        return functional.log_softmax(self.head(self.encoder(x)), -1)


def _encoder() -> nn.Module:
    layer = nn.TransformerEncoderLayer(16, 4, 32, dropout=0.0, batch_first=True)
    return nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)


def _tokens(count: int) -> Example:
    return (torch.randint(1, count, (2, 7)),)


def _images(size: int = 16) -> Example:
    return (torch.randn(2, 3, size, size),)


NETWORKS: dict[str, tuple[Callable[[], nn.Module], Callable[[], Example]]] = {
    "MLP": (
        lambda: nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Dropout(0.1), nn.Linear(32, 4)),
        lambda: (torch.randn(5, 8),),
    ),
    "ResNet": (ResNet, _images),
    "transformer encoder": (_encoder, lambda: (torch.randn(2, 7, 16),)),
    "LSTM": (lambda: Recurrent(nn.LSTM), lambda: _tokens(20)),
    "GRU": (lambda: Recurrent(nn.GRU), lambda: _tokens(20)),
    "U-Net": (UNet, _images),
    "transposed convolutions": (Decoder, lambda: (torch.randn(3, 6),)),
    "GPT": (Gpt, lambda: _tokens(96)),
    "BERT": (Bert, lambda: (*_tokens(96), (torch.arange(7) < torch.tensor([[7], [4]])).long())),
    "CLIP": (Clip, lambda: (*_images(), *_tokens(40))),
    "mixture of experts": (Experts, lambda: (torch.randn(2, 7, 16),)),
    "wav2vec": (Speech, lambda: (torch.randn(2, 400),)),
}


def made(name: str) -> tuple[Any, Example]:
    """Return a network in inference, and what it is called with; the same at every run."""
    torch.manual_seed(0)
    network, inputs = NETWORKS[name]
    return network().eval(), inputs()
