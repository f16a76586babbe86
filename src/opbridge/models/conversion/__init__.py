"""Convert a PyTorch network to readable MindSpore or JAX source.

exporting      torch.export graphs of a network, for training and inference, by module
rendering      one graph as the lines of a function: names, arguments, writes, nested graphs
mindspore, jax one module per framework: the package that contains the lines
weights        the values, in the safetensors format
checking       the comparison of the package with the network: values, gradients, training steps
locating       the first operator that differs: it steps through the source by lines (stepping), the PyTorch
               graphs by nodes (replaying), and differentiates each line by itself (differentiating)
"""
