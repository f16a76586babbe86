"""Output f: the backend's own operators in MindSpore and JAX, which share the CPU memory of tensors.

    python/<namespace>_ops/mindspore_cells.py    a Cell with `bprop` for each operator
    python/<namespace>_ops/jax_functions.py      a function for each, for jit, grad and vmap

Both call the PyTorch operator on the given memory. The gradient comes from PyTorch's autograd.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import isfinite

from opbridge.codegen.backend import Backend, BackendOperator
from opbridge.codegen.outputs.generated_sources import HEADER, python_packages
from opbridge.waist.schema import Argument, EnumName

_REDUCTIONS = {"None": "0", "Mean": "1", "Sum": "2"}
_NOTE = HEADER.replace("//", "#")


def other_frameworks(backend: Backend) -> dict[str, str]:
    """Return the files for both frameworks; none for a backend that does not run on the CPU."""
    if backend.target.key != "CPU":
        return {}
    files = {}
    for package in python_packages(backend):
        namespace = package.removesuffix("_ops")
        operators = [each for each in backend.custom if each.schema.namespace == namespace and _is_function(each)]
        if operators:
            start = {"note": _NOTE, "namespace": namespace, "package": package}
            cells = "".join(map(_cell, operators))
            files[f"python/{package}/mindspore_cells.py"] = _MINDSPORE.format(**start) + cells
            functions = "".join(map(_function, operators))
            files[f"python/{package}/jax_functions.py"] = _JAX.format(**start) + functions
    return files


def _is_function(operator: BackendOperator) -> bool:
    """Return whether all results are new tensors: neither framework has written tensors or views."""
    schema = operator.schema
    new = all(return_.type.is_tensor_like and return_.alias is None for return_ in schema.returns)
    return operator.exposed and new and bool(schema.returns) and not schema.mutable_arguments


def _entry(operator: BackendOperator) -> str:
    return f"torch.ops.{operator.schema.qualified_name.replace('::', '.')}.{operator.schema.overload or 'default'}"


def _cell(operator: BackendOperator) -> str:
    name = "".join(part.capitalize() for part in operator.identifier.split("_"))
    attributes = operator.schema.attributes
    given = ", ".join(["self", *(["*", *_parameters(attributes)] if attributes else [])])
    passed = "".join(f", {each.name}={each.name}" for each in attributes)
    tensors = repr(tuple(each.name for each in operator.schema.tensor_arguments))
    return (
        f'\n\nclass {name}(_Operator):\n    """{operator.schema}"""\n\n'
        f"    def __init__({given}):\n        super().__init__({_entry(operator)}, {tensors}{passed})\n"
    )


def _function(operator: BackendOperator) -> str:
    schema = operator.schema
    positional = ", ".join(_parameters(schema.positional))
    named = "".join(f", {text}" for text in ["*", *_parameters(schema.keyword_only)] if schema.keyword_only)
    tensors = ", ".join(f"{each.name!r}: {each.name}" for each in schema.tensor_arguments)
    attributes = ", ".join(f"{each.name!r}: {each.name}" for each in schema.attributes)
    return (
        f'\n\ndef {operator.identifier}({positional}{named}):\n    """{schema}"""\n'
        f"    return _call({_entry(operator)}, {{{tensors}}}, {{{attributes}}})\n"
    )


def _parameters(arguments: Iterable[Argument]) -> list[str]:
    return [f"{each.name}={_spelled(each.default.value)}" if each.default else each.name for each in arguments]


def _spelled(value: object) -> str:
    """Return a default in Python."""
    if isinstance(value, EnumName):
        return _REDUCTIONS.get(value) or f"torch.{value}"
    return f"float('{value}')" if isinstance(value, float) and not isfinite(value) else repr(value)


_SHARED = '''
def _flat(result):
    return list(result) if isinstance(result, (tuple, list)) else [result]


def _differentiated(operator, named, attributes, gradients):
    """The gradient of each tensor among `named`; None where there is none."""
    leaves = [tensor for value in named.values() for tensor in _flat(value) if tensor is not None]
    wanted = [leaf.requires_grad_() for leaf in leaves if leaf.dtype.is_floating_point or leaf.dtype.is_complex]
    with torch.enable_grad():
        outputs = _flat(operator(**named, **attributes))
    pairs = [(out, gradient) for out, gradient in zip(outputs, gradients) if out.requires_grad and gradient is not None]
    found = [None] * len(wanted)
    if pairs:
        outputs, gradients = zip(*pairs)
        found = torch.autograd.grad(outputs, wanted, gradients, allow_unused=True)
    by_leaf = dict(zip(map(id, wanted), found))
    return [by_leaf.get(id(leaf)) for leaf in leaves]
'''

_MINDSPORE = (
    '''{note}"""The operators of {namespace} as Cells of MindSpore, in PyNative mode and on the CPU.

