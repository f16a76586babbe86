"""Recurrent networks, step by step: a graph unrolls the steps."""

from __future__ import annotations

from typing import Any

from mindspore import mint, ops

from opbridge.models.scan.forms.basic import tanh


def lstm(
    input: Any,
    hx: Any,
    params: Any,
    has_biases: bool,
    num_layers: int,
    dropout: float,
    train: bool,
    bidirectional: bool,
    batch_first: bool,
) -> Any:
    """Run an LSTM; return the outputs, and the last hidden and cell states of all layers."""
    hidden, cells = hx
    values = input.swapaxes(0, 1) if batch_first else input
    directions = 2 if bidirectional else 1
    size = len(params) // (num_layers * directions)
    last_hidden, last_cells = [], []
    for layer in range(num_layers):
        results = []
        for direction in range(directions):
            place = layer * directions + direction
            weights = params[place * size : (place + 1) * size]
            found, h, c = _lstm_layer(values, hidden[place], cells[place], weights, has_biases, direction == 1)
            results.append(found)
            last_hidden.append(h)
            last_cells.append(c)
        values = ops.concat(results, -1) if bidirectional else results[0]
        if train and dropout > 0 and layer < num_layers - 1:
            values = ops.dropout(values, dropout)
    output = values.swapaxes(0, 1) if batch_first else values
    return output, ops.stack(last_hidden), ops.stack(last_cells)


def _lstm_layer(values: Any, h: Any, c: Any, weights: Any, has_biases: bool, backwards: bool) -> Any:
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
    return _in_order(found, backwards), h, c


def _in_order(found: Any, backwards: bool) -> Any:
    return ops.stack(found[::-1] if backwards else found)


def gru(
    input: Any,
    hx: Any,
    params: Any,
    has_biases: bool,
    num_layers: int,
    dropout: float,
    train: bool,
    bidirectional: bool,
    batch_first: bool,
) -> Any:
    """Run a GRU; return the outputs, and the last hidden states of all layers."""
    return _run(_gru_layer, input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first)


def _run(
    run_layer: Any,
    input: Any,
    hx: Any,
    params: Any,
    has_biases: bool,
    num_layers: int,
    dropout: float,
    train: bool,
    bidirectional: bool,
    batch_first: bool,
) -> Any:
    values = input.swapaxes(0, 1) if batch_first else input
    directions = 2 if bidirectional else 1
    size = len(params) // (num_layers * directions)
    last = []
    for layer in range(num_layers):
        results = []
        for direction in range(directions):
            place = layer * directions + direction
            weights = params[place * size : (place + 1) * size]
            found, h = run_layer(values, hx[place], weights, has_biases, direction == 1)
            results.append(found)
            last.append(h)
        values = ops.concat(results, -1) if bidirectional else results[0]
        if train and dropout > 0 and layer < num_layers - 1:
            values = ops.dropout(values, dropout)
    output = values.swapaxes(0, 1) if batch_first else values
    return output, ops.stack(last)


def _gru_layer(values: Any, h: Any, weights: Any, has_biases: bool, backwards: bool) -> Any:
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
    return _in_order(found, backwards), h


def rnn_tanh(
    input: Any,
    hx: Any,
    params: Any,
    has_biases: bool,
    num_layers: int,
    dropout: float,
    train: bool,
    bidirectional: bool,
    batch_first: bool,
) -> Any:
    """Run a recurrent network with tanh; return the outputs, and the last hidden states of all layers."""
    return _run(_tanh_layer, input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first)


def rnn_relu(
    input: Any,
    hx: Any,
    params: Any,
    has_biases: bool,
    num_layers: int,
    dropout: float,
    train: bool,
    bidirectional: bool,
    batch_first: bool,
) -> Any:
    """Run a recurrent network with relu; return the outputs, and the last hidden states of all layers."""
    return _run(_relu_layer, input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first)


def _tanh_layer(values: Any, h: Any, weights: Any, has_biases: bool, backwards: bool) -> Any:
    return _plain_layer(tanh, values, h, weights, has_biases, backwards)


def _relu_layer(values: Any, h: Any, weights: Any, has_biases: bool, backwards: bool) -> Any:
    return _plain_layer(ops.relu, values, h, weights, has_biases, backwards)


def _plain_layer(activate: Any, values: Any, h: Any, weights: Any, has_biases: bool, backwards: bool) -> Any:
    count = values.shape[0]
    given = ops.matmul(values, weights[0].swapaxes(0, 1))
    if has_biases:
        given = given + (weights[2] + weights[3])
    turned = weights[1].swapaxes(0, 1)
    found = []
    for step in range(count):
        h = activate(given[count - 1 - step if backwards else step] + ops.matmul(h, turned))
        found.append(h)
    return _in_order(found, backwards), h
