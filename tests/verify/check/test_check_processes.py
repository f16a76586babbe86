"""What ends a process is one failed row that names the input; everything else goes on."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import opbridge as ob
from opbridge.base.errors import InputError, ToolchainError
from opbridge.verify.check import Row, Status, check
from opbridge.waist.op import OpLibrary

CPU_KERNEL = """\
#include <opbridge/kernel.h>
template <class T>
void add(ob::In<T> x, ob::In<T> y, ob::Out<T> out) {
  for (int64_t i = 0; i < out.numel(); ++i) out[i] = x[i] + y[i];
}
OB_KERNEL(add, float, double)
"""
CUDA_KERNELS = """\
#include <opbridge/kernel.h>
template <class T>
__global__ void add_first(const T* x, const T* y, T* out, int64_t n) {
  const int64_t i = blockIdx.x * int64_t(blockDim.x) + threadIdx.x;
  if (i < n) out[i] = x[i] + y[i];
}
template <class T>
void add(ob::In<T> x, ob::In<T> y, ob::Out<T> out) {
  if (out.numel()) add_first<<<(out.numel() + 127) / 128, 128>>>(x.data(), y.data(), out.data(), out.numel());
}
OB_KERNEL(add, float, double)
template <class T>
void spills(ob::In<T> x, ob::In<T> y, ob::Out<T> out) {
  add_first<<<out.numel() / 128 + 1, 128>>>(x.data(), y.data(), out.data(), out.numel() + 1);
}
OB_KERNEL(spills, float, double)
"""
CUDA_MANIFEST = """\
namespace: twinned
ops:
  - {func: "add(Tensor x, Tensor y) -> Tensor", out: x, kernels: {cpu: add.cpp, cuda: add.cu}, batch: elementwise}
  - {func: "spills(Tensor x, Tensor y) -> Tensor", out: x, kernels: {cuda: add.cu}, batch: elementwise}
  - {func: "only_cpu(Tensor x, Tensor y) -> Tensor", out: x, kernels: {cpu: "add.cpp:add"}, batch: elementwise}
