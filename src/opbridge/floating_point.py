"""What compilers may take for granted of floating-point arithmetic, wherever opbridge has something compiled for a CPU.

It is what PyTorch compiles its own kernels with.  It frees the compiler of the two ways to report beside the value:
`errno`, and the exceptions that <cfenv> traps or asks for.  Without the first, a root is one instruction; without the
second, a branch may be computed where it is not taken, so that `x > 0 ? x : x * slope` is vector code on every
processor.  Values stay what IEEE 754 says, which -ffast-math would give up.
"""

from __future__ import annotations

FLAGS = ("-fno-math-errno", "-fno-trapping-math")
