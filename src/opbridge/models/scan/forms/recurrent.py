"""Recurrent networks, step by step: a graph unrolls the steps."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from mindspore import Tensor, mint, ops

from opbridge.models.scan.forms.basic import tanh

States = tuple[Tensor, ...]


def lstm(
    input: Tensor,
    hx: Sequence[Tensor],
    params: Sequence[Tensor],
    has_biases: bool,
    num_layers: int,
    dropout: float,
    train: bool,
    bidirectional: bool,
    batch_first: bool,
) -> tuple[Tensor, Tensor, Tensor]:
    """Run an LSTM; return the outputs, and the last hidden and cell states of all layers."""
    output, (hidden, cells) = _run(
        _lstm_layer, input, tuple(hx), params, has_biases, num_layers, dropout, train, bidirectional, batch_first
    )
    return output, hidden, cells


def _lstm_layer(
    values: Tensor, states: States, weights: Sequence[Tensor], has_biases: bool, backwards: bool
) -> tuple[Tensor, States]:
    h, c = states
    count = values.shape[0]
    given = ops.matmul(values, weights[0].swapaxes(0, 1))
    if has_biases:
        given = given + (weights[2] + weights[3])
    turned = weights[1].swapaxes(0, 1)
    found = []
    for step in range(count):
        gates = given[count - 1 - step if backwards else step] + ops.matmul(h, turned)
        inward, forget, new, outward = mint.chunk(gates, 4, -1)
        c = ops.sigmoid(forget) * c + ops.sigmoid(inward) * tanh(new)
        h = ops.sigmoid(outward) * tanh(c)
        found.append(h)
    return _in_order(found, backwards), (h, c)


def _in_order(found: list[Tensor], backwards: bool) -> Tensor:
    return ops.stack(found[::-1] if backwards else found)


def gru(
    input: Tensor,
    hx: Tensor,
    params: Sequence[Tensor],
    has_biases: bool,
    num_layers: int,
    dropout: float,
    train: bool,
    bidirectional: bool,
    batch_first: bool,
) -> tuple[Tensor, Tensor]:
    """Run a GRU; return the outputs, and the last hidden states of all layers."""
    output, (hidden,) = _run(
        _gru_layer, input, (hx,), params, has_biases, num_layers, dropout, train, bidirectional, batch_first
    )
    return output, hidden


def _run(
    run_layer: Callable[..., tuple[Tensor, States]],
    input: Tensor,
    states: States,
    params: Sequence[Tensor],
    has_biases: bool,
    num_layers: int,
    dropout: float,
    train: bool,
    bidirectional: bool,
    batch_first: bool,
) -> tuple[Tensor, States]:
    """Run all layers; return the outputs, and each of the states after the last step, for all layers."""
    values = input.swapaxes(0, 1) if batch_first else input
    directions = 2 if bidirectional else 1
    size = len(params) // (num_layers * directions)
    last = []
    for layer in range(num_layers):
        results = []
        for direction in range(directions):
            place = layer * directions + direction
            weights = params[place * size : (place + 1) * size]
            before = tuple([each[place] for each in states])
            found, after = run_layer(values, before, weights, has_biases, direction == 1)
            results.append(found)
            last.append(after)
        values = ops.concat(results, -1) if bidirectional else results[0]
        if train and dropout > 0 and layer < num_layers - 1:
            values = ops.dropout(values, dropout)
    output = values.swapaxes(0, 1) if batch_first else values
    return output, tuple([ops.stack([after[kind] for after in last]) for kind in range(len(states))])


def _gru_layer(
    values: Tensor, states: States, weights: Sequence[Tensor], has_biases: bool, backwards: bool
) -> tuple[Tensor, States]:
    (h,) = states
    count = values.shape[0]
    given = ops.matmul(values, weights[0].swapaxes(0, 1))
    if has_biases:
        given = given + weights[2]
    turned = weights[1].swapaxes(0, 1)
    found = []
    for step in range(count):
        own = ops.matmul(h, turned)
        if has_biases:
            own = own + weights[3]
        reset, update, new = mint.chunk(given[count - 1 - step if backwards else step], 3, -1)
        own_reset, own_update, own_new = mint.chunk(own, 3, -1)
        kept = ops.sigmoid(update + own_update)
        proposed = tanh(new + ops.sigmoid(reset + own_reset) * own_new)
        h = proposed + kept * (h - proposed)
        found.append(h)
    return _in_order(found, backwards), (h,)


def rnn_tanh(
    input: Tensor,
    hx: Tensor,
    params: Sequence[Tensor],
    has_biases: bool,
    num_layers: int,
    dropout: float,
    train: bool,
    bidirectional: bool,
    batch_first: bool,
) -> tuple[Tensor, Tensor]:
    """Run a recurrent network with tanh; return the outputs, and the last hidden states of all layers."""
    output, (hidden,) = _run(
        _tanh_layer, input, (hx,), params, has_biases, num_layers, dropout, train, bidirectional, batch_first
    )
    return output, hidden


def rnn_relu(
    input: Tensor,
    hx: Tensor,
    params: Sequence[Tensor],
    has_biases: bool,
    num_layers: int,
    dropout: float,
    train: bool,
    bidirectional: bool,
    batch_first: bool,
) -> tuple[Tensor, Tensor]:
    """Run a recurrent network with relu; return the outputs, and the last hidden states of all layers."""
    output, (hidden,) = _run(
        _relu_layer, input, (hx,), params, has_biases, num_layers, dropout, train, bidirectional, batch_first
    )
    return output, hidden


def _tanh_layer(
    values: Tensor, states: States, weights: Sequence[Tensor], has_biases: bool, backwards: bool
) -> tuple[Tensor, States]:
    return _plain_layer(tanh, values, states, weights, has_biases, backwards)


def _relu_layer(
    values: Tensor, states: States, weights: Sequence[Tensor], has_biases: bool, backwards: bool
) -> tuple[Tensor, States]:
    return _plain_layer(ops.relu, values, states, weights, has_biases, backwards)


def _plain_layer(
    activate: Callable[[Tensor], Tensor],
    values: Tensor,
    states: States,
    weights: Sequence[Tensor],
    has_biases: bool,
    backwards: bool,
) -> tuple[Tensor, States]:
    (h,) = states
    count = values.shape[0]
    given = ops.matmul(values, weights[0].swapaxes(0, 1))
    if has_biases:
        given = given + (weights[2] + weights[3])
    turned = weights[1].swapaxes(0, 1)
    found = []
    for step in range(count):
        h = activate(given[count - 1 - step if backwards else step] + ops.matmul(h, turned))
        found.append(h)
    return _in_order(found, backwards), (h,)
