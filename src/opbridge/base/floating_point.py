"""The floating-point assumptions for everything that opbridge compiles for a CPU.

PyTorch compiles its own kernels with the same flags. They disable the two ways of reporting errors other than by value:
`errno`, and the exceptions that <cfenv> traps or queries. Without the first, a square root is one instruction. Without
the second, both branches may be computed, so that `x > 0 ? x : x * slope` is vectorized on every CPU. Values remain
those of IEEE 754, unlike with -ffast-math.
"""

from __future__ import annotations

FLAGS = ("-fno-math-errno", "-fno-trapping-math")
