"""Kernels that macros define are declared to hosts like others."""

from __future__ import annotations

from pathlib import Path

from opbridge.build.toolchains import host
from opbridge.twins.ascend.compiler_command import translate

SOURCE = """
#include "kernel_operator.h"
#include "declare.h"
DECLARE(half)
DECLARE(float)
#if __CCE_AICORE__ < 220 || defined(NEVER)
DECLARE(int)
#endif
extern "C" __global__ __aicore__ void plain(GM_ADDR x) {}
"""
HEADER = """
#define DECLARE(T) extern "C" __global__ __aicore__ void scale_##T(GM_ADDR x, uint32_t n) { \\
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY); }
"""


def test_kernels_of_macros_get_a_header_and_a_function_each(tmp_path: Path) -> None:
    (tmp_path / "scale.cpp").write_text(SOURCE)
    (tmp_path / "declare.h").write_text(HEADER)
    translated, read = translate(tmp_path / "scale.cpp", tmp_path / "new", (), tmp_path / "new", host.find())
    headers = {path.name: path.read_text() for path in (tmp_path / "new").glob("aclrtlaunch_*")}
    assert sorted(headers) == [f"aclrtlaunch_{name}.h" for name in ("plain", "scale_float", "scale_half")]
    head = "uint32_t aclrtlaunch_scale_half(uint32_t opbridge_blocks, void* opbridge_stream, void* x, uint32_t n)"
    assert f'extern "C" {head};' in headers["aclrtlaunch_scale_half.h"]
    assert f"{head} {{" in translated.read_text()
    assert "cores_of(KERNEL_TYPE_AIV_ONLY)" in translated.read_text()
    assert translated.read_text().count(" aclrtlaunch_plain(") == 1
    assert [path.name for path in read] == ["scale.cpp", "declare.h"]
