"""Record PyTorch's samples as programs of ATen operators, which any framework can run.

An entry of `op_db` is a Python function with inputs.  It is traced before autograd and before anything is taken apart,
so the record contains the operators that a user's call reaches: usually one, sometimes a few.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch.fx import GraphModule
from torch.fx.experimental.proxy_tensor import make_fx
from torch.testing._internal.common_methods_invocations import op_db
from torch.testing._internal.opinfo.core import OpInfo, SampleInput
from torch.utils import _pytree as pytree

FLOATS = (torch.float32, torch.float64)
OTHERS = (torch.int64, torch.complex64, torch.bool)
"""For the entries that take no real floating point numbers."""

SEED = 42
"""What the entries of random operators seed with themselves, before each call."""

Tensors = tuple[torch.Tensor, ...]


class CannotCaptureError(Exception):
    """The reason why a sample is not a program of operators on tensors."""


@dataclass(frozen=True)
class Program:
    graph: GraphModule
    inputs: Tensors
    differentiable: tuple[int, ...]
    """Which inputs a gradient is asked for."""
    expected: Tensors
    cotangents: Tensors
    """One for each output that has a gradient."""
    with_gradient: tuple[int, ...]
    """Which outputs those are."""
    gradients: Tensors
    random: bool
    uninitialised: bool
    """Whether values mean nothing, and only shapes and types are compared."""


def entries() -> dict[str, OpInfo]:
    named: dict[str, OpInfo] = {}
    for entry in op_db:
        named[f"{entry.name}.{entry.variant_test_name}" if entry.variant_test_name else entry.name] = entry
    return named


def dtypes_of(entry: OpInfo) -> tuple[torch.dtype, ...]:
    floats = tuple(dtype for dtype in FLOATS if dtype in entry.dtypes)
    return floats or tuple(dtype for dtype in OTHERS if dtype in entry.dtypes)[:1]


def programs(entry: OpInfo, dtype: torch.dtype) -> Iterator[Program | CannotCaptureError]:
    gradients = entry.supports_autograd and dtype in entry.supported_backward_dtypes("cpu")
    torch.manual_seed(SEED)
    for sample in entry.sample_inputs("cpu", dtype, requires_grad=gradients):
        try:
            yield _captured(entry, sample)
        except CannotCaptureError as reason:
            yield reason


def _captured(entry: OpInfo, sample: SampleInput) -> Program:
    leaves, structure = pytree.tree_flatten((sample.input, sample.args, sample.kwargs))
    places = [place for place, leaf in enumerate(leaves) if isinstance(leaf, torch.Tensor)]
    inputs = tuple(leaves[place].detach() for place in places)
    for tensor in inputs:
        if tensor.layout != torch.strided:
            raise CannotCaptureError(f"takes {tensor.layout} tensors, which only PyTorch has")
    asked = tuple(place for place, leaf in enumerate(places) if leaves[leaf].requires_grad)

    def function(*tensors: torch.Tensor) -> tuple[torch.Tensor, ...]:
        filled = list(leaves)
        for place, tensor in zip(places, tensors, strict=True):
            filled[place] = tensor
        first, args, kwargs = pytree.tree_unflatten(filled, structure)
        result = entry.op(first, *args, **kwargs)
        if sample.output_process_fn_grad is not None and asked:
            result = sample.output_process_fn_grad(result)
        return tuple(leaf for leaf in pytree.tree_leaves(result) if isinstance(leaf, torch.Tensor))

    graph = _traced(function, inputs, asked)
    return _with_results(entry, function, graph, inputs, asked)


def _traced(function: Callable[..., Tensors], inputs: Tensors, asked: tuple[int, ...]) -> GraphModule:
    torch.manual_seed(SEED)
    try:
        trace = make_fx(function, pre_dispatch=True, tracing_mode="real", _error_on_data_dependent_ops=False)
        # With gradients, as in a user's call: some functions behave differently without.
        graph = trace(*(tensor.clone().requires_grad_(place in asked) for place, tensor in enumerate(inputs)))
    except Exception as error:
        raise CannotCaptureError(str(error).partition("\n")[0]) from error
    if not _outputs(graph):
        raise CannotCaptureError("returns no tensor")
    return graph


def _outputs(graph: GraphModule) -> list[Any]:
    (output,) = (node for node in graph.graph.nodes if node.op == "output")
    return pytree.tree_leaves(output.args[0])


def _with_results(
    entry: OpInfo, function: Callable[..., Tensors], graph: GraphModule, inputs: Tensors, asked: tuple[int, ...]
) -> Program:
    leaves = [tensor.clone().requires_grad_(place in asked) for place, tensor in enumerate(inputs)]
    # Some samples change a tensor in place, which a leaf does not allow.
    passed = [leaf.clone() if place in asked else leaf for place, leaf in enumerate(leaves)]
    torch.manual_seed(SEED)
    outputs = function(*passed)
    with_gradient = tuple(place for place, output in enumerate(outputs) if output.requires_grad)
    generator = torch.Generator().manual_seed(1)
    cotangents = tuple(
        torch.randn(outputs[place].shape, dtype=outputs[place].dtype, generator=generator) for place in with_gradient
    )
    gradients: Tensors = ()
    if with_gradient:
        found = torch.autograd.grad(
            [outputs[place] for place in with_gradient],
            [leaves[place] for place in asked],
            cotangents,
            allow_unused=True,
        )
        gradients = tuple(
            torch.zeros_like(inputs[place]) if gradient is None else gradient.detach().to_dense()
            for place, gradient in zip(asked, found, strict=True)
        )
    targets = [node.target for node in graph.graph.nodes if node.op == "call_function"]
    tags = {tag for target in targets for tag in getattr(target, "tags", ())}
    return Program(
        graph,
        inputs,
        asked if with_gradient else (),
        tuple(output.detach().resolve_conj().resolve_neg() for output in outputs),
        cotangents,
        with_gradient,
        gradients,
        random=torch.Tag.nondeterministic_seeded in tags,
        uninitialised=any("empty" in str(target) or "resize" in str(target) for target in targets),
    )
