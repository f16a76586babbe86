"""Other ways to call a C++ kernel, each as in its own documentation; compiled once below build/."""

from __future__ import annotations

import ctypes
import importlib.util
import subprocess
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
KERNELS = Path(__file__).resolve().parent / "kernels"
WORK = ROOT / "build" / "bench-peers"

Function = Callable[..., Any]

NEEDED = {"torch": "pip install torch ninja setuptools", "tvm-ffi": "pip install apache-tvm-ffi ninja"}
_MODULES = {"torch": ("torch", "ninja", "setuptools"), "tvm-ffi": ("tvm_ffi", "ninja")}


def missing(peer: str) -> str:
    """Return how to install what a peer needs, or nothing if it is installed."""
    absent = any(importlib.util.find_spec(module) is None for module in _MODULES[peer])
    return NEEDED[peer] if absent else ""


def folder(name: str) -> Path:
    path = WORK / name
    path.mkdir(parents=True, exist_ok=True)
    return path


@cache
def torch_extension() -> Any:
    """Build all PyTorch code in one extension: its headers alone take half a minute."""
    from torch.utils import cpp_extension

    build = folder("torch")
    # A killed build leaves its lock, and the next build would wait for it forever.
    (build / "lock").unlink(missing_ok=True)
    return cpp_extension.load(
        "bench_peers", [str(KERNELS / "peers.cpp")], build_directory=str(build), extra_cflags=["-O3", "-fopenmp"]
    )


@cache
def tvm_function() -> Function:
    import tvm_ffi.cpp

    module = tvm_ffi.cpp.load_inline(
        "leaky_relu",
        cpp_sources=(KERNELS / "leaky_relu_tvm.cpp").read_text(),
        functions="leaky_relu",
        build_directory=str(folder("tvm")),
    )
    function: Function = module.leaky_relu
    return function


@cache
def ctypes_function() -> Function:
    """Return a C function of arrays, whose argument types check their arguments like opbridge."""
    import numpy as np

    library = folder("ctypes") / "leaky_relu.so"
    compile_c(KERNELS / "leaky_relu.c", library)
    native = ctypes.CDLL(str(library)).leaky_relu
    floats = np.ctypeslib.ndpointer(np.float32, flags="C_CONTIGUOUS")
    native.argtypes = (floats, floats, ctypes.c_int64, ctypes.c_double)
    native.restype = None

    def leaky_relu(x: Any, out: Any, slope: float = 0.01) -> Any:
        native(x, out, x.size, slope)
        return out

    return leaky_relu


def compile_c(source: Path, library: Path) -> None:
    subprocess.run(["gcc", "-O3", "-shared", "-fPIC", str(source), "-o", str(library)], check=True)


def autograd_over_pybind() -> Function:
    """Return a torch.autograd.Function in Python around two functions of a C++ extension."""
    import torch

    extension = torch_extension()

    class LeakyRelu(torch.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(context: Any, x: Any, slope: float) -> Any:
            context.save_for_backward(x)
            context.slope = slope
            return extension.forward(x, slope)

        @staticmethod
        def backward(context: Any, grad: Any) -> Any:
            (x,) = context.saved_tensors
            return extension.backward(grad, x, context.slope), None

    apply = LeakyRelu.apply

    def leaky_relu(x: Any, slope: float = 0.01) -> Any:
        return apply(x, slope)

    return leaky_relu


@cache
def custom_op() -> Function:
    """Return a torch.library.custom_op with register_autograd, as PyTorch recommends for Python."""
    import torch

    extension = torch_extension()

    def leaky_relu(x: Any, slope: float = 0.01) -> Any:
        return extension.forward(x, slope)

    def save(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(inputs[0])
        ctx.slope = inputs[1]

    def backward(ctx: Any, grad: Any) -> Any:
        return extension.backward(grad, ctx.saved_tensors[0], ctx.slope), None

    name, schema = "bench_peers::leaky_relu_custom", "(Tensor x, float slope=0.01) -> Tensor"
    operator: Any = torch.library.custom_op(name, leaky_relu, mutates_args=(), schema=schema)
    operator.register_autograd(backward, setup_context=save)
    function: Function = operator
    return function
