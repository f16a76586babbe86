"""What the twin lacks does not compile, and says so in a sentence.  Compiles five kernels: some seconds at first."""

from __future__ import annotations

from pathlib import Path

import pytest

from opbridge.errors import BuildError
from opbridge.toolchains import BuildRequest, build

CASES = {
    "LocalTensor<half> a; Sort32(a, a, a, 1);": "opbridge's Ascend twin has no Sort32 yet",
    "TQue<TPosition::CO1, 1> q;": "opbridge's Ascend twin runs vector kernels only",
    "PipeBarrier<PIPE_S>();": r"PipeBarrier<PIPE_S>\(\) is a hardware error",
    "KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIC_1_2);": "it has no matrix unit",
    "LocalTensor<half> a; LocalTensor<int32_t> b; Cast(a, b, RoundMode::CAST_NONE, 16);": "takes its scale from",
}


@pytest.mark.parametrize("code", CASES)
def test_what_is_not_there_is_refused_by_the_compiler(tmp_path: Path, code: str) -> None:
    source = tmp_path / "k.cpp"
    kernel = f'#include "kernel_operator.h"\nusing namespace AscendC;\n__global__ void k(GM_ADDR x) {{ {code} }}\n'
    source.write_text(kernel)
    with pytest.raises(BuildError, match=CASES[code]):
        build(BuildRequest((source,), "k.so", language="ascend-twin"))
