"""compile_commands.json: commands by which any C++ compiler reads a manifest's kernels as their author wrote them."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from opbridge.base.errors import InputError
from opbridge.build.sources.store import source_request
from opbridge.build.toolchains import compile_commands

KERNELS = {
    ("cpu", "twice.cpp"): """\
#include <opbridge/kernel.h>
void twice(ob::In<float> x, ob::Out<float> out) {
  ob::parallel_for(out.numel(), [&](int64_t i) { out[i] = x[i] + x[i]; });
}
OB_KERNEL(twice)
""",
    ("cuda-twin", "twice.cu"): """\
__global__ void twice(float* x, int n) {
  __shared__ float two;
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (threadIdx.x == 0) two = 2;
  __syncthreads();
  if (i < n) x[i] *= two;
}
""",
    ("ascend-twin", "twice_npu.cpp"): """\
#include "kernel_operator.h"
extern "C" __global__ __aicore__ void twice(GM_ADDR x, uint32_t n) {
  AscendC::GlobalTensor<half> whole;
  whole.SetGlobalBuffer((__gm__ half*)x, n);
}
""",
}


@pytest.mark.parametrize("kernel", KERNELS, ids="-".join)
def test_a_compiler_reads_the_source_as_it_stands(tmp_path: Path, kernel: tuple[str, str]) -> None:
    device, name = kernel
    (tmp_path / name).write_text(KERNELS[kernel])
    file = compile_commands.write([source_request(tmp_path, name, device)], tmp_path)
    (entry,) = json.loads(file.read_text())
    assert (entry["directory"], entry["file"]) == (str(tmp_path), str(tmp_path / name))
    read = subprocess.run(
        [*entry["arguments"], "-fsyntax-only"], cwd=entry["directory"], capture_output=True, text=True
    )
    assert (read.returncode, read.stderr) == (0, "")
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([compile_commands.NAME, name])


def test_what_others_wrote_of_other_sources_stays(tmp_path: Path) -> None:
    (tmp_path / "twice.cpp").touch()
    theirs = {"directory": "/", "file": "/main.cpp", "command": "g++ -c main.cpp"}
    old = {"directory": "/", "file": str(tmp_path / "twice.cpp"), "command": "g++"}
    (tmp_path / compile_commands.NAME).write_text(json.dumps([theirs, old]))
    file = compile_commands.write([source_request(tmp_path, "twice.cpp", "cpu")], tmp_path)
    first, second = json.loads(file.read_text())
    assert first == theirs
    assert second["file"] == old["file"]
    assert "command" not in second


@pytest.mark.parametrize(("text", "error"), [("[", "is not JSON"), ("{}", "holds no list of commands")])
def test_a_file_of_another_kind_is_left_as_it_is(tmp_path: Path, text: str, error: str) -> None:
    (tmp_path / compile_commands.NAME).write_text(text)
    with pytest.raises(InputError, match=error):
        compile_commands.write([], tmp_path)
    assert (tmp_path / compile_commands.NAME).read_text() == text
