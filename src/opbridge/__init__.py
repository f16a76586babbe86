"""Write a tensor operator once, call it from PyTorch, MindSpore, JAX, Paddle and NumPy, on CPU, CUDA and Ascend.

import opbridge as ob
lib = ob.load("ops.yaml")
lib.scaled_add(x, y, alpha=2.0)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from opbridge._moved_names import MOVED as _MOVED
from opbridge._moved_names import install as _install_moved_names
from opbridge._version import __version__
from opbridge.base.errors import OpbridgeError

if TYPE_CHECKING:
    from opbridge.analysis.judge import judge
    from opbridge.analysis.profile.profiled_process import profile
    from opbridge.authoring.extensions import extension
    from opbridge.authoring.loading import aot, aten, formula, inline, load, tvm_ffi
    from opbridge.frameworks.torch.autograd import autograd
    from opbridge.frameworks.torch.module import module
    from opbridge.frameworks.torch.onnx import onnx_translations
    from opbridge.models.conversion.convert_module import convert
    from opbridge.waist.op import Op, OpLibrary

_install_moved_names()

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
    "load": "opbridge.authoring.loading",
    "formula": "opbridge.authoring.loading",
    "inline": "opbridge.authoring.loading",
    "aot": "opbridge.authoring.loading",
    "aten": "opbridge.authoring.loading",
    "tvm_ffi": "opbridge.authoring.loading",
    "convert": "opbridge.models.conversion.convert_module",
    "profile": "opbridge.analysis.profile.profiled_process",
    "extension": "opbridge.authoring.extensions",
    "judge": "opbridge.analysis.judge",
    "autograd": "opbridge.frameworks.torch.autograd",
    "module": "opbridge.frameworks.torch.module",
    "onnx_translations": "opbridge.frameworks.torch.onnx",
    "Op": "opbridge.waist.op",
    "OpLibrary": "opbridge.waist.op",
    "load_ipython_extension": "opbridge.cli.notebook",
}


def __getattr__(name: str) -> Any:
    """Import a name on first use, so that `import opbridge` costs next to nothing."""
    import importlib

    if name in _MOVED:
        return importlib.import_module(f"opbridge.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module 'opbridge' has no attribute '{name}'")
    value = getattr(importlib.import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
