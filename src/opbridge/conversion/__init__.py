"""A PyTorch network as readable source of MindSpore or JAX.

exporting      torch.export's graphs of a network, of training and of inference, by the modules they stand in
rendering      one graph as the lines of a function: names, arguments, writes, nested graphs
mindspore, jax one module a framework: the package that the lines stand in
weights        the values, in safetensors' format
checking       the package beside the network: values, gradients, steps of training
locating       the first operator that differs: the source by lines (stepping), PyTorch's graphs by nodes
               (replaying), and each line's gradient by itself (differentiating)
"""
