"""Scan the operators that a PyTorch model computes, and find how many of them MindSpore has.

`recording` watches a model run. `probe` tries its calls in MindSpore, in a separate process. `writing` makes a
package of the missing operators.
"""
