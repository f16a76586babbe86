"""Sparse tensors of the device: PyTorch's kernels for the CPU, on the memory of their parts."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

pytestmark = pytest.mark.filterwarnings("ignore:Sparse")  # CSR is in beta, and nothing checks invariants

DENSE = torch.tensor([[0.0, 2.0, 0.0], [3.0, 0.0, 0.0]])
OTHER = torch.arange(6.0).reshape(3, 2)


@pytest.mark.parametrize("layout", [torch.sparse_coo, torch.sparse_csr, torch.sparse_csc])
def test_they_come_from_the_device_and_from_the_host(layout: torch.layout) -> None:
    for sparse in (DENSE.cuda().to_sparse(layout=layout), DENSE.to_sparse(layout=layout).cuda()):
        assert (sparse.layout, sparse.device, sparse.values().device) == (layout, *[torch.device("cuda:0")] * 2)
        assert torch.equal(sparse.to_dense().cpu(), DENSE)
        assert torch.equal(sparse.cpu().to_dense(), DENSE)
        assert torch.equal((sparse @ OTHER.cuda()).cpu(), DENSE @ OTHER)


def test_they_are_made_of_parts() -> None:
    places, values = torch.tensor([[0, 1], [1, 0]]), torch.tensor([2.0, 3.0])
    sparse = torch.sparse_coo_tensor(places, values, (2, 3), device="cuda")
    assert torch.equal(sparse.to_dense().cpu(), DENSE)
    rows = torch.sparse_csr_tensor(torch.tensor([0, 1, 2]), places[1], values, (2, 3), device="cuda")
    assert torch.equal(rows.to_dense().cpu(), DENSE)


def test_their_values_are_the_devices_memory() -> None:
    sparse = DENSE.cuda().to_sparse()
    sparse.values().mul_(2)
    assert sparse.values().is_cuda
    assert torch.equal(sparse.to_dense().cpu(), 2 * DENSE)


@pytest.mark.parametrize(
    "write", [lambda x: x.add_(x), lambda x: x.mul_(2.0), lambda x: x.copy_((2 * DENSE).to_sparse())]
)
def test_they_are_written_in_place(write: Callable[[torch.Tensor], torch.Tensor]) -> None:
    sparse = DENSE.cuda().to_sparse()
    assert write(sparse) is sparse
    assert torch.equal(sparse.to_dense().cpu(), 2 * DENSE)


def test_gradients_pass_through_them() -> None:
    other = OTHER.cuda().requires_grad_()
    torch.sparse.mm(DENSE.cuda().to_sparse(), other).sum().backward()
    assert other.grad is not None
    assert torch.equal(other.grad.cpu(), DENSE.T @ torch.ones(2, 2))


def test_an_embedding_learns_by_sparse_gradients() -> None:
    table = torch.nn.Embedding(5, 2, sparse=True).cuda()
    before = table.weight.detach().cpu()
    table(torch.tensor([1, 1], device="cuda")).sum().backward()
    torch.optim.SGD(table.parameters(), lr=0.5).step()
    expected = before.clone()
    expected[1] -= 1
    assert torch.allclose(table.weight.detach().cpu(), expected)
