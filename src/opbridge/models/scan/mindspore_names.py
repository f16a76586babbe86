"""Find where MindSpore has an operator that PyTorch knows by an ATen name, and how to call it.

`mindspore.mint` mirrors torch's Python namespaces, so most operators have their own name there. A table below has
those that are spelled differently. A place that exists proves nothing: `probe` calls it.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, cast

from opbridge.models.scan.trial_framework import TrialFramework

Arguments = Mapping[str, Any]
"""The arguments of an ATen operator, by name; tensors are those of MindSpore."""
Call = tuple[tuple[Any, ...], dict[str, Any]]

_PLACES = ("mint", "mint.nn.functional", "mint.linalg", "mint.special", "mint.fft", "Tensor", "ops")
"""Ordered from the most to the least similar to PyTorch."""
_PREFIXES = {"linalg_": "mint.linalg", "special_": "mint.special", "fft_": "mint.fft"}
FORMS = {
    "_weight_norm": "ops.sqrt",
    "argmin": "ops.argmin",
    "argsort": "ops.sort",
    "batch_norm": "ops.rsqrt",
    "bitwise_not": "ops.logical_not",
    "clamp_min": "ops.clamp",
    "clone": "Tensor.copy",
    "concatenate": "ops.concat",
    "conv_transpose1d": "ops.conv2d",
    "conv_transpose2d": "ops.conv2d",
    "copy": "ops.broadcast_to",
    "cumsum": "ops.cumsum",
    "dropout": "ops.dropout",
    "einsum": "ops.matmul",
    "embedding": "ops.gather",
    "eq": "ops.equal",
    "expand": "ops.broadcast_to",
    "expand_as": "ops.broadcast_to",
    "full": "ops.full",
    "gru": "ops.matmul",
    "index_add": "ops.tensor_scatter_add",
    "layer_norm": "ops.LayerNorm",
    "leaky_relu": "ops.leaky_relu",
    "linalg_vector_norm": "ops.vector_norm",
    "log_sigmoid": "ops.log1p",
    "lstm": "ops.matmul",
    "masked_fill": "ops.masked_fill",
    "mean": "Tensor.mean",
    "new_full": "ops.full",
    "permute": "ops.transpose",
    "repeat_interleave": "ops.repeat_interleave",
    "reshape": "Tensor.reshape",
    "rms_norm": "ops.rsqrt",
    "rnn_relu": "ops.matmul",
    "rnn_tanh": "ops.matmul",
    "roll": "ops.concat",
    "scalar_tensor": "ops.full",
    "scaled_dot_product_attention": "ops.softmax",
    "scatter": "mint.scatter",
    "select": "Tensor.__getitem__",
    "select_scatter": "ops.concat",
    "slice": "ops.gather",
    "slice_scatter": "ops.concat",
    "sort": "ops.sort",
    "tanh": "ops.sigmoid",
    "to": "Tensor.astype",
    "topk": "ops.topk",
    "transpose": "Tensor.swapaxes",
    "unflatten": "Tensor.reshape",
    "unsqueeze": "Tensor.expand_dims",
    "upsample_bilinear2d": "ops.interpolate",
    "upsample_linear1d": "ops.interpolate",
    "upsample_nearest1d": "ops.interpolate",
    "upsample_nearest2d": "ops.interpolate",
    "upsample_nearest3d": "ops.interpolate",
    "upsample_trilinear3d": "ops.interpolate",
    "var_mean": "ops.square",
}
"""The MindSpore function that each function of `scan.forms` is based on."""
_BY_FORMS_ALONE = {"batch_norm", "tanh"}
"""Operators that MindSpore's functions compute otherwise: one also moves statistics, the other is off by 1e-4."""
_WRONG = {"mint.split"}
"""Functions whose gradient is wrong where it arrives in a view: they take its elements in the order of memory."""
PYTORCH_ONLY = {
    *("cudnn_enable", "cudnn_enabled", "device", "generator", "layout", "memory_format", "non_blocking", "pin_memory")
}
"""Arguments about where values are stored and what computes them."""
OWN = ("forms", "jax_forms")
"""Modules next to this one, in which a path may begin."""
_REDUCTIONS = ("none", "mean", "sum")


@dataclass(frozen=True)
class Spelling:
    """Another path of an operator, and the call there."""

    path: str
    call: Callable[[Arguments], Call]


