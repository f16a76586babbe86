"""Train the same transformer in JAX, over all devices: `python train_jax.py --parallel mesh`; see README.md."""

from __future__ import annotations

import argparse
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

import opbridge as ob

if hasattr(jax, "shard_map"):
    from jax import shard_map
else:
    from jax.experimental.shard_map import shard_map

Weights = dict[str, Any]
WORDS, WIDTH, HEADS, INNER, BLOCKS, LENGTH, BATCH = 32, 64, 4, 128, 2, 16, 8
RATE = 0.3

LAYOUT = {
    "norm": P(),
    **dict.fromkeys(("query", "key", "value", "gate", "up", "head"), P(None, "model")),
    **dict.fromkeys(("out", "down"), P("model", None)),
    "embedding": P(),
}
"""The axis of the mesh that divides a weight, by the last word of its name."""


@dataclass(frozen=True)
class Operators:
    rms_norm: Callable[[Any, Any], Any]
    swiglu: Callable[[Any, Any], Any]


def our_operators() -> Operators:
    lib = ob.load(Path(__file__).parent / "ops.yaml")
    return Operators(lib.rms_norm.jax, lib.swiglu.jax)


def jaxs_operators() -> Operators:
    return Operators(
        lambda x, weight: x * jax.lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-6) * weight,
        lambda gate, up: jax.nn.silu(gate) * up,
    )


OPERATORS = {"opbridge": our_operators, "jax": jaxs_operators}


def initial() -> Weights:
    random = np.random.default_rng(0)

    def drawn(*shape: int) -> Any:
        return (random.normal(size=shape) / np.sqrt(shape[0])).astype(np.float32)

    weights: Weights = {"embedding": drawn(WORDS, WIDTH), "norm": np.ones(WIDTH, np.float32)}
    for block in range(BLOCKS):
        weights |= {f"{block} {name}": drawn(WIDTH, WIDTH) for name in ("query", "key", "value", "out")}
        weights |= {f"{block} gate": drawn(WIDTH, INNER), f"{block} up": drawn(WIDTH, INNER)}
        weights |= {f"{block} down": drawn(INNER, WIDTH)}
        weights |= {f"{block} {part} norm": np.ones(WIDTH, np.float32) for part in ("attention", "feed")}
    return weights | {"head": drawn(WIDTH, WORDS)}


def batch_of(step: int) -> Any:
    """Return words that count up by some stride, one more than the model reads."""
    random = np.random.default_rng(step)
    first, stride = random.integers(WORDS, size=(BATCH, 1)), random.integers(1, 4, size=(BATCH, 1))
    return ((first + stride * np.arange(LENGTH + 1)) % WORDS).astype(np.int32)


def loss_of(operators: Operators, weights: Weights, words: Any) -> Any:
    x = weights["embedding"][words[:, :-1]]
    for block in range(BLOCKS):
        one = {name.partition(" ")[2]: value for name, value in weights.items() if name.startswith(f"{block} ")}
        x = x + _attention(one, operators.rms_norm(x, one["attention norm"]))
        normed = operators.rms_norm(x, one["feed norm"])
        x = x + operators.swiglu(normed @ one["gate"], normed @ one["up"]) @ one["down"]
    told = jax.nn.log_softmax(operators.rms_norm(x, weights["norm"]) @ weights["head"])
    return -jnp.take_along_axis(told, words[:, 1:, None], -1).mean()


def _attention(weights: Weights, x: Any) -> Any:
    query, key, value = (
        (x @ weights[name]).reshape(*x.shape[:2], HEADS, -1).swapaxes(1, 2) for name in ("query", "key", "value")
    )
    scores = query @ key.swapaxes(2, 3) / np.sqrt(WIDTH / HEADS)
    seen = np.tril(np.ones((x.shape[1], x.shape[1]), bool))
    mixed = jax.nn.softmax(jnp.where(seen, scores, -jnp.inf)) @ value
    return mixed.swapaxes(1, 2).reshape(x.shape) @ weights["out"]


def updated(loss_of: Callable[..., Any], weights: Weights, words: Any) -> tuple[Weights, Any]:
    loss, gradients = jax.value_and_grad(loss_of)(weights, words)
    return jax.tree.map(lambda weight, gradient: weight - RATE * gradient, weights, gradients), loss


class Training:
    """Return a compiled step, and the weights in its layout."""

    def __init__(self, way: str, operators: str) -> None:
        self.weights, self.place, step = WAYS[way](OPERATORS[operators]())
        self.program = step.lower(self.weights, self.place(batch_of(0))).compile()

    def step(self, number: int) -> float:
        self.weights, loss = self.program(self.weights, self.place(batch_of(number)))
        return float(loss)

    @property
    def collectives(self) -> dict[str, int]:
        """Return how the devices communicate in a step."""
        pattern = r" (all-gather|all-reduce|reduce-scatter|all-to-all|collective-permute)(?:-start)?\("
        return dict(Counter(re.findall(pattern, self.program.as_text())))


def alone(operators: Operators) -> tuple[Weights, Callable[[Any], Any], Any]:
    return jax.device_put(initial()), jnp.asarray, jax.jit(partial(updated, partial(loss_of, operators)))


def on_mesh(operators: Operators) -> tuple[Weights, Callable[[Any], Any], Any]:
    """Divide sequences along one axis of a mesh and layers along the other; XLA does the rest."""
    mesh = Mesh(np.array(jax.devices()).reshape(-1, 2), ("data", "model"))
    layout = {name: NamedSharding(mesh, LAYOUT[name.rpartition(" ")[2]]) for name in initial()}
    place = partial(jax.device_put, device=NamedSharding(mesh, P("data")))
    whole = NamedSharding(mesh, P())
    step = jax.jit(partial(updated, partial(loss_of, operators)), out_shardings=(layout, whole))
    return jax.device_put(initial(), layout), place, step


def by_hand(operators: Operators) -> tuple[Weights, Callable[[Any], Any], Any]:
    """Use `shard_map`: each device has some of the sequences and all weights, and the mean over devices is explicit."""
    mesh = Mesh(np.array(jax.devices()), ("data",))

    def mean_loss(weights: Weights, words: Any) -> Any:
        return jax.lax.pmean(loss_of(operators, weights, words), "data")

    part = partial(updated, mean_loss)
    step = jax.jit(shard_map(part, mesh=mesh, in_specs=(P(), P("data")), out_specs=P()))
    place = partial(jax.device_put, device=NamedSharding(mesh, P("data")))
    return jax.device_put(initial(), NamedSharding(mesh, P())), place, step


WAYS = {"none": alone, "mesh": on_mesh, "shard_map": by_hand}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--parallel", choices=WAYS, default="none")
    parser.add_argument("--operators", choices=OPERATORS, default="opbridge", help="whose norm and activation")
    parser.add_argument("--steps", type=int, default=20)
    options = parser.parse_args()
    training = Training(options.parallel, options.operators)
    print(f"a step communicates: {training.collectives}")
    for number in range(options.steps):
        print(f"step {number:3}  loss {training.step(number):.6f}")


if __name__ == "__main__":
    main()
