"""Operators of many formulas by one compilation, and what PyTorch says of the same text."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import pytest
import torch

from opbridge.build.cache import Cache
from opbridge.build.sources import KernelStore
from opbridge.frameworks.library_runtime import LibraryRuntime
from opbridge.native.catalog import Catalog
from opbridge.waist.formulas.generated_kernels import PRINTERS
from opbridge.waist.manifest import OpSpec
from opbridge.waist.manifest.kernel_origins import TWINS, KernelRef
from opbridge.waist.op import OpLibrary

_TYPES = re.compile(r"^(OB_KERNEL\(\w+), .*\)$", re.MULTILINE)
_INCLUDES = re.compile(r"^#include .*\n", re.MULTILINE)


def formula_source(
    formulas: Mapping[str, str], types: str = "double", device: str = "cpu", has_gradients: bool = True
) -> str:
    """The kernels of many formulas in one source."""
    sources = [
        _TYPES.sub(rf"\1, {types})", str(kernel.source))
        for schema, text in formulas.items()
        for spec in _specs(schema, text, device, has_gradients)
        for kernel in spec.kernels
    ]
    includes = dict.fromkeys(line for source in sources for line in _INCLUDES.findall(source))
    includes = dict.fromkeys(sorted(includes, key=lambda line: "uncontracted" not in line))
    return "".join([*includes, *(_INCLUDES.sub("", source) for source in sources)])


def _specs(schema: str, text: str, device: str, has_gradients: bool) -> tuple[OpSpec, ...]:
    """The operator of a formula, and its backward where that is wanted."""
    forward, *backward = OpSpec.of_formula(schema, text, device=device)
    rules = replace(forward.rules, derivatives=())
    return (forward, *backward) if has_gradients else (replace(forward, rules=rules),)


def formula_library(
    formulas: Mapping[str, str], types: str = "double", device: str = "cpu", has_gradients: bool = True
) -> OpLibrary:
    """`formulas` are texts by schema, all of one namespace; kernels are made for `types` alone, to save time."""
    of = TWINS[device].of if device in TWINS else device
    path = Cache().keep(f"formulas{PRINTERS[of].suffix}", formula_source(formulas, types, of, has_gradients))
    specs = (spec for schema, text in formulas.items() for spec in _specs(schema, text, of, has_gradients))
    joined = tuple(
        replace(spec, kernels=(KernelRef(of, path.name, str(spec.kernels[0].symbol)),), root=path.parent)
        for spec in specs
    )
    catalog = Catalog.of(str(joined[0].schema.namespace), joined)
    kernels = KernelStore(catalog, path.parent, Cache(), allow_outside=True, twin=device if device in TWINS else None)
    return LibraryRuntime(
        catalog, kernels, lambda: joined, (formula_library, (formulas, types, device, has_gradients))
    ).library()


def names_asked_for(request: pytest.FixtureRequest) -> set[str]:
    """Return the values that `name` has in the tests of this file which this run includes: only they are compiled."""
    calls = (getattr(item, "callspec", None) for item in request.session.items if item.path == request.path)
    return {str(call.params["name"]) for call in calls if call and "name" in call.params}


def torch_value(text: str, values: Mapping[str, Any]) -> Any:
    """What PyTorch computes for the text of a formula, or of a gradient."""
    environment = {**_FUNCTIONS, **values}
    *lets, last = text.strip().splitlines()
    for let in lets:
        name, _, value = let.partition("=")
        environment[name.strip()] = eval(value.strip(), {}, environment)
    return eval(last.replace(".numel", ".numel()"), {}, environment)


def _reduction(function: Callable[..., Any], x: Any, axis: Any = None, keepdim: bool = False, **more: Any) -> Any:
    axes = tuple(range(x.ndim)) if axis is None else (axis,) if isinstance(axis, int) else tuple(axis)
    keepdim = more.pop("keepdims", keepdim)
    return function(x, axes, keepdim=keepdim, **more)


def _tensor(x: Any) -> Any:
    return x if isinstance(x, torch.Tensor) else torch.tensor(x, dtype=torch.double)


def _on_tensors(function: Callable[..., Any], *args: Any) -> Any:
    return function(*map(_tensor, args))


def _index(function: Callable[..., Any], x: Any, axis: int, keepdim: bool = False) -> Any:
    return function(x, axis, keepdim=keepdim)


def _clip(x: Any, min: Any = None, max: Any = None) -> Any:
    bounds = [each if each is None else _tensor(each) for each in (min, max)]
    return torch.clamp(_tensor(x), *bounds)


_UNARY = "abs sign square sqrt rsqrt reciprocal exp expm1 log log1p log2 log10 sigmoid erf sin cos tan sinh cosh tanh"
_MORE = "asin acos atan asinh acosh atanh floor ceil round trunc isnan isinf isfinite relu negative logical_not"
_BINARY = "logical_and logical_or logical_xor maximum minimum pow atan2 remainder add subtract multiply divide"
_RELATIONS = {
    "equal": "eq",
    "not_equal": "ne",
    "less": "lt",
    "less_equal": "le",
    "greater": "gt",
    "greater_equal": "ge",
}
_FUNCTIONS: dict[str, Any] = {
    **{name: partial(_on_tensors, getattr(torch, name)) for name in f"{_UNARY} {_MORE} {_BINARY}".split()},
    **{name: partial(_on_tensors, getattr(torch, own)) for name, own in _RELATIONS.items()},
    "floor_divide": lambda a, b: torch.floor_divide(_tensor(a).detach(), _tensor(b).detach()),
    **{
        name: partial(_reduction, function)
        for name, function in {
            "sum": torch.sum,
            "mean": torch.mean,
            "max": torch.amax,
            "min": torch.amin,
            "logsumexp": torch.logsumexp,
            "var": partial(torch.var, correction=0),
            "std": partial(torch.std, correction=0),
        }.items()
    },
    "any": partial(_reduction, torch.any),
    "all": partial(_reduction, torch.all),
    "argmax": partial(_index, torch.argmax),
    "argmin": partial(_index, torch.argmin),
    "cumsum": torch.cumsum,
    "cumulative_sum": torch.cumsum,
    "flip": lambda x, axis: torch.flip(x, (axis,)),
    "softmax": torch.softmax,
    "log_softmax": torch.log_softmax,
    "silu": partial(_on_tensors, torch.nn.functional.silu),
    "softplus": partial(_on_tensors, torch.nn.functional.softplus),
    "where": lambda condition, a, b: torch.where(_tensor(condition) != 0, _tensor(a), _tensor(b)),
    "clip": _clip,
    "astype": lambda x, dtype: x.to(dtype),
    "expand_dims": torch.unsqueeze,
    "squeeze": torch.squeeze,
    "reshape": torch.reshape,
    "broadcast_to": lambda x, shape: _tensor(x).expand(shape),
    "sum_to": lambda x, shape: x.sum_to_size(shape),
    "zeros_like": torch.zeros_like,
    "float32": torch.float32,
    "bool": torch.bool,
}
