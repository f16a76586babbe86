"""A C++ extension of PyTorch's, by ob.extension."""

import torch

import opbridge as ob

twice = ob.extension("twice", cpp_sources="torch::Tensor twice(torch::Tensor x) { return 2 * x; }", functions=["twice"])
assert twice.twice(torch.ones(4)).tolist() == [2] * 4
