"""Operators in PyTorch where nothing can compile the native adapter: by `torch.library`, slower and never wrong."""
