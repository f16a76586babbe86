"""Each broken kernel of the catalogue is reported as its own last comment says; the right ones are left in peace.

Builds two libraries and starts a process a kernel: half a minute at first, a few seconds once they are in the cache.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from subprocesses import python

from opbridge.build.toolchains import BuildRequest, build

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
BROKEN = HERE / "broken"
CASES = sorted(path.stem for path in BROKEN.glob("*.cu"))
NOTES = {
    *("early_return", "early_return_of_function", "leak", "missing_fence", "same_index_in_blocks", "same_value"),
    "volatile_flag",
}
"""What is said, and is no failure."""
MARK = "// Reported:\n"


def built(source: str | Path) -> Path:
    request = BuildRequest(
        (HERE / source,), f"{Path(source).stem}.so", language="cuda-twin", defines=(("OPBRIDGE_TWIN_CHECKS", "1"),)
    )
    return build(request).path


@pytest.fixture(scope="module")
def catalogue() -> Path:
    return built("catalogue.cu")


@pytest.fixture(scope="module")
def silent() -> Path:
    return built("silent.cu")


def run(
    library: Path, function: str, *, threads: int = 1, after: str = "", limit: str = "1"
) -> subprocess.CompletedProcess[str]:
    """Calls a function in a process of its own, as a program of the user's would."""
    code = f"import ctypes; library = ctypes.CDLL({str(library)!r}); result = library.{function}(); {after}"
    # On one thread, so that two blocks that race always come in the same order.
    environment = os.environ | {"OPBRIDGE_NUM_THREADS": str(threads), "OPBRIDGE_TWIN_TIMEOUT": limit}
    return python(code, cwd=BROKEN, env=environment, timeout=60)


def reported(stderr: str) -> str:
    return re.sub(r"0x[0-9a-f]{9,}", "0x…", stderr).replace(f"{BROKEN}/", "")


def expected(case: str) -> str:
    text = (BROKEN / f"{case}.cu").read_text()
    comment = text.partition(MARK)[2]
    return "".join(line.removeprefix("// ") for line in comment.splitlines(keepends=True))


def test_the_catalogue_has_every_broken_kernel() -> None:
    assert re.findall(r'#include "broken/(\w+)\.cu"', (HERE / "catalogue.cu").read_text()) == CASES


def test_every_check_is_explained_and_has_a_kernel() -> None:
    sources = ROOT / "src" / "opbridge" / "twins" / "cuda" / "runtime" / "checks" / "report.cpp"
    checks = set(re.findall(r'return \{\s*"([a-z-]+)"', sources.read_text()))
    explained = re.findall(r"^\| `([a-z-]+)` \|", (ROOT / "docs" / "cuda-checks.md").read_text(), re.MULTILINE)
    shown = {name for case in CASES for name in re.findall(r" \[([a-z-]+)\]$", expected(case), re.MULTILINE)}
    assert sorted(explained) == sorted(checks)
    assert shown == checks


@pytest.mark.parametrize("case", CASES)
def test_a_broken_kernel_is_reported(catalogue: Path, case: str) -> None:
    done = run(catalogue, case)
    assert reported(done.stderr) == expected(case)
    assert done.returncode == (0 if case in NOTES else 86)


@pytest.mark.parametrize("threads", [1, 2])
def test_right_kernels_are_left_in_peace(silent: Path, threads: int) -> None:
    done = run(silent, "silent", threads=threads, after="raise SystemExit(result)")
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("threads", [1, 2])
def test_blocks_and_threads_may_wait_for_each_other(threads: int) -> None:
    done = run(built("waiting.cu"), "waiting", threads=threads, after="raise SystemExit(result)")
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.skipif(shutil.which("nvcc") is None, reason="nvcc is not installed")
def test_right_kernels_are_cuda(tmp_path: Path) -> None:
    subprocess.run(["nvcc", "-arch=sm_90", "-c", HERE / "silent.cu", "-o", tmp_path / "silent.o"], check=True)


