"""Run an operator under `torch.vmap` by its `batch` rule, for `torch.library.register_vmap`."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from opbridge.base.errors import UnsupportedError
from opbridge.waist.manifest import OpSpec
from opbridge.waist.rules.dimensions import DOTS, Dimensions
from opbridge.waist.rules.outputs import Like


class BatchRule:
    """A vmap implementation: one call over all slices if the rule covers it, otherwise one call for each slice."""

    def __init__(self, spec: OpSpec, operator: Callable[..., Any]) -> None:
        self.schema = spec.schema
        self.batch = spec.rules.batch
        self.operator = operator
        self.broadcasts = not any(isinstance(rule, Like) for rule in spec.rules.out)
        leads = self.batch.inputs if isinstance(self.batch, Dimensions) else ()
        tensors = [item.name for item in self.schema.tensor_arguments]
        self.leading = {name for name, group in zip(tensors, leads, strict=False) if DOTS in group}
        self._has_warned = False

    def __call__(self, info: Any, in_dims: Sequence[Any], *args: Any, **kwargs: Any) -> Any:
        """Return the batched results and their batch dimensions."""
        results = self._whole(info, in_dims, args, kwargs) if self._covers(in_dims, args) else None
        if results is None:
            results = self._loop(info, in_dims, args, kwargs)
        return (results[0], 0) if len(results) == 1 else (tuple(results), (0,) * len(results))

    def _covers(self, in_dims: Sequence[Any], args: Sequence[Any]) -> bool:
        if self.batch == "elementwise":
            ranks = {_rank(value, dim) for value, dim in _tensors(args, in_dims)}
            return len(ranks) == 1 or self.broadcasts
        if not isinstance(self.batch, Dimensions):
            return False
        names = [item.name for item in self.schema.arguments]
        fixed = [place for place in range(len(args)) if names[place] not in self.leading]
        return all(dim is None for place in fixed for _, dim in _tensors([args[place]], [in_dims[place]]))

    def _whole(self, info: Any, in_dims: Sequence[Any], args: Sequence[Any], kwargs: Any) -> list[Tensor]:
        rank = max(_rank(value, dim) for value, dim in _tensors(args, in_dims))
        names = [item.name for item in self.schema.arguments]

        def lead(value: Tensor, dim: int | None) -> Tensor:
            value = value.unsqueeze(0) if dim is None else value.movedim(dim, 0)
            if self.batch == "elementwise":
                value = value.reshape(value.shape[0], *(1,) * (rank - value.ndim + 1), *value.shape[1:])
            return value.expand(info.batch_size, *value.shape[1:])

        given = [
            _mapped(lead, value, dim) if self.batch == "elementwise" or names[place] in self.leading else value
            for place, (value, dim) in enumerate(zip(args, in_dims, strict=True))
        ]
        return _listed(self.operator(*given, **kwargs))

    def _loop(self, info: Any, in_dims: Sequence[Any], args: Sequence[Any], kwargs: Any) -> list[Tensor]:
        if self.batch is None and not self._has_warned:
            self._has_warned = True
            warnings.warn(
                f"{self.schema.full_name} has no `batch` rule that covers this call: vmap runs it once for each of "
                f"the {info.batch_size} slices. Say `batch: elementwise` or a pattern such as `... h, h -> ... h` to "
                "make it one call, or `batch: loop` to accept it.",
                stacklevel=2,
            )
        if info.batch_size == 0:
            raise UnsupportedError(
                f"{self.schema.full_name}: vmap over zero slices needs a `batch` rule other than loop"
            )

        def slice_of(k: int) -> Callable[[Tensor, int | None], Tensor]:
            return lambda value, dim: value if dim is None else value.select(dim, k)

        slices = [
            _listed(self.operator(*(_mapped(slice_of(k), *pair) for pair in zip(args, in_dims, strict=True)), **kwargs))
            for k in range(info.batch_size)
        ]
        return [torch.stack(column) for column in zip(*slices, strict=True)]


def _tensors(values: Sequence[Any], dims: Sequence[Any]) -> list[tuple[Tensor, int | None]]:
    found: list[tuple[Tensor, int | None]] = []
    for value, dim in zip(values, dims, strict=True):
        if isinstance(value, Tensor):
            found.append((value, dim))
        elif isinstance(value, (list, tuple)):
            found += _tensors(value, dim if isinstance(dim, (list, tuple)) else [dim] * len(value))
    return found


def _mapped(function: Callable[[Tensor, int | None], Tensor], value: Any, dim: Any) -> Any:
    if isinstance(value, Tensor):
        return function(value, dim)
    if isinstance(value, (list, tuple)):
        dims = dim if isinstance(dim, (list, tuple)) else [dim] * len(value)
        return [_mapped(function, *pair) for pair in zip(value, dims, strict=True)]
    return value


def _rank(value: Tensor, dim: int | None) -> int:
    return int(value.ndim) - (dim is not None)


def _listed(results: Any) -> list[Tensor]:
    return [results] if isinstance(results, Tensor) else list(results)
