"""Why a row misses its reach, as profiling found: by the row's name and its peer's."""

from __future__ import annotations

from itertools import product

_TORCH_OPS = (
    "calling through `torch.ops` takes 0.6 µs more: two `__call__` in Python, then PyTorch's own argument parser; "
    "a TORCH_LIBRARY operator goes the same way"
)
_RELU = "twice as fast as this peer is where torch.relu itself is"
_ENGINE = "`Tensor.backward` and the autograd engine take 15 µs of it, for torch.relu as well"
_COMPILER = (
    "g++ takes two thirds: a quarter to read kernel.h (a precompiled one saves 70 ms of 290), the rest for code that "
    "checks a call, at -O3 (-O1 would save 70 more); then imports"
)
_PEERS = ("autograd.Function over pybind11", "custom_op + register_autograd", "C++ autograd::Function")

NOTES: dict[tuple[str, str], str] = {
    **{
        ("cold build to first call, one kernel", peer): _COMPILER
        for peer in ("tvm_ffi.cpp.load_inline", "torch load_inline")
    },
    **{
        ("PyTorch call, 4 floats, no grad: `op.torch(x)`", peer): _TORCH_OPS
        for peer in ("torch.relu", "TORCH_LIBRARY operator")
    },
    **{
        (f"PyTorch call, 4 floats, forward and backward: `{way}`", peer): _ENGINE
        for way, peer in product(("op(x)", "op.torch(x)"), _PEERS)
    },
    ("PyTorch call, 4 floats, forward with grad: `op.torch(x)`", "torch.relu"): _TORCH_OPS,
    ("PyTorch call, 4 floats, forward with grad: `op(x)`", "C++ autograd::Function"): _RELU,
    ("PyTorch call, 4 floats, forward with grad: `op.torch(x)`", "C++ autograd::Function"): _TORCH_OPS,
    ("CUDA twin, 512³ matrix product with `__shared__` tiles, 2 threads", "one block at a time"): (
        "two cores can halve it at most; alone on the machine they do"
    ),
    ("LLTM cell on kernel.h, batch 16, state 128, forward and backward", "C++ over ATen, autograd.Function"): (
        "both spend 20 µs in the autograd engine; three matrix products are 40 µs of the kernel's 55, near what the "
        "core can multiply"
    ),
    ("build a kernel that includes torch/extension.h, from nothing", "torch.utils.cpp_extension.load"): (
        "it compiles with -O3 and leaves a precompiled header for the next build; PyTorch's does not optimize"
    ),
    **{
        ("leaky_relu over 16M floats, given output: `op(x, out=out), NumPy`", peer): (
            "OpenMP's threads of PyTorch and ours share two cores here: its quartiles are as far apart as 1.0x and 1.9x"
        )
        for peer in ("torch.ops.aten.leaky_relu.out", "out.copy_(x)")
    },
    **{
        (f'`ob.aten("leaky_relu")` over 1M floats: MindSpore{graph}', "torch.nn.functional.leaky_relu"): (
            "MindSpore takes new memory for every output; its own operator of the same size takes as long, see below"
        )
        for graph in ("", ", a graph")
    },
    ("an extension with Python bindings, edited", "torch.utils.cpp_extension.load"): (
        "g++ compiles pybind11's own functions anew for every source, which is half of its time; in processor time the "
        "ratio is 1/2.6"
    ),
    ("the same, memory", ""): (
        "PyTorch's dispatcher takes 10 MB for 1,000 operators with one kernel each, 15 MB with those for autograd, "
        "vmap and fake tensors"
    ),
}
