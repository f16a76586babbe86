"""A PyTorch operator in NumPy, by ob.aten."""

import numpy

import opbridge as ob

softshrink = ob.aten("softshrink")
assert softshrink(numpy.full(4, 2, numpy.float32)).tolist() == [1.5] * 4
