"""Differentiate one line of a converted network by itself, and compare it with the PyTorch node."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from typing import Any

import torch

from opbridge.models.conversion.check_conversion import difference, factors_of
from opbridge.models.conversion.comparison import TOLERANCE
from opbridge.models.conversion.convert_module import array_of
from opbridge.models.conversion.exported_graphs import Exported
from opbridge.models.conversion.frameworks_under_test import Array, Side
from opbridge.models.conversion.line_by_line import Step
from opbridge.models.scan.nested_values import tensors

Given = tuple[tuple[Any, ...], Mapping[str, Any]]
"""The inputs of a node: by place, and by name."""


def gradient_apart(exported: Exported, side: Side, step: Step, expression: ast.expr, given: Given) -> float:
    """Return how far the gradients of a line are from those of its node, for the same inputs.

    The result is 0.0 if the line has no input or no result with a gradient.
    """
    node = step.origin.node
    leaves = {each: leaf for each, leaf in _leaves(node, given).items() if _is_trained(exported, step.path, each)}
    texts = {text: each for text, each in step.origin.inputs.items() if each in leaves and _mentions(expression, text)}
    if not texts:
        return 0.0
    wanted = [leaves[each] for each in texts.values()]
    with torch.enable_grad():
        copies = {each: leaf.clone() for each, leaf in leaves.items()}
        args, kwargs = _replaced(node, given, copies)
        results = list(tensors(node.target(*args, **kwargs)))
        index = next((i for i, each in enumerate(results) if each.requires_grad), None)
        if index is None:
            return 0.0
        result = results[index]
        factors = factors_of(result)
        gradients = torch.autograd.grad((result * factors).sum(), wanted, allow_unused=True)
    want = [torch.zeros_like(leaf) if each is None else each for leaf, each in zip(wanted, gradients, strict=True)]
    code = compile(ast.Expression(_Named(list(texts)).visit(_parsed_again(expression))), "<line>", "eval")

    def function(*values: object) -> object:
        given = {f"_given_{place}": value for place, value in enumerate(values)}
        return eval(code, {**step.module, **step.variables, **given})

    got = side.pulled_back(function, [leaf.detach().numpy() for leaf in wanted], index, factors.numpy())
    largest = max(float(each.abs().max()) if each.numel() else 0.0 for each in want)
    return max(tensors_apart(one, other, largest * TOLERANCE) for one, other in zip(want, got, strict=True))


def _is_trained(exported: Exported, path: str, node: torch.fx.Node) -> bool:
    return node.op != "get_attr" or f"{path}.{node.target}".lstrip(".") in exported.trainable


def _leaves(node: torch.fx.Node, given: Given) -> dict[torch.fx.Node, torch.Tensor]:
    """Return the values to differentiate by, keyed by the nodes that they come from."""
    found: dict[torch.fx.Node, torch.Tensor] = {}

    def see(one: object, other: Any) -> None:
        if isinstance(one, torch.fx.Node):
            if isinstance(other, torch.Tensor) and other.dtype in (torch.float32, torch.float64):
                found[one] = other.detach().clone().requires_grad_()
        elif isinstance(one, (tuple, list)):
            for pair in zip(one, other, strict=True):
                see(*pair)

    see(node.args, given[0])
    see(tuple(node.kwargs.values()), tuple(given[1].values()))
    return found


def _replaced(node: torch.fx.Node, given: Given, copies: Mapping[object, object]) -> Given:
    def mixed(one: object, other: Any) -> Any:
        if isinstance(one, torch.fx.Node):
            return copies.get(one, other)
        if isinstance(one, (tuple, list)):
            return type(other)(mixed(*pair) for pair in zip(one, other, strict=True))
        return other

    args = mixed(node.args, given[0])
    return args, {name: mixed(node.kwargs[name], value) for name, value in given[1].items()}


def _parsed_again(expression: ast.expr) -> ast.expr:
    return ast.parse(ast.unparse(expression), mode="eval").body


def _mentions(expression: ast.expr, text: str) -> bool:
    plain = _plain(text)
    return any(isinstance(each, ast.expr) and ast.unparse(each) == plain for each in ast.walk(expression))


def _plain(text: str) -> str:
    return ast.unparse(ast.parse(text, mode="eval"))


class _Named(ast.NodeTransformer):
    """A transformer that puts names in place of the expressions to differentiate by."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._names = {_plain(text): f"_given_{place}" for place, text in enumerate(texts)}

    def visit(self, node: torch.fx.Node) -> Any:
        name = self._names.get(ast.unparse(node)) if isinstance(node, ast.expr) else None
        return ast.Name(name, ast.Load(), **_where(node)) if name else super().generic_visit(node)


def _where(node: torch.fx.Node) -> dict[str, int]:
    return {"lineno": node.lineno, "col_offset": node.col_offset}


def tensors_apart(want: object, have: Array, least: float = 1e-6) -> float:
    """Return the relative difference of two tensors; infinity if their shapes differ."""
    reference = array_of(want)
    return difference(reference, have, least) if reference.shape == have.shape else float("inf")
