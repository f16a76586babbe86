"""Which calls one call with a leading batch dimension can compute, by the `batch` rule."""

from __future__ import annotations

import pytest

from opbridge.waist.rules import Rules
from opbridge.waist.rules.batches import Batching, batching
from opbridge.waist.schema import Schema

SCHEMA = Schema.parse("m::f(Tensor x, Tensor y) -> Tensor")
ROWS = {"shape": "broadcast(x, y)[:-1]", "dtype": "x.dtype"}


def found(batch: str, out: object) -> Batching | None:
    rules = Rules.parse({"out": out, "batch": batch}, SCHEMA)
    return batching(rules.batch, rules.out, SCHEMA)


@pytest.mark.parametrize(
    ("batch", "out", "expected"),
    [
        ("elementwise", "x", Batching((0, 0), broadcasts=False)),
        ("elementwise", "broadcast(x, y)", Batching((0, 0), broadcasts=True)),
        ("... h, ... h -> ...", ROWS, Batching((1, 1), broadcasts=True)),
        ("... h, ... h -> ...", {**ROWS, "shape": "x.shape[:-1]"}, Batching((1, 1), broadcasts=False)),
        ("... m k, ... k n -> ... m n", ROWS, Batching((2, 2), broadcasts=False)),
        ("... h, h -> ... h", "x", Batching((1, None), broadcasts=False)),
        ("loop", "x", None),
    ],
)
def test_what_a_rule_says(batch: str, out: object, expected: Batching | None) -> None:
    assert found(batch, out) == expected


@pytest.mark.parametrize(
    ("batching", "ranks", "extra"),
    [
        (Batching((1, 1), broadcasts=False), (3, 3), 2),
        (Batching((1, 1), broadcasts=False), (3, 2), None),  # which the kernel would not align
        (Batching((1, 1), broadcasts=True), (3, 0), 2),
        (Batching((1, 1), broadcasts=True), (0, 0), None),  # a batch would be what is reduced
        (Batching((1, None), broadcasts=False), (1, 1), None),  # a batch of what takes none
    ],
)
def test_samples_of_these_ranks_by_one_call(batching: Batching, ranks: tuple[int, ...], extra: int | None) -> None:
    assert batching.extra((least, rank, True) for least, rank in zip(batching.ranks, ranks, strict=True)) == extra
