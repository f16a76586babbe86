"""Write the support table of docs/support.md and docs/support.zh.md, in which every "tested" names its tests.

`python tools/support_table.py` writes both pages; tests/test_support_table.py compares them with this table.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGES = {"en": ROOT / "docs" / "support.md", "zh": ROOT / "docs" / "support.zh.md"}
COLUMNS = ("NumPy", "PyTorch", "MindSpore", "JAX", "Paddle")
_BLOCK = re.compile(r"(?<=<!-- support: begin -->\n).*?(?=<!-- support: end -->)", re.DOTALL)


@dataclass(frozen=True)
class Cell:
    en: str
    zh: str
    tests: str = ""
    """The tests, below tests/; empty if it is not tested."""


@dataclass(frozen=True)
class Row:
    en: str
    zh: str
    cells: tuple[Cell, ...]


NONE = Cell("", "")


def held(tests: str, en: str = "", zh: str = "") -> Cell:
    return Cell(f"tested ({en})" if en else "tested", f"已测试（{zh}）" if zh else "已测试", tests)


def not_run(en: str, zh: str, tests: str) -> Cell:
    """Return the cell of code for hardware that no test has had; the tests check what can be checked without it."""
    return Cell(f"{en}; **not yet run on hardware**", f"{zh}；**尚未在硬件上运行**", tests)


WITHOUT = ("also without opbridge", "运行时可不依赖 opbridge")
NVCC = ("compiles with nvcc for sm_80, 90, 100", "可用 nvcc 编译（sm_80、90、100）")

ROWS = (
    Row(
        "formulas: kernel and gradient generated",
        "公式：自动生成核函数与梯度",
        (
            held("waist/formulas/test_formulas.py"),
            held("waist/formulas/test_formulas.py"),
            held("waist/formulas/test_formulas.py"),
            held("waist/formulas/test_formulas.py"),
            Cell("as any kernel", "同其他核函数"),
        ),
    ),
    Row(
        "C++ kernels on the CPU",
        "CPU 上的 C++ 核函数",
        (
            held("frameworks/numpy/test_values.py"),
            held("frameworks/torch/test_values.py", "2.13; 2.10 to 2.15 compile", "2.13；2.10 至 2.15 可编译"),
            held("frameworks/mindspore/test_values.py", "2.10, CPU", "2.10，CPU"),
            held("frameworks/jax/test_values.py", "0.6 and newest", "0.6 与最新版"),
            held("frameworks/paddle/test_values.py", "3.3", "3.3"),
        ),
    ),
    Row(
        "libraries with the aot entry point, also with the MindSpore attribute block",
        "带 aot 入口的动态库，含 MindSpore 属性块（AotExtra）",
        (
            held("native/test_aot_block.py"),
            held("native/test_aot_block.py"),
            held("frameworks/mindspore/test_aot.py"),
            Cell("those with the plain call", "仅普通 aot 入口"),
            NONE,
        ),
    ),
    Row(
        "PyTorch operators: `ob.aten(name)`, `kernels: {cpu: aten::name}`",
        "PyTorch 算子：`ob.aten(name)`、`kernels: {cpu: aten::name}`",
        (
            held("frameworks/aten/test_numpy.py"),
            held("frameworks/aten/test_manifest.py"),
            held("frameworks/mindspore/test_aten.py"),
            held("frameworks/jax/test_aten.py"),
            NONE,
        ),
    ),
    Row(
        "C++ files that include `torch/extension.h`",
        "包含 `torch/extension.h` 的 C++ 文件",
        (
            held("build/toolchains/test_torch_sources.py"),
            held("build/toolchains/test_torch_sources.py"),
            held("include/test_ms_ext.py", *WITHOUT),
            Cell("as any kernel", "同其他核函数"),
            NONE,
        ),
    ),
    Row(
        "PyTorch extensions as Python modules; CUDA extensions in the twin",
        "PyTorch 扩展作为 Python 模块；CUDA 扩展由孪生运行",
        (NONE, held("authoring/test_extensions.py"), NONE, NONE, NONE),
    ),
    Row(
        "CUDA kernels on the CPU, in the twin",
        "CPU 上的 CUDA 核函数（孪生）",
        (
            held("frameworks/test_cuda_twin.py"),
            held("frameworks/test_cuda_twin.py"),
            held("cli/test_compile.py", *WITHOUT),
            held("frameworks/test_cuda_twin.py"),
            Cell("as any kernel", "同其他核函数"),
        ),
    ),
    Row(
        "a simulated `cuda` device, and unchanged CUDA extensions",
        "没有 GPU 的 `cuda` 设备，CUDA 扩展无需修改",
        (NONE, held("twins/cuda/torch_device/test_cuda_twin.py"), NONE, NONE, NONE),
    ),
    Row(
        "CUDA kernels on a GPU",
        "GPU 上的 CUDA 核函数",
        (
            NONE,
            held("on_gpu/test_torch.py", "by hand, on an H100", "手动，H100"),
            not_run(*NVCC, "build/toolchains/test_nvcc.py"),
            not_run("compiles", "可编译", "on_gpu/test_jax.py"),
            NONE,
        ),
    ),
    Row(
        "Ascend C kernels on the CPU, in the twin",
        "CPU 上的 Ascend C 核函数（孪生）",
        (
            held("build/sources/test_ascend.py"),
            held("build/sources/test_ascend.py"),
            held("build/sources/test_ascend.py", *WITHOUT),
            held("build/sources/test_ascend.py"),
            Cell("as any kernel", "同其他核函数"),
        ),
    ),
    Row(
        "Ascend C kernels on an NPU",
        "NPU 上的 Ascend C 核函数",
        (
            NONE,
            not_run("CANN's command lines are built", "已生成 CANN 编译命令", "build/toolchains/test_bisheng.py"),
            NONE,
            NONE,
            NONE,
        ),
    ),
    Row(
        "a simulated `npu`, and programs written for torch_npu",
        "模拟的 `npu` 设备，以及为 torch_npu 编写的程序",
        (NONE, held("twins/ascend/torch_device/test_npu.py"), NONE, NONE, NONE),
    ),
    Row(
        "a whole PyTorch network converted",
        "转换完整的 PyTorch 网络",
        (
            NONE,
            NONE,
            held("models/conversion/test_conversion.py", "CPU", "CPU"),
            held("models/conversion/test_conversion.py", "CPU", "CPU"),
            NONE,
        ),
    ),
    Row(
        "CUDA kernels judged against a reference",
        "对照参考实现评判 CUDA 核函数",
        (NONE, held("analysis/judge/test_judging.py", "in the twin", "由孪生运行"), NONE, NONE, NONE),
    ),
    Row(
        "tvm-ffi libraries",
        "tvm-ffi 的动态库",
        (
            held("build/sources/test_tvm_ffi.py"),
            held("build/sources/test_tvm_ffi.py"),
            held("build/sources/test_tvm_ffi.py"),
            held("build/sources/test_tvm_ffi.py"),
            NONE,
        ),
    ),
    Row(
        "sources for a backend, generated from its YAML or an `ops.yaml`",
        "由 YAML 或 `ops.yaml` 生成的后端源码",
        (
            NONE,
            held("codegen"),
            held("codegen", "CPU, PyNative", "CPU，PyNative 模式"),
            held("codegen", "CPU, by callback", "CPU，以回调方式"),
            NONE,
        ),
    ),
    Row(
        "many devices: DTensor, DDP, FSDP2, tensor parallel; `NamedSharding`, `shard_map`",
        "多设备：DTensor、DDP、FSDP2、张量并行；`NamedSharding`、`shard_map`",
        (
            NONE,
            held("distributed/test_training.py", "gloo on CPUs", "CPU 上的 gloo"),
            NONE,
            held("distributed/test_training.py", "8 CPU devices", "8 个 CPU 设备"),
            NONE,
        ),
    ),
)


def table(language: str) -> str:
    """Return the table as Markdown."""
    lines = [f"| | {' | '.join(COLUMNS)} |", f"|---|{'---|' * len(COLUMNS)}"]
    for row in ROWS:
        cells = " | ".join(getattr(cell, language) for cell in row.cells)
        lines.append(f"| {getattr(row, language)} | {cells} |")
    return "\n".join(lines) + "\n"


def renewed(page: str, language: str) -> str:
    """Return a page with the table between its markers replaced."""
    return _BLOCK.sub(lambda _: table(language), page)


if __name__ == "__main__":
    for language, path in PAGES.items():
        path.write_text(renewed(path.read_text(encoding="utf-8"), language), encoding="utf-8")
