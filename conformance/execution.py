"""Run a captured program in NumPy and in MindSpore, each of its operators through `ob.aten`."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import mindspore
import ml_dtypes
import numpy as np
import torch
from capture import SEED, Program, Tensors
from torch.utils import _pytree as pytree

import opbridge as ob

Array = Any
Call = Callable[[Any, tuple[Any, ...], dict[str, Any]], Any]

_MINDSPORE_DTYPES: Mapping[torch.dtype, Any] = {
    getattr(torch, name): getattr(mindspore, name)
    for name in (
        *("uint8", "int8", "int16", "int32", "int64", "uint16", "uint32", "uint64"),
        *("float16", "float32", "float64", "bfloat16", "complex64", "complex128"),
    )
} | {torch.bool: mindspore.bool_}
_NUMPY_DTYPES: Mapping[torch.dtype, Any] = {
    dtype: np.dtype(ml_dtypes.bfloat16 if dtype == torch.bfloat16 else str(dtype).removeprefix("torch."))
    for dtype in _MINDSPORE_DTYPES
}


def in_numpy(program: Program) -> Tensors:
    def call(target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return _op(target).numpy(*args, **kwargs)

    inputs = [tensor.detach().clone().numpy() for tensor in program.inputs]
    torch.manual_seed(SEED)
    outputs = _run(program, inputs, call, lambda tensor: tensor.numpy(), _NUMPY_DTYPES)
    return tuple(map(_from_numpy, outputs))


def in_mindspore(program: Program) -> Tensors:
    outputs = _mindspore_function(program)(*map(_to_mindspore, program.inputs))
    return tuple(map(_from_mindspore, outputs))


def gradients_in_mindspore(program: Program) -> Tensors:
    """Return the gradients of the outputs that have one, for the same cotangents as in PyTorch."""
    function = _mindspore_function(program)
    inputs = [_to_mindspore(tensor) for tensor in program.inputs]
    cotangents = tuple(map(_to_mindspore, program.cotangents))

    def differentiated(*asked: Array) -> Any:
        filled = list(inputs)
        for place, tensor in zip(program.differentiable, asked, strict=True):
            filled[place] = tensor
        outputs = function(*filled)
        chosen = tuple(outputs[place] for place in program.with_gradient)
        return chosen if len(chosen) > 1 else chosen[0]

    gradient = mindspore.ops.GradOperation(get_all=True, sens_param=True)(differentiated)
    asked = [inputs[place] for place in program.differentiable]
    found = gradient(*asked, cotangents if len(cotangents) > 1 else cotangents[0])
    return tuple(map(_from_mindspore, found))


def _mindspore_function(program: Program) -> Callable[..., Sequence[Array]]:
    def call(target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return _op(target).mindspore(*args, **kwargs)

    def function(*inputs: Array) -> Sequence[Array]:
        torch.manual_seed(SEED)
        return _run(program, inputs, call, _to_mindspore, _MINDSPORE_DTYPES)

    return function


def _op(target: Any) -> Any:
    return ob.aten(target.name())


def _run(
    program: Program,
    inputs: Sequence[Array],
    call: Call,
    constant: Callable[[torch.Tensor], Array],
    dtypes: Mapping[torch.dtype, Any],
) -> list[Array]:
    """Interpret the graph with arrays of another framework."""
    remaining = iter(inputs)
    values: dict[Any, Any] = {}
    for node in program.graph.graph.nodes:
        if node.op == "placeholder":
            values[node] = next(remaining)
        elif node.op == "get_attr":
            values[node] = constant(getattr(program.graph, node.target).detach())
        elif node.op == "call_function":
            args, kwargs = torch.fx.node.map_arg((node.args, node.kwargs), values.__getitem__)
            args, kwargs = pytree.tree_map_only(torch.dtype, dtypes.__getitem__, (args, dict(kwargs)))
            run = operator.getitem if node.target is operator.getitem else None
            values[node] = run(*args) if run else call(node.target, tuple(args), kwargs)
        else:
            (results,) = node.args
            return pytree.tree_leaves(torch.fx.node.map_arg(results, values.__getitem__))
    raise AssertionError("a graph ends with its output")


def _to_mindspore(tensor: torch.Tensor) -> Array:
    plain = tensor.detach().resolve_conj().resolve_neg().contiguous()
    if plain.dtype == torch.bfloat16:
        return mindspore.Tensor(plain.float().numpy()).astype(mindspore.bfloat16)
    return mindspore.Tensor(plain.numpy())


def _from_mindspore(tensor: Array) -> torch.Tensor:
    if tensor.dtype == mindspore.bfloat16:
        return torch.from_numpy(tensor.astype(mindspore.float32).asnumpy()).bfloat16()
    return _from_numpy(tensor.asnumpy())


def _from_numpy(array: Array) -> torch.Tensor:
    array = np.array(array)
    if array.dtype == ml_dtypes.bfloat16:
        return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
    # NumPy has two types of 64 unsigned bits, and PyTorch knows one.
    return torch.from_numpy(array.view(np.uint64) if array.dtype == np.ulonglong else array)
