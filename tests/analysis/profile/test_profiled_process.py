"""`opbridge profile` on a source with a main and on operators; a trace; and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import opbridge as ob
from opbridge.analysis.profile import profile_command
from opbridge.analysis.profile.unprofiled_programs import require_program
from opbridge.base.errors import InputError
from opbridge.cli import main

PROGRAM = """
__global__ void columns(const float* x, float* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = x[i * 8] * 2 + 1;
}
int main(int argc, char**) {
  float *x, *out;
  cudaMalloc(&x, 8 * 64 * 128 * sizeof(float));
  cudaMalloc(&out, 64 * 128 * sizeof(float));
  cudaMemset(x, 0, 8 * 64 * 128 * sizeof(float));
  for (int i = 0; i < argc; ++i) columns<<<64, 128>>>(x, out);
  cudaFree(x);
  cudaFree(out);
}
"""


def test_a_program_is_profiled_by_a_sample_of_its_blocks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("columns.cu").write_text(PROGRAM)
    traces = ("--trace", "trace.json", "--trace-memory", "p.html")
    assert main(["profile", "columns.cu", "--json", *traces, "--", "twice"]) == 0
    document = json.loads(capsys.readouterr().out)
    (kernel,) = document["kernels"]
    assert (kernel["name"], kernel["launches"]) == ("columns", 2)
    assert (kernel["profiled_blocks"], kernel["blocks"]) == (2 * 16, 64)
    # Each of 64 blocks has four warps, and each lane a sector of its own; what it writes lies together.
    assert kernel["global_load_sectors"] == 64 * 4 * 32
    assert kernel["global_store_sectors"] == 64 * 4 * 4
    assert kernel["operations"]["float"] == 2 * 64 * 128
    assert kernel["occupancy"] == 1.0
    heaviest = kernel["lines"][0]
    assert (heaviest["place"].rpartition("/")[2], heaviest["kind"]) == ("columns.cu:4", "load")
    assert heaviest["advice"].startswith("32 lanes read 32 sectors, 32 bytes apart")

    # The second warp's first thread reads the 256th element and writes the 32nd.
    assert "byte 1024: thread 32<" in (picture := Path("p.html").read_text())
    assert "byte 128: thread 32<" in picture

    (bar,) = (
        event for event in json.loads(Path("trace.json").read_text())["traceEvents"] if event["name"] == "columns"
    )
    assert (bar["ph"], bar["args"]["launches"]) == ("X", 2)
    assert bar["dur"] == pytest.approx(kernel["predicted_seconds"] * 1e6)


def test_what_is_not_the_readers_to_edit_has_a_short_place(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    func = "func: next(Tensor x) -> Tensor, formula: where(x > 0, x, x + 1)"
    (tmp_path / "ops.yaml").write_text(f"namespace: profiled\nops: [{{{func}}}]\n")
    assert main(["profile", "--chip", "a100", str(tmp_path / "ops.yaml")]) == 0
    places = [line.split()[0] for line in capsys.readouterr().out.splitlines() if "requests, " in line]
    assert {place.rpartition(":")[0] for place in places} == {"opbridge/cuda_row.h"}


def test_an_operator_is_profiled_by_a_call_of_its_own() -> None:
    source = """
    __global__ void sum(const float* x, float* out, int n) {
      const int i = blockIdx.x * blockDim.x + threadIdx.x;
      if (i < n) atomicAdd(out, x[i]);
    }
    extern "C" int total(int nparam, void** params, int* ndims, int64_t** shapes, const char** dtypes, void* stream,
                         void* extra) {
      cudaMemset(params[1], 0, sizeof(float));
      sum<<<(shapes[0][0] + 127) / 128, 128>>>((float*)params[0], (float*)params[1], shapes[0][0]);
      return cudaGetLastError();
    }
    """
    total = ob.inline(
        source,
        schema="costs_test::total(Tensor x) -> Tensor",
        out={"shape": [1], "dtype": "x.dtype"},
        device="cuda-twin",
    )
    (kernel,) = ob.profile(total, np.ones(200, np.float32)).kernels
    atomic = next(line for line in kernel.lines if line.kind == "atomic")
    # Seven warps, of which the last has eight lanes.
    assert (atomic.requests, atomic.lanes, atomic.queued) == (7, 200, 200 - 7)
    assert kernel.divergent_branches == 1
    assert next(line.array for line in kernel.lines if line.kind == "load") == "x"


def test_what_launches_no_kernel_that_counts_is_refused() -> None:
    with pytest.raises(InputError, match="true launched no kernel that counts"):
        profile_command(["true"])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is empty"),
        (" // __global__ main\n", "is empty"),
        ('#include <cstdio>\nint main() { puts("__global__"); }\n', "has no kernel"),
        ("__global__ void k(float* x) { *x = 1; }\n", "has no main"),
        ("#include <cuda_runtime.h>\n__device__ float f(float x) { return x; }\nint main() {}\n", "has no kernel"),
    ],
)
def test_a_source_without_a_program_is_refused_before_it_is_compiled(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "nothing.cu").write_text(text)
    with pytest.raises(InputError, match=rf"nothing\.cu {said}.*\n  expected a program: kernels, and a main"):
        require_program(tmp_path / "nothing.cu")


@pytest.mark.parametrize(
    "text",
    [
        "__global__ void k() {}\nint main() { k<<<1, 1>>>(); }\n",
        '#include "kernels.cuh"\nint main() { run(); }\n',
        "#include <cufft.h>\nint main() {}\n",
        "#define KERNEL __global__\nKERNEL void k() {}\nint main() {}\n",
    ],
)
def test_a_source_that_may_be_a_program_is_compiled(tmp_path: Path, text: str) -> None:
    (tmp_path / "program.cu").write_text(text)
    require_program(tmp_path / "program.cu")


def test_a_chip_is_refused_before_anything_is_built(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["profile", "--chip", "a101", "nowhere.cu"]) == 2
    assert "did you mean 'a100'?" in capsys.readouterr().err


def test_only_what_is_profiled_is_compiled_to_count(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kernel = """
    __global__ void copy(const float* x, float* out, int n) {
      const int i = blockIdx.x * blockDim.x + threadIdx.x;
      if (i < n) out[i] = x[i];
    }
    void NAME(ob::In<float> x, ob::Out<float> out) { copy<<<2, 32>>>(x.data(), out.data(), 64); }
    OB_KERNEL(NAME)
    """
    counted = "#include <opbridge/kernel.h>" + kernel.replace("NAME", "counted")
    other = "#ifdef OPBRIDGE_TWIN_PROFILE\n#error counts\n#endif\n" + counted.replace("counted", "other")
    for name, text in (("counted", counted), ("other", other)):
        (tmp_path / f"{name}.cu").write_text(text)
    declared = "{{func: {0}(Tensor x) -> Tensor, out: x, kernels: {{cuda: {0}.cu}}, samples: [{{x: {{shape: [64]}}}}]}}"
    ops = ", ".join(map(declared.format, ("counted", "other")))
    (tmp_path / "ops.yaml").write_text(f"namespace: apart\nops: [{ops}]\n")
    assert main(["profile", f"{tmp_path / 'ops.yaml'}:counted"]) == 0
    assert "copy  1 launch of 2 of 32 threads" in capsys.readouterr().out
    assert main(["profile", f"{tmp_path / 'ops.yaml'}:other"]) != 0


def test_a_manifest_takes_no_arguments(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["profile", "ops.yaml", "--", "-n", "5"]) == 2
    assert "ops.yaml is not a program, which could take -n 5" in capsys.readouterr().err
