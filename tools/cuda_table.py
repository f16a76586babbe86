"""docs/evidence/cuda-tests.md: each part of CUDA by the tests that check it, in the tests' own words.

`python tools/cuda_table.py` writes it; tests/twins/cuda/test_documentation.py holds it.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
TESTS = ROOT / "tests"
PAGE = ROOT / "docs" / "evidence" / "cuda-tests.md"
_BLOCK = re.compile(r"(?<=<!-- tested: begin -->\n).*?(?=<!-- tested: end -->)", re.DOTALL)

PARTS = {
    "kernels and launches": "twins/cuda/test_launches.py",
    "kernels that launch kernels": "twins/cuda/test_launched_by_kernels.py",
    "blocks, barriers, groups": "twins/cuda/test_blocks.py",
    "warps and atomics": "twins/cuda/test_warps.py",
    "intrinsics": "twins/cuda/test_intrinsics.py",
    "FP8, FP6, FP4, packed numbers": "twins/cuda/test_small_numbers.py",
    "fragments, pipelines": "twins/cuda/test_fragments.py",
    "inline PTX": "twins/cuda/test_ptx.py",
    "textures and surfaces": "twins/cuda/test_textures.py",
    "the runtime API": "twins/cuda/test_runtime.py",
    "the driver API": "twins/cuda/test_driver.py",
    "NVRTC": "twins/cuda/test_nvrtc.py",
    "graphs": "twins/cuda/test_graphs.py",
    "CUB, Thrust, libcu++": "twins/cuda/nvcc/test_cccl.py",
    "cuBLAS": "twins/cuda/test_cublas.py",
    "cuBLASLt": "twins/cuda/test_cublaslt.py",
    "cuDNN": "twins/cuda/test_cudnn.py",
    "cuFFT": "twins/cuda/test_cufft.py",
    "cuRAND": "twins/cuda/test_curand.py",
    "cuSOLVER": "twins/cuda/test_cusolver.py",
    "cuSPARSE": "twins/cuda/test_cusparse.py",
    "PyTorch's extensions": "twins/cuda/test_torch.py",
    "PyTorch's `cuda`": "twins/cuda/torch_device/test_cuda_twin.py",
    "what nvcc refuses": "twins/cuda/test_refusals.py",
    "nvcc's command line": "twins/cuda/nvcc/test_twin_nvcc.py",
    "the checks": "twins/cuda/test_checks.py",
    "Hopper's barriers and copies": "twins/cuda/test_mbarriers.py",
    "Hopper's pipelines": "twins/cuda/test_pipelines.py",
    "streams": "twins/cuda/test_stream_order.py",
    "the checks, over long runs": "twins/cuda/test_many_barriers.py",
    "counters of costs": "analysis/profile/test_counters.py",
}
"""Below tests/."""

OF_THE_INSIDE = frozenset(
    f"twins/cuda/test_{name}.py"
    for name in [
        "bindings",
        "cccl",
        "documentation",
        "entry_points",
        "torch_extension_sources",
        "guards",
        "learning",
        "phases",
        "processors",
        "rewriting",
        "rewritten_sources",
    ]
)
"""What tells a reader nothing of CUDA."""


def table() -> str:
    lines = ["| part | what its tests check | below `tests/` |", "|---|---|---|"]
    for part, tests in PARTS.items():
        module = ast.parse((TESTS / tests).read_text(encoding="utf-8"))
        said = (ast.get_docstring(module) or "").partition("\n")[0].rstrip(".")
        lines.append(f"| {part} | {said} | `{tests}` |")
    return "\n".join(lines) + "\n"


def renewed(page: str) -> str:
    return _BLOCK.sub(lambda _: table(), page)


if __name__ == "__main__":
    PAGE.write_text(renewed(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
