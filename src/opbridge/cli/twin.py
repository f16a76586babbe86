"""opbridge twin: run unmodified programs for an accelerator on the CPU; one module per subcommand."""

from __future__ import annotations

from opbridge.cli.subcommands import Subcommands

SUBCOMMANDS = {
    "run": "run a program with stand-ins for torch_npu and CANN, and PyTorch's `cuda` on the CPU",
    "nvcc": "compile CUDA programs as nvcc does, for the CPU and with checks",
    "op": "build an operator project (op_host and op_kernel) for the CPU, and say what is in it",
    "cann": "write a folder that CMake projects of Ascend C take for an installed CANN",
}

_subcommands = Subcommands("twin", SUBCOMMANDS)
add_arguments = _subcommands.add_arguments
run = _subcommands.run
