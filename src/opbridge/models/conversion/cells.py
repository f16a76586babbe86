"""Functions that the source of a converted network calls in MindSpore."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import mindspore as ms
import numpy as np
from numpy.typing import NDArray

from opbridge.base.errors import InputError
from opbridge.models.conversion import weights

Array = NDArray[Any]
Tensors = Any
"""The tensors that a part of a network carries: one, or a tuple of them."""


def parameter(shape: tuple[int, ...], dtype: ms.Type = ms.float32) -> ms.Parameter:
    """Create a trainable parameter of zeros."""
    return ms.Parameter(ms.Tensor(np.zeros(shape, np.float32)).astype(dtype))


def buffer(shape: tuple[int, ...], dtype: ms.Type = ms.float32) -> ms.Parameter:
    """Create a parameter of zeros that is not a weight: an optimizer leaves it alone."""
    return ms.Parameter(ms.Tensor(np.zeros(shape, np.float32)).astype(dtype), requires_grad=False)


def branch(condition: ms.Tensor, yes: Callable[..., Tensors], no: Callable[..., Tensors], operands: Tensors) -> Tensors:
    """Implement the PyTorch `cond` operator."""
    if condition:
        return yes(*operands)
    return no(*operands)


def repeat(condition: Callable[..., Tensors], body: Callable[..., Tensors], carried: Tensors, more: Tensors) -> Tensors:
    """Implement the PyTorch `while_loop` operator."""
    while condition(*carried, *more):
        carried = body(*carried, *more)
    return carried


def each(body: Callable[..., Tensors], rows: Tensors, more: Tensors) -> Tensors:
    """Implement the PyTorch `map` operator, over the first axis."""
    results = []
    for index in range(rows[0].shape[0]):
        results.append(body(*[row[index] for row in rows], *more))
    return _stacked(results)


def accumulate(body: Callable[..., Tensors], carried: Tensors, rows: Tensors, more: Tensors) -> Tensors:
    """Implement the PyTorch `scan` operator, over the first axis."""
    count, results = len(carried), []
    for index in range(rows[0].shape[0]):
        given = body(*carried, *[row[index] for row in rows], *more)
        carried = given[:count]
        results.append(given[count:])
    return (*carried, *_stacked(results))


def _stacked(results: Sequence[Tensors]) -> Tensors:
    stacked: Tensors = ()
    for place in range(len(results[0])):
        stacked = (*stacked, ms.ops.stack([result[place] for result in results]))
    return stacked


def attribute_of(name: str) -> str:
    """Return the attribute name for a PyTorch module or value, whose name need not be a Python identifier."""
    found = re.sub(r"\W", "_", name.replace("@", "__"))
    return f"_{found}" if found[:1].isdigit() else found


def tie(network: ms.nn.Cell, name: str, other: str) -> None:
    """Make the parameter at `name` the one at `other`."""
    place, last = _place(network, name)
    owner, known = _place(network, other)
    setattr(place, last, getattr(owner, known))


def name_parameters(network: ms.nn.Cell) -> None:
    """Give every parameter its PyTorch name: an attribute `_0` represents the entry `0` of a module list."""
    renamed = getattr(network, "pytorch_names", {})
    for name, found in network.parameters_and_names():
        parts = [renamed.get(part, re.sub(r"^_(?=\d)", "", part)) for part in name.split(".")]
        found.name = ".".join(parts)


def load(network: ms.nn.Cell, path: str | Path) -> ms.nn.Cell:
    """Load the values of a file into a network: safetensors, PyTorch (.pt, .pth, .bin) or MindSpore (.ckpt)."""
    path = Path(path)
    if path.suffix == ".safetensors":
        return load_state_dict(network, weights.load(path))
    if path.suffix == ".ckpt":
        return load_state_dict(network, ms.load_checkpoint(str(path)))
    import torch

    return load_state_dict(network, torch.load(path, weights_only=True))


def load_state_dict(network: ms.nn.Cell, state: Mapping[str, ms.Parameter]) -> ms.nn.Cell:
    """Load values by PyTorch names into a network, and return it.

    The values may be NumPy, PyTorch or MindSpore tensors.

    Raises:
        InputError: A value is missing or has another shape.
    """
    name_parameters(network)
    known = {found.name: found for found in network.get_parameters()}
    absent = sorted(known.keys() - state.keys())
    if absent:
        more = f" and {len(absent) - 1} more" if len(absent) > 1 else ""
        raise InputError(f"{absent[0]}{more} is not among the values", hint="they are PyTorch's state_dict()")
    for name, found in known.items():
        array = _array(state[name])
        if array.shape != tuple(found.shape):
            raise InputError(f"{name} has shape {array.shape}, expected {tuple(found.shape)}")
        found.set_data(ms.Tensor(array).astype(found.dtype))
    return network


def _array(value: ms.Tensor) -> Array:
    if hasattr(value, "asnumpy"):
        return np.asarray(value.asnumpy())
    if hasattr(value, "detach"):
        value = value.detach().cpu()
        value = value.float() if str(value.dtype) == "torch.bfloat16" else value
        return np.asarray(value.numpy())
    array = np.asarray(value)
    return array.astype(np.float32) if array.dtype.name == "bfloat16" else array


def _place(network: ms.nn.Cell, name: str) -> tuple[ms.nn.Cell, str]:
    path, _, last = name.rpartition(".")
    return cell_below(network, path), attribute_of(last)


def cell_below(network: ms.nn.Cell, path: str) -> ms.nn.Cell:
    """Return the cell for a PyTorch module path, or None if there is none."""
    for part in filter(None, path.split(".")):
        cells = getattr(network, "_cells", {})
        network = cells.get(part, cells.get(attribute_of(part)))
    return network
