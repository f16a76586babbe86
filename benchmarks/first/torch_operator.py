"""The same in PyTorch, with its gradient."""

import torch
from _scaled import scaled

x = torch.ones(4, requires_grad=True)
scaled(x, 2.5).sum().backward()
assert x.grad is not None
assert x.grad.tolist() == [2.5] * 4