def candidates(operator: str, framework: str = "mindspore") -> tuple[str, ...]:
    """Return the dotted paths below a framework at which `aten::name.overload` may be, best first."""
    name = _base(operator)
    if framework == "jax":
        return (f"jax_forms.{name}",)
    if name in _BY_FORMS_ALONE:
        return (f"forms.{name}",)
    spelled = [spelling.path for spelling in SPELLINGS.get(name, ())]
    places = [f"{place}.{name}" for place in _PLACES]
    for prefix, place in _PREFIXES.items():
        if name.startswith(prefix):
            places.append(f"{place}.{name.removeprefix(prefix)}")
    places += [f"forms.{name}"] if name in FORMS else []
    return tuple(path for path in dict.fromkeys(spelled + places) if path not in _WRONG)


def shown(path: str) -> str:
    """Return a path as users see it: a form by the function that it is based on."""
    place, _, name = path.partition(".")
    return FORMS[name] if place == "forms" else path


def _base(operator: str) -> str:
    return operator.partition("::")[2].partition(".")[0]


def values_of(framework: str) -> TrialFramework:
    """Import and return the module that handles a framework's tensors."""
    return cast(TrialFramework, importlib.import_module(f"opbridge.models.scan.{framework}_values"))


def find(framework: object, path: str) -> Any:
    """Return the callable at a path below a framework's module, or None."""
    place, _, name = path.partition(".")
    if place in OWN:
        found = getattr(importlib.import_module(f"opbridge.models.scan.{place}"), name, None)
    else:
        found = reduce(lambda place, name: getattr(place, name, None), path.split("."), framework)
    return found if callable(found) else None


def calls(
    operator: str, path: str, arguments: Arguments, defaults: Arguments, parameters: Sequence[str] = ()
) -> Iterator[Call]:
    """Yield the ways to call the function at `path`, the likeliest first.

    `arguments` are in schema order. `parameters` are the names of the function's parameters, as far as they are
    known.
    """
    given = {key: _translated(key, value) for key, value in arguments.items() if key not in PYTORCH_ONLY}
    for spelling in SPELLINGS.get(_base(operator), ()):
        if spelling.path == path:
            yield spelling.call(given)
            return
    said = {key: value for key, value in given.items() if key not in defaults or arguments[key] != defaults[key]}
    first = next(iter(given), None)
    if first is not None:
        yield (given[first],), {key: value for key, value in said.items() if key != first}
    # By place only if no name has another place: swapped statistics may give the right values by chance.
    if all(name not in given or list(given).index(name) == place for place, name in enumerate(parameters)):
        yield tuple(given[key] for key in given if key in said), {}
        yield tuple(given.values()), {}


def parameters_of(function: Callable[..., object]) -> tuple[str, ...]:
    """Return the names of a function's parameters; none if it has no signature."""
    try:
        found = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return ()
    return tuple(item.name for item in found if item.kind is item.POSITIONAL_OR_KEYWORD)


def _translated(name: str, value: object) -> object:
    """Return an ATen argument in the form that MindSpore functions take, which follow torch's Python ones."""
    if name == "reduction" and isinstance(value, int):
        return _REDUCTIONS[value]
    return value


def _renamed(**names: str) -> Callable[[Arguments], Call]:
    """Return a call by keywords under the given names; other arguments are not passed."""
    return lambda a: ((), {new: a[old] for new, old in names.items() if a.get(old) is not None})


def _grid_sample(a: Arguments) -> Call:
    mode = ("bilinear", "nearest", "bicubic")[a["interpolation_mode"]]
    padding = ("zeros", "border", "reflection")[a["padding_mode"]]
    return (a["input"], a["grid"]), {"mode": mode, "padding_mode": padding, "align_corners": a["align_corners"]}


def _fractional_pooling(a: Arguments) -> Call:
    options = {"output_size": a["output_size"], "return_indices": True, "_random_samples": a["random_samples"]}
    return (a["self"], a["kernel_size"]), options


def _slice(a: Arguments) -> Call:
    index: list[slice] = [slice(None)] * a.get("dim", 0)
    return (a["self"], (*index, slice(a.get("start"), a.get("end"), a.get("step", 1)))), {}


