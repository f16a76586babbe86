"""The meaning of a `batch` rule for one call with all samples of a batch."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from opbridge.waist.rules.dimensions import ANONYMOUS, DOTS, Batch
from opbridge.waist.rules.outputs import Like, OutRule, ShapeDtype
from opbridge.waist.rules.syntax import Call
from opbridge.waist.schema import Schema

Sample = tuple[int | None, int, bool]
"""The least rank of an argument as in `Batching.ranks`, the rank of one sample of it, and whether there is a batch."""


@dataclass(frozen=True)
class Batching:
    """The conditions under which one call computes all samples, with the batch as first dimension."""

    ranks: tuple[int | None, ...]
    """The number of dimensions that a sample of each tensor argument has at least; None if it takes no batch."""
    broadcasts: bool
    """Whether tensors that take a batch may differ in rank: the smaller ones are padded after the batch."""

    def extra(self, samples: Iterable[Sample]) -> int | None:
        """Return how many dimensions each tensor has before those of the rule; None if samples need calls of their own.

        A sample with fewer dimensions than the rule names does not have the last ones, and a batch would take their
        place.
        """
        extras = []
        for least, rank, has_batch in samples:
            if least is not None:
                extras.append(rank - least)
            elif has_batch:
                return None
        fits = len(set(extras)) == 1 or (bool(extras) and self.broadcasts)
        return max(extras) if fits and max(extras) >= 0 else None


def batching(batch: Batch | None, out: Sequence[OutRule], schema: Schema) -> Batching | None:
    """Return what the rule says; None if every sample needs a call of its own."""
    if batch is None or batch == "loop":
        return None
    if isinstance(batch, str):
        return Batching((0,) * len(schema.tensor_arguments), _makes_its_outputs(out, schema))
    ranks = tuple(len(group) - 1 if DOTS in group else None for group in batch.inputs)
    leading = {group for group in batch.inputs if DOTS in group}
    is_paired = len(leading) == 1 and not any(ANONYMOUS in group for group in leading)
    return Batching(ranks, is_paired and _makes_its_outputs(out, schema) and all(map(_broadcasts, out)))


def _makes_its_outputs(out: Sequence[OutRule], schema: Schema) -> bool:
    """Return whether no output has the shape of one argument, whose rank a padded batch could exceed."""
    is_new = all(schema.aliased_argument(output) is None for output in schema.returns)
    return bool(out) and is_new and not any(isinstance(rule, Like) for rule in out)


def _broadcasts(rule: OutRule) -> bool:
    if not isinstance(rule, ShapeDtype):
        return False
    return any(isinstance(node, Call) and node.name == "broadcast" for node in rule.shape.walk())
