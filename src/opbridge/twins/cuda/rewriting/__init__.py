"""Turns CUDA's extensions into C++ that the twin's headers understand; every line stays where it was.

    __global__ void k(int n) { body }     void k(int n) { launch(..., [=]() mutable { body }); }
    ... { if (i < n) body }               launch(..., [=](passed) mutable { if (passed || i < n) body }, [=] { i < n })
    { a; __syncthreads(); b }             launch_in_phases(..., [=] { each thread: a; each thread: b });
    k<<<grid, block>>>(n)                 (configure(grid, block), k(n), launched())
    __shared__ float t[32];               struct s { float t[32]; }; auto& b = shared<s>(...); auto& t = b.t;
    extern __shared__ float t[];          auto* const t = dynamic_shared<float[]>();

`__CUDA_ARCH__` is defined in the bodies of device functions and nowhere else: everything is compiled once, so outside
of them the source has to read as it does in a compiler's pass over the host code.  Whatever stands in a branch that the
preprocessor drops is harmless, so what the twin lacks becomes an error of the preprocessor.
"""

from __future__ import annotations

from opbridge.twins.cuda.rewriting.rewriter import Rewriter
from opbridge.twins.cuda.rewriting.unit import Unit
from opbridge.twins.cuda.rewriting.words import ARCHITECTURE

__all__ = ["ARCHITECTURE", "Unit", "rewrite"]


def rewrite(source: str, file: str, unit: Unit) -> str:
    """The C++ for a CUDA source, with as many lines."""
    return Rewriter(source, file, unit).run()