def _index(a: Arguments) -> Call:
    return (a["self"], tuple(slice(None) if index is None else index for index in a["indices"])), {}


def _einsum(a: Arguments) -> Call:
    return (a["equation"], *a["tensors"]), {}


def _with_other(a: Arguments) -> Call:
    return (a["other"], a["self"]), {"alpha": a.get("alpha", 1)}


def _convolution(a: Arguments) -> Call:
    options = {key: a[key] for key in ("bias", "stride", "padding", "dilation", "groups") if key in a}
    return (a["input"], a["weight"]), {**options, "pad_mode": "pad"}


def _pooling(a: Arguments) -> Call:
    """Return a pooling call: one number for one dimension, else padding on both sides of each."""
    options = {key: value for key, value in a.items() if key not in ("self", "kernel_size", "stride", "padding")}
    kernel, padding = a["kernel_size"], a.get("padding") or (0,)
    options |= {
        "stride": a.get("stride") or kernel,
        "padding": tuple(side for size in padding for side in (size, size)),
    }
    if len(kernel) == 1:
        (kernel,), options["stride"], options["padding"] = kernel, options["stride"][0], padding[0]
    elif len(padding) == 1:
        options["padding"] = padding[0]
    return (a["self"], kernel), options


_loss = _renamed(input="self", target="target", weight="weight", reduction="reduction", ignore_index="ignore_index")
_unfold = _renamed(input="self", kernel_size="kernel_size", dilation="dilation", padding="padding", stride="stride")
_softmax = _renamed(input="self", dim="dim")
_bitwise = _renamed(input="self", other="other")
_embedding = _renamed(input="indices", weight="weight", padding_idx="padding_idx")
_split = _renamed(tensor="self", split_size_or_sections="split_sizes", axis="dim")


def _spelled(call: Callable[[Arguments], Call], *paths: str) -> tuple[Spelling, ...]:
    return tuple(Spelling(path, call) for path in paths)


SPELLINGS = {
    "__and__": _spelled(_bitwise, "mint.bitwise_and"),
    "__or__": _spelled(_bitwise, "mint.bitwise_or"),
    "__xor__": _spelled(_bitwise, "mint.bitwise_xor"),
    "_log_softmax": _spelled(_softmax, "mint.nn.functional.log_softmax"),
    "_softmax": _spelled(_softmax, "mint.nn.functional.softmax"),
    "avg_pool1d": _spelled(_pooling, "ops.avg_pool1d"),
    "avg_pool2d": _spelled(_pooling, "ops.avg_pool2d"),
    "avg_pool3d": _spelled(_pooling, "ops.avg_pool3d"),
    "conv1d": _spelled(_convolution, "ops.conv1d"),
    "conv2d": _spelled(_convolution, "ops.conv2d"),
    "conv3d": _spelled(_convolution, "ops.conv3d"),
    "cross_entropy_loss": _spelled(_loss, "mint.nn.functional.cross_entropy", "ops.cross_entropy"),
    "einsum": _spelled(_einsum, "mint.einsum", "ops.einsum"),
    "embedding": _spelled(_embedding, "mint.nn.functional.embedding"),
    "fractional_max_pool2d": _spelled(_fractional_pooling, "ops.fractional_max_pool2d"),
    "grid_sampler": _spelled(_grid_sample, "mint.nn.functional.grid_sample", "ops.grid_sample"),
    "grid_sampler_2d": _spelled(_grid_sample, "mint.nn.functional.grid_sample", "ops.grid_sample"),
    "grid_sampler_3d": _spelled(_grid_sample, "mint.nn.functional.grid_sample", "ops.grid_sample"),
    "im2col": _spelled(_unfold, "mint.nn.functional.unfold", "ops.unfold"),
    "index": _spelled(_index, "Tensor.__getitem__"),
    "nll_loss_nd": _spelled(_loss, "mint.nn.functional.nll_loss", "ops.nll_loss"),
    "repeat": _spelled(_renamed(input="self", dims="repeats"), "mint.tile", "ops.tile"),
    "rsub": _spelled(_with_other, "mint.sub"),
    "slice": _spelled(_slice, "Tensor.__getitem__"),
    "split_with_sizes": _spelled(_split, "ops.split"),
}
"""Operators that are spelled differently: under another name, or with arguments in another form."""
