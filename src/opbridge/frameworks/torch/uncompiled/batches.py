"""Run an operator under `torch.vmap` by its `batch` rule, for `torch.library.register_vmap`."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from opbridge.base.errors import UnsupportedError
from opbridge.waist.manifest import OpSpec
from opbridge.waist.rules.batches import Sample, batching

if TYPE_CHECKING:
    from torch._functorch.autograd_function import VmapInfo


Dim = int | Sequence[int | None] | None
"""The batch dimension of an argument, or of each of its items."""


class BatchRule:
    """A vmap implementation: one call over all slices if the rule covers it, otherwise one call for each slice."""

    def __init__(self, spec: OpSpec, operator: Callable[..., object]) -> None:
        self.schema = spec.schema
        self.is_declared = spec.rules.batch is not None
        self.operator = operator
        self.batching = batching(spec.rules.batch, spec.rules.out, spec.schema)
        tensors = [place for place, item in enumerate(self.schema.arguments) if item.is_tensor]
        ranks = self.batching.ranks if self.batching else (None,) * len(tensors)
        self.least_ranks = dict(zip(tensors, ranks, strict=True))
        self._has_warned = False

    def __call__(self, info: VmapInfo, in_dims: Sequence[Dim], *args: object, **kwargs: object) -> object:
        """Return the batched results and their batch dimensions."""
        extra = self.batching.extra(self._samples(in_dims, args)) if self.batching else None
        if extra is None:
            results = self._loop(info, in_dims, args, kwargs)
        else:
            results = self._whole(info, in_dims, args, kwargs, extra)
        return (results[0], 0) if len(results) == 1 else (tuple(results), (0,) * len(results))

    def _samples(self, in_dims: Sequence[Dim], args: Sequence[object]) -> Iterator[Sample]:
        for place, (argument, dims) in enumerate(zip(args, in_dims, strict=True)):
            for value, dim in _tensors([argument], [dims]):
                yield self.least_ranks[place], value.ndim - (dim is not None), dim is not None

    def _whole(
        self,
        info: VmapInfo,
        in_dims: Sequence[Dim],
        args: Sequence[object],
        kwargs: Mapping[str, object],
        extra: int,
    ) -> list[Tensor]:
        def lead(least: int, value: Tensor, dim: int | None) -> Tensor:
            value = value.unsqueeze(0) if dim is None else value.movedim(dim, 0)
            padding = (1,) * (least + extra - value.ndim + 1)
            value = value.reshape(value.shape[0], *padding, *value.shape[1:])
            return value.expand(info.batch_size, *value.shape[1:])

        ranks = [self.least_ranks.get(place) for place in range(len(args))]
        given = [
            value if least is None else _mapped(partial(lead, least), value, dim)
            for least, value, dim in zip(ranks, args, in_dims, strict=True)
        ]
        return _listed(self.operator(*given, **kwargs))

    def _loop(
        self, info: VmapInfo, in_dims: Sequence[Dim], args: Sequence[object], kwargs: Mapping[str, object]
    ) -> list[Tensor]:
        if not self.is_declared and not self._has_warned:
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


def _tensors(values: Sequence[Tensor], dims: Sequence[Dim]) -> list[tuple[Tensor, int | None]]:
    found: list[tuple[Tensor, int | None]] = []
    for value, dim in zip(values, dims, strict=True):
        if isinstance(value, Tensor) and not isinstance(dim, Sequence):
            found.append((value, dim))
        elif isinstance(value, (list, tuple)):
            found += _tensors(value, dim if isinstance(dim, (list, tuple)) else [dim] * len(value))
    return found


def _mapped(
    function: Callable[[Tensor, int | None], Tensor],
    value: Tensor | Sequence[Tensor],
    dim: Dim,
) -> object:
    if isinstance(value, Tensor) and not isinstance(dim, Sequence):
        return function(value, dim)
    if isinstance(value, (list, tuple)):
        dims = dim if isinstance(dim, (list, tuple)) else [dim] * len(value)
        return [_mapped(function, *pair) for pair in zip(value, dims, strict=True)]
    return value


def _listed(results: Tensor | Sequence[Tensor]) -> list[Tensor]:
    return [results] if isinstance(results, Tensor) else list(results)