A Cell is made with the operator's attributes and called with its tensors.
"""

import torch
from mindspore import Tensor, nn

import {package}  # noqa: F401 - it loads the library
'''
    + _SHARED.replace("{", "{{").replace("}", "}}")
    + '''

def _to_torch(value):
    if isinstance(value, (tuple, list)):
        return [_to_torch(each) for each in value]
    return torch.from_numpy(value.asnumpy()) if isinstance(value, Tensor) else value


def _to_mindspore(value):
    if isinstance(value, (tuple, list)):
        return tuple(_to_mindspore(each) for each in value)
    return Tensor.from_numpy(value.detach().contiguous().numpy())


class _Operator(nn.Cell):
    def __init__(self, operator, tensors, **attributes):
        super().__init__()
        self._run, self._tensors, self._attributes = operator, tensors, attributes

    def construct(self, *tensors):
        return _to_mindspore(self._run(**self._named(tensors), **self._attributes))

    def bprop(self, *values):
        """`values` are the inputs, the output and its gradient."""
        tensors, gradients = values[:-2], _flat(_to_torch(values[-1]))
        named = self._named(tensors)
        found = iter(_differentiated(self._run, named, self._attributes, gradients))
        return tuple(self._gradient(value, found) for value in list(named.values())[: len(tensors)])

    def _named(self, tensors):
        return dict(zip(self._tensors, map(_to_torch, tensors)))

    def _gradient(self, value, found):
        if isinstance(value, list):
            return tuple(self._gradient(each, found) for each in value)
        if value is None:
            return None
        gradient = next(found)
        return _to_mindspore(torch.zeros_like(value) if gradient is None else gradient)
'''
)

_JAX = (
    '''{note}"""The operators of {namespace} as functions of JAX, on the CPU."""

import functools

import jax
import numpy as np
import torch

import {package}  # noqa: F401 - it loads the library
'''
    + _SHARED.replace("{", "{{").replace("}", "}}")
    + '''

def _call(operator, tensors, attributes):
    given = {{name: jax.tree.map(jax.numpy.asarray, value) for name, value in tensors.items() if value is not None}}
    fixed = tuple((name, tuple(value) if isinstance(value, list) else value) for name, value in attributes.items())
    return _primitive(operator, fixed, given)


@functools.partial(jax.custom_vjp, nondiff_argnums=(0, 1))
def _primitive(operator, attributes, tensors):
    likes = _results_like(operator, attributes, tensors)

    def run(named):
        made = operator(**_to_torch(named), **dict(attributes))
        return jax.tree.map(lambda tensor, like: tensor.numpy().astype(like.dtype), made, likes)

    return jax.pure_callback(run, likes, tensors, vmap_method="sequential")


def _forward(operator, attributes, tensors):
    return _primitive(operator, attributes, tensors), tensors


def _backward(operator, attributes, tensors, gradients):
    def run(named, given):
        found = _differentiated(operator, _to_torch(named), dict(attributes), _to_torch(given))
        leaves = jax.tree.leaves(named)
        return [np.zeros_like(x) if g is None else g.numpy() for x, g in zip(leaves, found)]

    leaves, tree = jax.tree.flatten(tensors)
    given = [None if g.dtype == jax.dtypes.float0 else g for g in _flat(gradients)]
    shapes = [jax.ShapeDtypeStruct(x.shape, x.dtype) for x in leaves]
    found = jax.pure_callback(run, shapes, tensors, given, vmap_method="sequential")
    made = [
        g if jax.numpy.issubdtype(x.dtype, jax.numpy.inexact) else np.zeros(x.shape, jax.dtypes.float0)
        for x, g in zip(leaves, found)
    ]
    return (jax.tree.unflatten(tree, made),)


_primitive.defvjp(_forward, _backward)


def _to_torch(value):
    return jax.tree.map(lambda array: torch.from_numpy(np.array(array)), value)


def _results_like(operator, attributes, tensors):
    """What the results are like: a run on tensors without memory says it, or else one on zeros."""
    zeros = jax.tree.map(lambda x: torch.from_numpy(np.zeros(x.shape, x.dtype)), tensors)
    try:
        made = operator(**jax.tree.map(lambda tensor: tensor.to("meta"), zeros), **dict(attributes))
    except NotImplementedError:
        made = operator(**zeros, **dict(attributes))
    return jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape, _dtype(x)), made)


def _dtype(tensor):
    """Return the type that JAX uses: 64 bits only if they are enabled."""
    return jax.dtypes.canonicalize_dtype(torch.empty(0, dtype=tensor.dtype).numpy().dtype)
'''
)