"""


def statuses(rows: list[Row]) -> dict[str, Status]:
    return {row.check: row.status for row in rows}


def test_a_crash_is_a_row_that_names_signal_and_input(operators: OpLibrary) -> None:
    rows = check([operators.crashes, operators.root], frameworks=["numpy"], checks=["dtypes", "shapes", "strides"])
    crashed = rows[1]
    assert crashed.check == "shapes"
    assert crashed.message.startswith("the process dies of SIGSEGV at broken.cpp:72, on one element: x=float64[1, 1]")
    others = [row for row in rows if row is not crashed]
    assert len(others) == 5
    assert all(row.status is Status.PASSED for row in others)


def test_a_hang_is_ended_after_the_time_given(operators: OpLibrary) -> None:
    rows = check(operators.hangs, frameworks=["numpy"], checks=["shapes", "aliasing"], timeout=2.0)
    assert rows[0].message.startswith("no answer in 2 s, on one element: x=float64[1, 1]")
    assert statuses(rows) == {"shapes": Status.FAILED, "aliasing": Status.PASSED}


def test_what_crashes_again_and_again_is_left(operators: OpLibrary) -> None:
    checks = ["shapes", "bounds", "determinism", "threads", "memory"]
    rows = check(operators.crashes, frameworks=["numpy"], checks=checks)
    assert statuses(rows) == {**dict.fromkeys(checks[:3], Status.FAILED), "threads": Status.SKIPPED}
    assert "skipped: 3 checks before it ended their process" in rows[-1].message


@pytest.mark.cases(2)
@pytest.mark.parametrize(
    ("name", "sanitizer", "words"),
    [
        ("one_too_many", "address", "heap-buffer-overflow, write of size"),
        ("overflows", "undefined", "signed integer overflow: 2147483647 + 1"),
        ("racing_sum", "thread", "data race"),
    ],
)
def test_a_sanitizer_names_the_line(operators: OpLibrary, name: str, sanitizer: str, words: str) -> None:
    rows = check([operators[name], operators.root], checks=[], sanitize=[sanitizer])
    assert rows[0].failed
    assert rows[0].message.startswith(words)
    assert "broken.cpp:" in rows[0].message
    assert (rows[1].check, rows[1].status, rows[1].message) == (sanitizer, Status.PASSED, "no report")


def test_a_kernel_may_throw_under_a_sanitizer(operators: OpLibrary) -> None:
    (row,) = check(operators.rejects_nothing, checks=[], sanitize=["address"])
    assert (row.status, row.message) == (Status.PASSED, "no report")


def test_kernels_for_cuda_are_checked_on_the_twin(tmp_path: Path) -> None:
    (tmp_path / "ops.yaml").write_text(CUDA_MANIFEST)
    (tmp_path / "add.cu").write_text(CUDA_KERNELS)
    (tmp_path / "add.cpp").write_text(CPU_KERNEL)
    library = ob.load(tmp_path / "ops.yaml", device="cuda-twin")
    checks = ["values", "dtypes", "shapes"]
    rows = check(library, frameworks=["numpy"], device="cuda-twin", reference="cpu", checks=checks)
    told = {(row.operator.removeprefix("twinned::"), row.check): row for row in rows}
    assert [told["add", name].status for name in checks] == [Status.PASSED] * 3
    assert "as the kernel for cpu" in told["add", "values"].message
    assert "out of bounds" in told["spills", "inputs"].message
    assert (tmp_path / "add.cu").name in told["spills", "inputs"].message
    assert told["only_cpu", "inputs"].message == "no kernel for cuda-twin to check; it has cpu"


@pytest.mark.parametrize(("how", "code"), [(signal.SIGINT, 130), (signal.SIGKILL, -signal.SIGKILL)])
def test_a_check_that_is_interrupted_leaves_no_process_behind(
    operators: OpLibrary, how: signal.Signals, code: int
) -> None:
    manifest = Path(__file__).parent / "operators" / "ops.yaml"
    command = [sys.executable, "-m", "opbridge", "check", str(manifest), "--op", "hangs", "--framework", "numpy"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        wait_for(lambda: workers_of(process.pid))
        workers = workers_of(process.pid)
        process.send_signal(how)
        assert process.wait(60) == code
    wait_for(lambda: not any(worker.exists() for worker in workers))


def test_an_interruption_while_the_checks_are_begun_ends_them(
    operators: OpLibrary, monkeypatch: pytest.MonkeyPatch
) -> None:
    submit = ThreadPoolExecutor.submit

    def interrupted(*given: Any) -> None:
        submit(*given)
        wait_for(lambda: workers_of(os.getpid()))
        raise KeyboardInterrupt

    # Interrupts at one place, which no signal can be aimed at.
    monkeypatch.setattr(ThreadPoolExecutor, "submit", interrupted)
    rows: list[Row] = []
    with pytest.raises(KeyboardInterrupt):
        check(operators.hangs, frameworks=["numpy"], timeout=600, on_row=rows.append)
    assert rows == []
    assert workers_of(os.getpid()) == []


def workers_of(pid: int) -> list[Path]:
    tasks = Path(f"/proc/{pid}/task").iterdir()
    children = [Path("/proc", child) for task in tasks for child in (task / "children").read_text().split()]
    return [child for child in children if b"opbridge.verify.check.worker" in (child / "cmdline").read_bytes()]


def wait_for(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_what_runs_nowhere_here_is_refused(operators: OpLibrary) -> None:
    with pytest.raises(InputError, match="in torch, not in numpy"):
        check(operators.root, frameworks=["numpy"], device="npu")
    with pytest.raises(InputError, match="sanitizers watch code of the CPU"):
        check(operators.root, device="npu", sanitize=["address"])
    with pytest.raises(ToolchainError, match="PyTorch has no tensors on npu here"):
        check(operators.root, frameworks=["torch"], device="npu")