SPINS = """
#include <cuda_runtime.h>
__global__ void spin(const float* x, int n) {
  for (long turn = 0; x[turn % n] < 1e30f; ++turn) {
  }
}
extern "C" int spins() {
  float* x;
  cudaMalloc(&x, 64);
  cudaMemset(x, 0, 64);
  spin<<<8, 1>>>(x, 16);
  return cudaDeviceSynchronize();
}
__global__ void count(int* x, int n) {
  for (int turn = 0; turn < n; ++turn) x[turn % 16] += 1;
}
extern "C" void ob_twin_clear_errors(void);
extern "C" int spins_and_counts() {
  int* x;
  cudaMalloc(&x, 64);
  cudaMemset(x, 0, 64);
  int errors = 0;
  for (int i = 0; i < 5; ++i) {
    spins();
    ob_twin_clear_errors();
    count<<<1, 1>>>(x, 1 << 20);
    errors += cudaDeviceSynchronize() != cudaSuccess;
    ob_twin_clear_errors();
  }
  return errors;
}
"""


@pytest.mark.parametrize("threads", [1, 2])
def test_blocks_that_never_end_are_ended_in_every_thread(tmp_path: Path, threads: int) -> None:
    (tmp_path / "spins.cu").write_text(SPINS)
    done = run(built(tmp_path / "spins.cu"), "spins", threads=threads)
    assert "spin: the launch has run for longer than it may [endless]" in done.stderr
    assert done.returncode == 86


def test_a_launch_after_one_that_was_ended_has_its_own_time(tmp_path: Path) -> None:
    (tmp_path / "spins.cu").write_text(SPINS)
    then = "print(library.spins_and_counts())"
    done = run(built(tmp_path / "spins.cu"), "ob_twin_attach_host", after=then, limit="0.2")
    assert (done.stdout, done.returncode) == ("0\n", 0)
    assert "count" not in done.stderr


def test_a_host_gets_the_reports_and_the_process_goes_on(catalogue: Path) -> None:
    done = run(
        catalogue,
        "ob_twin_attach_host",
        after="library.overflow(); take = library.ob_twin_take_reports; take.restype = ctypes.c_char_p; "
        "print(take().decode(), take())",
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("cuda-twin: scale: read of 4 bytes out of bounds [out-of-bounds]\n")
    assert done.stdout.endswith("None\n")


def test_what_a_host_has_not_taken_is_said_at_the_end_of_the_process(catalogue: Path) -> None:
    """Extensions look at cudaGetLastError() themselves, and end the process."""
    done = run(catalogue, "ob_twin_attach_host", after="library.overflow(); ctypes.CDLL(None).exit(3)")
    assert done.returncode == 3
    assert done.stderr.startswith("cuda-twin: scale: read of 4 bytes out of bounds [out-of-bounds]\n")


def test_a_note_fails_no_call_of_a_host_and_is_said_once(catalogue: Path) -> None:
    done = run(catalogue, "ob_twin_attach_host", threads=2, after=f"exec({TWICE!r})")
    assert done.stdout == "None\nNone\n"
    assert done.stderr.count("[same-value]") == 1
    assert done.returncode == 0


TWICE = """
take = library.ob_twin_take_reports
take.restype = ctypes.c_char_p
for _ in range(2):
    library.same_value()
    print(take())
"""

HOST = """
array = (ctypes.c_float * 5)(1, 2, 3, 4, 5)
library.ob_twin_adopt(array, ctypes.sizeof(array), b"x")
print(library.run_twice(array, 5), list(array), flush=True)
print(library.run_twice(array, 6), flush=True)
library.ob_twin_release(array)
library.ob_twin_clear_errors()
print(library.run_twice(array, 1), flush=True)
"""


def test_a_hosts_tensor_is_device_memory_while_it_is_adopted(silent: Path) -> None:
    done = run(silent, "silent", after=f"exec({HOST!r})")
    assert done.stdout.splitlines() == ["0 [2.0, 4.0, 6.0, 8.0, 10.0]", "700", "700"]
    beyond, released = re.findall(r"^cuda-twin: twice: (.*(?:\n  .*)*)", reported(done.stderr), re.MULTILINE)
    assert beyond.startswith("read of 4 bytes out of bounds")
    assert "0x…, 0 bytes after the end of the 20 bytes of the tensor `x`" in beyond
    assert released.startswith("read of 4 bytes of host memory in device code")
