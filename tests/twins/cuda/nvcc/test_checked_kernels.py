"""Programs hold each kernel with checks and without: what is checked, what is not, and what the two share."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from opbridge.build.cache import Cache
from opbridge.twins.cuda import nvcc as twin_nvcc

Run = Callable[..., subprocess.CompletedProcess[str]]

PROGRAM = """
#include <cstdlib>
#include <cstring>
__constant__ int step;
__device__ int visits;
__global__ void count(int* values, int faulty) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  values[i] = i + step;
  if (blockIdx.x == faulty) memcpy(values + gridDim.x * blockDim.x, values + i, sizeof(int));
  atomicAdd(&visits, 1);
}
template <class T> __global__ void add(T* values, T more) { values[threadIdx.x] += more; }
int main(int argc, char** argv) {
  const int faulty = atoi(argv[1]), three = 3;
  int host[256], seen;
  int* values;
  cudaMalloc(&values, sizeof host);
  cudaMemcpyToSymbol(step, &three, sizeof three);
  count<<<8, 32>>>(values, faulty);
  add<<<1, 32>>>(values, 10);
  const cudaError_t error = cudaDeviceSynchronize();
  cudaMemcpy(host, values, sizeof host, cudaMemcpyDeviceToHost);
  cudaMemcpyFromSymbol(&seen, visits, sizeof seen);
  if (error == cudaSuccess) printf("%d %d %d\\n", host[0], host[255], seen);
  if (argc > 2) memcpy(host, values, argc * sizeof(int));
  cudaFree(values);
}
"""
STATE_OF_ITS_OWN = """
static __device__ int seen;
__device__ int twice(int x) { return 2 * x + threadIdx.x; }
__device__ int (*chosen)(int) = twice;
__global__ void count() { atomicAdd(&seen, chosen(1)); }
int main() {
  int host;
  count<<<1, 2>>>();
  cudaMemcpyFromSymbol(&host, seen, sizeof host);
  printf("%d\\n", host);
}
"""
TEMPLATE = """
template <class T> __global__ void reverse(T* values) {
  __shared__ T all[32];
  all[threadIdx.x] = values[threadIdx.x];
  __syncthreads();
  values[threadIdx.x] = all[31 - threadIdx.x];
}
int main(int argc, char**) {
  float *values, host = 0;
  cudaMallocManaged(&values, 32 * sizeof(float));
  for (int i = 0; i < 32; ++i) values[i] = i;
  reverse<<<1, 32>>>(values);
  cudaMemcpy(&host, values, sizeof host, cudaMemcpyDeviceToHost);
  printf("%g\\n", host);
  cudaFree(values);
}
"""
CALLS = """
__device__ void store(int* values);
__global__ void all(int* values) { store(values); }
int main() {
  int* values;
  cudaMallocManaged(&values, 31 * sizeof(int));
  values[0] = 1;
  all<<<1, 32>>>(values);
  cudaDeviceSynchronize();
  cudaFree(values);
}
"""
COMBINED_BY_THE_LAST = """
__device__ unsigned finished;
__global__ void sum(const int* values, int* sums, int* total) {
  sums[blockIdx.x] = values[blockIdx.x];
  __threadfence();
  if (atomicAdd(&finished, 1) + 1 < gridDim.x) return;
  for (int i = 0; i < gridDim.x; ++i) *total += sums[i];
}
int main() {
  int *values, *sums, *total, host = 0;
  cudaMalloc(&values, 64 * sizeof(int));
  cudaMalloc(&sums, 64 * sizeof(int));
  cudaMalloc(&total, sizeof(int));
  cudaMemset(values, 0, 64 * sizeof(int));
  cudaMemset(total, 0, sizeof(int));
  sum<<<64, 1>>>(values, sums, total);
  cudaMemcpy(&host, total, sizeof host, cudaMemcpyDeviceToHost);
  printf("%d\\n", host);
  cudaFree(values), cudaFree(sums), cudaFree(total);
}
"""
CALLED = "__device__ void store(int* values) { values[threadIdx.x] = threadIdx.x; }\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("programs")


@pytest.fixture(scope="module")
def run(folder: Path) -> Run:
    home = twin_nvcc.write(Cache().root / "cuda")
    sources = {
        "program": PROGRAM,
        "state": STATE_OF_ITS_OWN,
        "template": TEMPLATE,
        "calls": CALLS,
        "called": CALLED,
        "last": COMBINED_BY_THE_LAST,
    }
    for name, text in sources.items():
        (folder / f"{name}.cu").write_text(text)

    def run(*command: str, variables: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, "PATH": f"{home / 'bin'}:{os.environ['PATH']}", **(variables or {})}
        return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=300)

    return run


@pytest.fixture(scope="module")
def program(run: Run) -> str:
    made = run("nvcc", "program.cu", "-o", "program")
    assert made.returncode == 0, made.stderr
    return "./program"


def test_all_blocks_are_checked_unless_somebody_says_otherwise(run: Run, program: str) -> None:
    right = run(program, "-1")
    assert (right.stdout, right.stderr, right.returncode) == ("13 258 256\n", "", 0)
    wrong = run(program, "5")
    assert "count: write of 4 bytes out of bounds" in wrong.stderr
    assert "program.cu:9, thread (0, 0, 0) of block (5, 0, 0)" in wrong.stderr
    assert "of 8 blocks" not in wrong.stderr
    assert wrong.returncode == 86


def test_a_program_runs_without_checks_where_its_environment_says_so(run: Run, program: str) -> None:
    done = run(program, "-1", variables={"OPBRIDGE_TWIN_CHECKS": "0"})
    assert (done.stdout, done.stderr, done.returncode) == ("13 258 256\n", "", 0)


def test_of_a_sample_the_first_and_the_last_block_are_checked_and_the_rest_only_runs(run: Run, program: str) -> None:
    sample = {"OPBRIDGE_TWIN_CHECK_BLOCKS": "2"}
    right = run(program, "-1", variables=sample)
    assert (right.stdout, right.returncode) == ("13 258 256\n", 0)
    assert right.stderr == (
        "cuda-twin: checked 3 of 9 blocks, in 2 of 2 launches; what the others did wrong was not seen\n"
    )
    for block in "0", "7":
        wrong = run(program, block, variables=sample)
        assert f"of block ({block}, 0, 0)" in wrong.stderr
        assert "checked 2 of 8 blocks" in wrong.stderr


def test_the_blocks_between_are_drawn_alike_in_each_run(run: Run, program: str) -> None:
    sample = {"OPBRIDGE_TWIN_CHECK_BLOCKS": "5", "OPBRIDGE_NUM_THREADS": "1"}
    # What is not checked writes behind the memory, into what its pages end with or into nothing.
    found = ["out of bounds" in run(program, str(block), variables=sample).stderr for block in range(8)]
    assert (found[0], found[7], sum(found)) == (True, True, 5)
    again = ["out of bounds" in run(program, str(block), variables=sample).stderr for block in range(8)]
    assert again == found


def test_a_program_may_be_linked_to_check_a_sample(run: Run) -> None:
    assert run("nvcc", "--check-blocks", "1", "program.cu", "-o", "sampled").returncode == 0
    assert "checked 2 of 9 blocks" in run("./sampled", "-1").stderr
    assert "expected how many blocks" in run("nvcc", "--check-blocks", "few", "program.cu", "-o", "sampled").stderr


def test_what_blocks_without_checks_write_counts_as_written_for_those_with(run: Run) -> None:
    assert run("nvcc", "last.cu", "-o", "last").returncode == 0
    done = run("./last", variables={"OPBRIDGE_TWIN_CHECK_BLOCKS": "2", "OPBRIDGE_NUM_THREADS": "1"})
    assert (done.stdout, done.returncode) == ("0\n", 0), done.stderr


def test_host_code_that_uses_device_memory_is_reported(run: Run, program: str) -> None:
    found = run(program, "-1", "and read it")
    assert "use of device memory in host code" in found.stderr
    assert "program.cu:25" in found.stderr
    assert (found.stdout, found.returncode) == ("13 258 256\n", 86)


def test_host_code_is_as_the_compiler_made_it(run: Run, folder: Path) -> None:
    (folder / "host.cu").write_text("int sum(const int* x, int n) { int s = 0; while (n--) s += x[n]; return s; }\n")
    made = run("nvcc", "-v", "-c", "host.cu", "-o", "host.o")
    assert made.returncode == 0, made.stderr
    assert "__tsan" not in run("nm", "host.o").stdout
    assert "-fsanitize=thread" not in made.stderr, "what has no kernels is compiled once"


def test_what_cannot_be_there_twice_is_checked_everywhere(run: Run) -> None:
    assert run("nvcc", "state.cu", "-o", "state").returncode == 0
    done = run("./state")
    assert (done.stdout, done.stderr) == ("5\n", "")


def test_files_share_the_locks_of_openmp(run: Run, folder: Path) -> None:
    add = "void add(int more, int* sum) {\n#pragma omp critical(adding)\n  *sum += more;\n}\n"
    launch = "__global__ void wait() {}\nvoid launch() { wait<<<1, 1>>>(); }\n"
    (folder / "add.cu").write_text(add + launch)
    call = "#pragma omp parallel for\n  for (int i = 0; i < 64; ++i) add(i, &sum);\n"
    main = f'int main() {{ int sum = 0; launch();\n{call}  printf("%d\\n", sum); }}\n'
    (folder / "main.cu").write_text("void launch();\n" + add.replace("void add", "static void add") + main)
    made = run("nvcc", "-O1", "-Xcompiler", "-fopenmp", "add.cu", "main.cu", "-o", "locked")
    assert (made.stderr, made.returncode) == ("", 0)
    assert run("./locked").stdout == "2016\n"


def test_templates_have_shared_memory_too(run: Run) -> None:
    made = run("nvcc", "template.cu", "-o", "template")
    assert made.returncode == 0, made.stderr
    for checks in "1", "0":
        done = run("./template", variables={"OPBRIDGE_TWIN_CHECKS": checks})
        assert (done.stdout, done.stderr) == ("31\n", "")


def test_functions_of_other_sources_are_checked_too(run: Run) -> None:
    made = run("nvcc", "-rdc=true", "calls.cu", "called.cu", "-o", "calls")
    assert made.returncode == 0, made.stderr
    assert "called.cu:1, thread (31, 0, 0)" in run("./calls").stderr
