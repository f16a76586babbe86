"""A small transformer whose norm and activation are operators of opbridge or, for comparison, of PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional

import opbridge as ob


@dataclass(frozen=True)
class Operators:
    rms_norm: Callable[[Tensor, Tensor], Tensor]
    swiglu: Callable[[Tensor, Tensor], Tensor]


@dataclass(frozen=True)
class Sizes:
    words: int = 32
    width: int = 64
    heads: int = 4
    inner: int = 128
    blocks: int = 2
    length: int = 16
    batch: int = 8


SMALL = Sizes()


def our_operators() -> Operators:
    lib = ob.load(Path(__file__).parent / "ops.yaml")
    return Operators(lib.rms_norm, lib.swiglu)


def pytorchs_operators() -> Operators:
    return Operators(
        lambda x, weight: functional.rms_norm(x, weight.shape, weight, eps=1e-6),
        lambda gate, up: functional.silu(gate) * up,
    )


OPERATORS = {"opbridge": our_operators, "torch": pytorchs_operators}


class Norm(nn.Module):
    def __init__(self, operators: Operators, width: int) -> None:
        super().__init__()
        self.rms_norm = operators.rms_norm
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x: Tensor) -> Tensor:
        return self.rms_norm(x, self.weight)


class Attention(nn.Module):
    def __init__(self, sizes: Sizes) -> None:
        super().__init__()
        self.head = sizes.width // sizes.heads
        self.query, self.key, self.value, self.out = (nn.Linear(sizes.width, sizes.width, bias=False) for _ in range(4))

    def forward(self, x: Tensor) -> Tensor:
        # A process of a tensor-parallel group has some of the heads.
        query, key, value = (
            layer(x).unflatten(-1, (-1, self.head)).transpose(1, 2) for layer in (self.query, self.key, self.value)
        )
        mixed = functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        return self.out(mixed.transpose(1, 2).flatten(2))


class FeedForward(nn.Module):
    def __init__(self, operators: Operators, sizes: Sizes) -> None:
        super().__init__()
        self.swiglu = operators.swiglu
        self.gate, self.up = (nn.Linear(sizes.width, sizes.inner, bias=False) for _ in range(2))
        self.down = nn.Linear(sizes.inner, sizes.width, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        return self.down(self.swiglu(self.gate(x), self.up(x)))


class Block(nn.Module):
    def __init__(self, operators: Operators, sizes: Sizes) -> None:
        super().__init__()
        self.attention_norm, self.attention = Norm(operators, sizes.width), Attention(sizes)
        self.feed_norm, self.feed = Norm(operators, sizes.width), FeedForward(operators, sizes)

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.attention(self.attention_norm(x))
        return x + self.feed(self.feed_norm(x))


class Transformer(nn.Module):
    def __init__(self, operators: Operators, sizes: Sizes) -> None:
        super().__init__()
        self.embedding = nn.Embedding(sizes.words, sizes.width)
        self.blocks = nn.ModuleList(Block(operators, sizes) for _ in range(sizes.blocks))
        self.norm = Norm(operators, sizes.width)
        self.head = nn.Linear(sizes.width, sizes.words, bias=False)

    def forward(self, words: Tensor) -> Tensor:
        """Return the mean loss of predicting each word from the words before it."""
        x = self.embedding(words[:, :-1])
        for block in self.blocks:
            x = block(x)
        told = self.head(self.norm(x))
        return functional.cross_entropy(told.flatten(0, 1), words[:, 1:].flatten())


def batch_of(step: int, sizes: Sizes) -> Tensor:
    """Return words that count up by some stride, one more than the model reads; equal in every process and run."""
    random = torch.Generator().manual_seed(step)
    first = torch.randint(sizes.words, (sizes.batch, 1), generator=random)
    stride = torch.randint(1, 4, (sizes.batch, 1), generator=random)
    return (first + stride * torch.arange(sizes.length + 1)) % sizes.words
