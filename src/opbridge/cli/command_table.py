"""The commands by group, each with its purpose and examples: one table for the overview, the help and the site."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Command:
    """A command's entry in the overview and in its help."""

    purpose: str
    examples: tuple[str, ...]
    passes_words_on: bool = False
    """Whether all arguments after the first word belong to a subcommand or another program."""


GROUPS: dict[str, dict[str, Command]] = {
    "Create": {
        "new": Command(
            "start a library of operators that builds and passes its tests",
            (
                "opbridge new scaled_add",
                "opbridge new relu --template cpp",
                "opbridge new first --template cuda-program",
            ),
        ),
        "demo": Command(
            "turn a C++ kernel into an operator of every installed framework",
            ("opbridge demo", "opbridge demo --keep demo"),
        ),
        "explain": Command(
            "show what is derived from a formula: rules, gradients, kernels",
            ("opbridge explain ops.yaml", "opbridge explain ops.yaml swiglu --source"),
        ),
        "aten": Command(
            "look up a PyTorch operator and how to call it from other frameworks",
            ("opbridge aten leaky_relu", "opbridge aten --search max pool"),
        ),
    },
    "Build": {
        "build": Command(
            "build the kernels of a manifest",
            ("opbridge build ops.yaml", "opbridge build ops.yaml -o lib", "opbridge build ops.yaml --watch"),
        ),
        "compile": Command(
            "compile one source to one library for any host",
            ("opbridge compile relu.cpp relu_cpu.so", "opbridge compile relu.cu relu.so --device cuda-twin"),
        ),
        "run-build": Command(
            "run the build of a PyTorch extension through the cache, unchanged",
            ("opbridge run-build pip install .", "opbridge run-build python setup.py build_ext"),
            passes_words_on=True,
        ),
        "wheel": Command(
            "make a package that others install without a compiler",
            ("opbridge wheel ops.yaml -o dist", "opbridge wheel ops.yaml --version 1.2.0 --device cuda"),
        ),
        "codegen": Command(
            "generate the sources of a backend from its declarations",
            ("opbridge codegen ops.yaml -o backend", "opbridge codegen ops.yaml -o backend --check"),
        ),
    },
    "Verify": {
        "check": Command(
            "compare operators with references; check gradients, sanitizers",
            (
                "opbridge check ops.yaml",
                "opbridge check ops.yaml --framework torch --sanitize address",
                "opbridge check ops.yaml:relu --reference aten::relu",
            ),
        ),
        "bench": Command(
            "time operators next to a reference and the machine's limits",
            (
                "opbridge bench ops.yaml",
                "opbridge bench ops.yaml --save main",
                "opbridge bench ops.yaml --against main",
            ),
        ),
        "report": Command(
            "write checks and times as one HTML page",
            ("opbridge report ops.yaml -o report.html", "opbridge report --check checks.json --bench times.json"),
        ),
        "judge": Command(
            "check a kernel written by a person or a model against its task",
            (
                "opbridge judge reference.py answer.py",
                "opbridge judge answers --jobs 4 --page verdicts.html",
                "opbridge judge --serve --port 8765",
            ),
        ),
        "port": Command(
            "compare the port of a kernel to another accelerator with the original",
            ("opbridge port check relu.cu relu.cpp", "opbridge port check --shapes 'm k, k n -> m n' mm.cu mm.cpp"),
            passes_words_on=True,
        ),
    },
    "Without hardware": {
        "twin": Command(
            "run unchanged CUDA and Ascend C programs on the CPU, and check them",
            ("opbridge twin nvcc -run main.cu", "opbridge twin run python train.py", "opbridge twin op project"),
            passes_words_on=True,
        ),
        "profile": Command(
            "show what kernels cost on a chip, line by line",
            (
                "opbridge profile --chip h100 ops.yaml",
                "opbridge profile --trace-memory touches.html transpose.cu",
                "opbridge profile --json ops.yaml:relu",
            ),
        ),
    },
    "Models": {
        "scan": Command(
            "list the operators of a PyTorch model that MindSpore lacks, and write them",
            ("opbridge scan train.py", "opbridge scan net:Net --input 2,3,224,224 -o net_ops"),
        ),
        "convert": Command(
            "convert a PyTorch network to MindSpore or JAX",
            (
                "opbridge convert net:Net --input 2,3,8,8 -o net_ms",
                "opbridge convert net:Net --input 2,3,8,8 --to jax --check -o net_jax",
            ),
        ),
    },
    "Set-up": {
        "doctor": Command(
            "report what is installed, what is missing and how to fix it",
            ("opbridge doctor", "opbridge doctor lib/relu_cpu.so", "opbridge doctor --json"),
        ),
        "cache": Command(
            "list, trim or empty the cache of builds; make keys for a shared one",
            ("opbridge cache ls", "opbridge cache gc", "opbridge cache key build.key"),
        ),
        "completion": Command(
            "print a script that completes these commands in a shell",
            (
                'eval "$(opbridge completion bash)"',
                "opbridge completion fish > ~/.config/fish/completions/opbridge.fish",
            ),
        ),
    },
}
"""The order of groups and commands is that of the overview."""

COMMANDS: dict[str, Command] = {name: command for group in GROUPS.values() for name, command in group.items()}

SUBCOMMANDS: dict[str, dict[str, Command]] = {
    "twin": {
        "run": Command(
            "run a program with stand-ins for torch_npu and CANN, and PyTorch's `cuda` on the CPU",
            ("opbridge twin run train.py", "opbridge twin run pytest tests"),
        ),
        "nvcc": Command(
            "compile CUDA programs as nvcc does, for the CPU and with checks",
            ("opbridge twin nvcc main.cu -o main", "opbridge twin nvcc -run main.cu", "opbridge twin nvcc --home"),
        ),
        "op": Command(
            "build an operator project (op_host and op_kernel) for the CPU, and list its operators",
            ("opbridge twin op project", "opbridge twin op project -o out --op ScaledSum"),
        ),
        "cann": Command(
            "write a folder that CMake projects of Ascend C accept as an installed CANN",
            ("opbridge twin cann", "opbridge twin cann build/cann"),
        ),
    },
    "port": {
        "check": Command(
            "run a CUDA kernel and its Ascend C port on the same inputs, and report where they differ",
            (
                "opbridge port check relu.cu relu.cpp",
                "opbridge port check --shapes 'm k, k n -> m n' matmul.cu matmul.cpp",
                "opbridge port check --dtype float16 --launch n=x.numel relu.cu relu.cpp",
            ),
        ),
    },
}
