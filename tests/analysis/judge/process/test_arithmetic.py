"""The operations of PyTorch operators, which are the work of a task and what an answer leaves to PyTorch."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as functional

from opbridge.analysis.judge.process.operator_modes import Operators

X, W = torch.rand(4, 8), torch.rand(16, 8)
IMAGES, WINDOWS = torch.rand(2, 3, 8, 8), torch.rand(5, 3, 3, 3)


@pytest.mark.parametrize(
    ("called", "operations"),
    [
        (lambda: X @ W.t(), 2 * 4 * 16 * 8),
        (lambda: functional.linear(X, W, torch.rand(16)), 2 * 4 * 16 * 8),
        (lambda: functional.conv2d(IMAGES, WINDOWS), 2 * 2 * 5 * 6 * 6 * 3 * 3 * 3),
        (lambda: torch.relu(X) * 2, 2 * X.numel()),
        (lambda: X.sum(), X.numel()),
        (lambda: torch.argmax(X, 1), X.numel()),
        (lambda: functional.scaled_dot_product_attention(*[torch.rand(1, 2, 4, 8)] * 3), 2 * 2 * 2 * 4 * 4 * 8),
        # What PyTorch's own counter leaves out.
        (lambda: torch.cdist(X, W, compute_mode="donot_use_mm_for_euclid_dist"), 2 * 4 * 16 * 8),
        (lambda: functional.embedding_bag(torch.zeros(3, 5, dtype=torch.int64), W), 2 * 3 * 5 * 8),
        (lambda: functional.bilinear(X, torch.rand(4, 2), torch.rand(7, 8, 2)), 2 * 4 * 7 * 8 * 2),
        (lambda: torch.linalg.inv_ex(IMAGES[0]), 3 * 8 * 8 * 8),
        # What is made up of several operators counts as these, one of which an answer may leave to PyTorch.
        (lambda: torch.softmax(X, 1), 4 * X.numel()),
        (lambda: functional.mse_loss(X, X), 3 * X.numel()),
        (lambda: X.t().contiguous(), 0),
        (lambda: torch.cat([X, X])[:, 1:].clone(), 0),
        (lambda: torch.zeros_like(X).copy_(X).to(torch.float16), 0),
    ],
)
def test_operations_of_operators(called: Callable[[], torch.Tensor], operations: int) -> None:
    with torch.no_grad(), Operators() as seen:
        called()
    assert seen.operations == operations
