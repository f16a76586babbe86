"""An operator from C++, in NumPy."""

import numpy
from _scaled import scaled

assert scaled(numpy.ones(4, numpy.float32), 2.5).tolist() == [2.5] * 4
