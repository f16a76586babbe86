"""The rewriting of CUDA extensions into C++ for the headers of the twin; every line keeps its number.

    __global__ void k(int n) { body }     void k(int n) { launch(..., [=]() mutable { body }); }
    ... { if (i < n) body }               launch(..., [=](passed) mutable { if (passed || i < n) body }, [=] { i < n })
    { a; __syncthreads(); b }             launch_in_phases(..., [=] { each thread: a; each thread: b });
    k<<<grid, block>>>(n)                 (configure(grid, block), k(n), launched())
    __shared__ float t[32];               struct s { float t[32]; }; auto& b = shared<s>(...); auto& t = b.t;
    extern __shared__ float t[];          auto* const t = dynamic_shared<float[]>();

`__CUDA_ARCH__` is defined only in the bodies of device functions. Everything is compiled once, so outside of these
bodies the source must read as in a compiler's pass over host code. Text in a branch that the preprocessor drops is
harmless, so features that the twin lacks become preprocessor errors.
"""

from __future__ import annotations

from opbridge.twins.cuda.rewriting.replaced_words import ARCHITECTURE
from opbridge.twins.cuda.rewriting.rewriter import Rewriter
from opbridge.twins.cuda.rewriting.translation_unit import Unit

__all__ = ["ARCHITECTURE", "Unit", "rewrite"]


def rewrite(source: str, file: str, unit: Unit) -> str:
    """Return the C++ text of a CUDA source, with the same number of lines."""
    return Rewriter(source, file, unit).run()
