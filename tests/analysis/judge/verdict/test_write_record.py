"""What the twin records of writes to memory, and who computed an output by that."""

from __future__ import annotations

import numpy as np
import pytest

from opbridge.analysis.judge.process.record_channel import Write
from opbridge.analysis.judge.values import Array
from opbridge.analysis.judge.verdict.write_record import Output, is_one_step_from, is_only_moved

RIGHT, INPUT = np.float32([1.5, -2.25, 3.75, 8.0]), np.float32([5.0, 6.0, 7.0, 8.5])
OUTPUT = Output(Array("float64", (2, 2), RIGHT.astype(np.float64).tobytes()), Array("float32", (2, 2), RIGHT.tobytes()))
PADDED = RIGHT.tobytes() + bytes(240)


def by_kernel(numbers: np.ndarray, dtype: type = np.float32) -> Write:
    return Write(True, numbers.astype(dtype).tobytes())


def by_others(numbers: np.ndarray) -> Write:
    return Write(False, numbers.tobytes())


@pytest.mark.parametrize(
    ("writes", "is_moved"),
    [
        # PyTorch, the host or an earlier call computed it, and a kernel copies it.
        ([by_others(RIGHT), by_kernel(RIGHT)], True),
        ([by_others(INPUT), by_kernel(INPUT), by_others(RIGHT), by_kernel(RIGHT)], True),
        ([Write(False, PADDED), by_kernel(RIGHT)], True),
        # A kernel computes it from other numbers.
        ([by_others(INPUT), by_kernel(RIGHT)], False),
        # A kernel computes it in another type or order, and PyTorch and a kernel bring it into this one.
        ([by_kernel(RIGHT, np.float64), by_others(RIGHT), by_kernel(RIGHT)], False),
        ([by_kernel(RIGHT.astype(np.float16), np.float16), by_others(RIGHT), by_kernel(RIGHT)], False),
        ([by_kernel(RIGHT[::-1]), by_others(RIGHT), by_kernel(RIGHT)], False),
        # PyTorch ends what kernels begin, as the sum of what each block has.
        ([by_kernel(INPUT), by_others(RIGHT)], False),
    ],
)
def test_who_computes_an_output(writes: list[Write], is_moved: bool) -> None:
    assert is_only_moved(OUTPUT, writes) is is_moved


def test_zeros_and_masks_tell_nothing() -> None:
    assert OUTPUT.is_telling
    for shown in (np.zeros(4), np.array([0.0, 1.0, 1.0, 0.0])):
        one = Array("float64", (4,), shown.tobytes())
        assert not Output(one, one).is_telling


def floats(numbers: np.ndarray) -> Array:
    return Array("float32", numbers.shape, numbers.astype(np.float32).tobytes())


X = np.linspace(-3, 4, 64)[np.random.default_rng(1).permutation(64)]


@pytest.mark.parametrize(
    ("right", "by_others", "is_so"),
    [
        (np.maximum(X, 0), -np.maximum(X, 0) * 2, True),
        (np.exp(X) / np.exp(X).sum(), X - np.log(np.exp(X).sum()), False),  # of a single row, the input tells as much
        (np.sin(X), -np.sin(X) + 1, True),
        (np.sin(X), np.cos(X), False),
        (np.sin(X), X[::-1], False),
        (np.tanh(X), X, False),
        (np.tanh(X), X.astype(np.float16), False),
        (np.maximum(X, 0), X, False),
    ],
)
def test_a_last_step_of_each_element(right: np.ndarray, by_others: np.ndarray, is_so: bool) -> None:
    output = Output(Array("float64", X.shape, right.tobytes()), floats(right))
    assert is_one_step_from(output, [floats(by_others)], [floats(X)]) is is_so
