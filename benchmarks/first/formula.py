"""A formula, in NumPy."""

import numpy

import opbridge as ob

swiglu = ob.formula("first::swiglu(Tensor x, Tensor gate) -> Tensor", "x * sigmoid(x) * gate")
assert swiglu(numpy.zeros(4), numpy.ones(4)).tolist() == [0] * 4
