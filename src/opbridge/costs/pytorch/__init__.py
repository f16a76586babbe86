"""What a model of PyTorch costs: the kernels of CUDA that it brings, and PyTorch's own operators around them.

The model runs at its own sizes without being computed: of each kernel the blocks that are counted run and no others,
and PyTorch's operators only say what comes out of them.
"""
