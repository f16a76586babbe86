"""Run operators in PyTorch by `torch.library` if the native adapter cannot be compiled: slower, but correct."""
