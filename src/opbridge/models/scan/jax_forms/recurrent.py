"""Recurrent networks: a scan over the steps of each layer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp

from opbridge.models.scan.jax_forms.type_promotion import Array

State = tuple[Array, ...]


def lstm(
    input: Array,
    hx: Sequence[Array],
    params: Sequence[Array],
    has_biases: bool,
    num_layers: int,
    dropout: float,
    train: bool,
    bidirectional: bool,
    batch_first: bool,
) -> tuple[Array, Array, Array]:
    """Run an LSTM; return the outputs, and the last hidden and cell states of all layers."""
    _refuse_dropout(dropout, train, num_layers)
    output, (hidden, cells) = _run(_lstm_step, input, tuple(hx), params, has_biases, num_layers, batch_first)
    return output, hidden, cells


def _recurrent(step: Callable[..., Any]) -> Callable[..., tuple[Array, Array]]:
    def run(
        input: Array,
        hx: Array,
        params: Sequence[Array],
        has_biases: bool,
        num_layers: int,
        dropout: float,
        train: bool,
        bidirectional: bool,
        batch_first: bool,
    ) -> tuple[Array, Array]:
        """Run a recurrent network; return the outputs, and the last hidden states of all layers."""
        _refuse_dropout(dropout, train, num_layers)
        output, (hidden,) = _run(step, input, (hx,), params, has_biases, num_layers, batch_first)
        return output, hidden

    return run


def _refuse_dropout(dropout: float, train: bool, num_layers: int) -> None:
    if dropout and train and num_layers > 1:
        raise NotImplementedError("dropout between layers draws random numbers")


def _run(
    step: Callable[..., Any],
    input: Array,
    states: State,
    params: Sequence[Array],
    has_biases: bool,
    num_layers: int,
    batch_first: bool,
) -> tuple[Array, State]:
    values = jnp.swapaxes(input, 0, 1) if batch_first else input
    directions = states[0].shape[0] // num_layers
    size = len(params) // (num_layers * directions)
    last = []
    for layer in range(num_layers):
        results = []
        for direction in range(directions):
            place = layer * directions + direction
            weights = params[place * size : (place + 1) * size]
            biases = weights[2:4] if has_biases else (jnp.zeros((), input.dtype),) * 2
            run = partial(step, weights[1], biases[1])
            given = values @ weights[0].T + biases[0]
            after, found = jax.lax.scan(run, tuple(each[place] for each in states), given, reverse=direction == 1)
            results.append(found)
            last.append(after)
        values = jnp.concatenate(results, axis=-1)
    output = jnp.swapaxes(values, 0, 1) if batch_first else values
    return output, tuple(map(jnp.stack, zip(*last, strict=True)))


def _lstm_step(weight: Array, bias: Array, state: State, given: Array) -> tuple[State, Array]:
    hidden, cell = state
    inward, forget, new, outward = jnp.split(given + hidden @ weight.T + bias, 4, axis=-1)
    cell = jax.nn.sigmoid(forget) * cell + jax.nn.sigmoid(inward) * jnp.tanh(new)
    hidden = jax.nn.sigmoid(outward) * jnp.tanh(cell)
    return (hidden, cell), hidden


def _gru_step(weight: Array, bias: Array, state: State, given: Array) -> tuple[State, Array]:
    (hidden,) = state
    reset, update, new = jnp.split(given, 3, axis=-1)
    own_reset, own_update, own_new = jnp.split(hidden @ weight.T + bias, 3, axis=-1)
    proposed = jnp.tanh(new + jax.nn.sigmoid(reset + own_reset) * own_new)
    hidden = proposed + jax.nn.sigmoid(update + own_update) * (hidden - proposed)
    return (hidden,), hidden


def _plain_step(activate: Callable[[Array], Array]) -> Callable[..., tuple[State, Array]]:
    def step(weight: Array, bias: Array, state: State, given: Array) -> tuple[State, Array]:
        hidden = activate(given + state[0] @ weight.T + bias)
        return (hidden,), hidden

    return step


gru = _recurrent(_gru_step)
rnn_tanh = _recurrent(_plain_step(jnp.tanh))
rnn_relu = _recurrent(_plain_step(jax.nn.relu))
