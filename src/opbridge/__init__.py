"""Write a tensor operator once, call it from PyTorch, MindSpore, JAX, Paddle and NumPy, on CPU, CUDA and Ascend.

import opbridge as ob
lib = ob.load("ops.yaml")
lib.scaled_add(x, y, alpha=2.0)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from opbridge._version import __version__
from opbridge.errors import OpbridgeError

if TYPE_CHECKING:
    from opbridge.conversion.converting import convert
    from opbridge.costs.profiling import profile
    from opbridge.extensions import extension
    from opbridge.frameworks.torch.autograd import autograd
    from opbridge.frameworks.torch.module import module
    from opbridge.frameworks.torch.onnx import onnx_translations
    from opbridge.judging import judge
    from opbridge.loading import aot, aten, formula, inline, load, tvm_ffi
    from opbridge.op import Op, OpLibrary

__all__ = [
    "Op",
    "OpLibrary",
    "OpbridgeError",
    "__version__",
    "aot",
    "aten",
    "autograd",
    "convert",
    "extension",
    "formula",
    "inline",
    "judge",
    "load",
    "module",
    "onnx_translations",
    "profile",
    "tvm_ffi",
]

_HOMES = {
    "load": "opbridge.loading",
    "formula": "opbridge.loading",
    "inline": "opbridge.loading",
    "aot": "opbridge.loading",
    "aten": "opbridge.loading",
    "tvm_ffi": "opbridge.loading",
    "convert": "opbridge.conversion.converting",
    "profile": "opbridge.costs.profiling",
    "extension": "opbridge.extensions",
    "judge": "opbridge.judging",
    "autograd": "opbridge.frameworks.torch.autograd",
    "module": "opbridge.frameworks.torch.module",
    "onnx_translations": "opbridge.frameworks.torch.onnx",
    "Op": "opbridge.op",
    "OpLibrary": "opbridge.op",
    "load_ipython_extension": "opbridge.notebook",
}


def __getattr__(name: str) -> Any:
    """Import a name on first use, so that `import opbridge` costs next to nothing."""
    if name not in _HOMES:
        raise AttributeError(f"module 'opbridge' has no attribute '{name}'")
    import importlib

    value = getattr(importlib.import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
