"""What a PyTorch model computes, operator by operator, and how much of it MindSpore has.

`recording` watches a model run, `probe` tries its calls in MindSpore in a process of its own, `writing` makes a package
of what is missing.
"""
