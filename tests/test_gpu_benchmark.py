"""benchmarks/gpu.py as far as it goes without a GPU."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from forked_python import PYTHON

torch = pytest.importorskip("torch")

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"
sys.path.insert(0, str(BENCHMARKS))

import gpu  # noqa: E402
import gpu_checks  # noqa: E402
import gpu_counters  # noqa: E402
import gpu_findings  # noqa: E402
import gpu_speed  # noqa: E402

sys.path.remove(str(BENCHMARKS))


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([PYTHON, BENCHMARKS / "gpu.py", *arguments], capture_output=True, text=True)


@pytest.mark.matrix("test_the_twin_passes_the_checks compiles the same sources")
@pytest.mark.skipif(shutil.which("nvcc") is None, reason="no nvcc on PATH")
def test_everything_compiles_for_the_gpus_of_three_generations() -> None:
    done = run("--build")
    assert done.returncode == 0, done.stderr
    assert [line.split(": ")[0] for line in done.stdout.splitlines()] == ["gpu.cu", "gpu_bare.cu"]
    assert done.stdout.count("sm_80, sm_90, sm_100") == 2


def test_the_twin_passes_the_checks() -> None:
    done = run("--check", "--twin", "--quick")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "all checks passed" in done.stdout


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_without_a_gpu_it_says_so() -> None:
    done = run()
    assert (done.returncode, done.stdout) == (gpu.NO_GPU, "")
    assert done.stderr.startswith("no GPU: ")


def test_a_wrong_operator_is_found(capsys: pytest.CaptureFixture[str]) -> None:
    library: Any = SimpleNamespace(
        saxpy=lambda x, y, alpha=1.0: (x.double() + alpha * y.double()).to(x.dtype),
        scaled_add=lambda x, y, alpha=1.0: x - alpha * y,
        row_sum=lambda x: x.sum(1),
        softmax=lambda x: x.softmax(0),
        bare_add=lambda x, y: x + y,
    )
    failures = gpu_checks.run(library, "cpu", quick=True, streams=False)
    assert {name.split()[0] for name in failures} == {"scaled_add", "softmax"}
    assert "FAILED softmax torch.float32 (33, 256)" in capsys.readouterr().out


def test_every_operator_of_the_manifest_is_measured() -> None:
    measured = Path(gpu_speed.__file__).read_text()
    manifest = (BENCHMARKS / "kernels" / "gpu.yaml").read_text()
    names = [line.split("func: ")[1].split("(")[0] for line in manifest.splitlines() if "func: " in line]
    assert [name for name in names if f"library.{name}" not in measured] == []


def test_counts_are_read_from_what_ncu_prints() -> None:
    names = list(gpu_counters.METRICS.values())
    printed = "\n".join(
        (
            "==PROF== Connected to process 1",
            ",".join(f'"{name}"' for name in ("ID", "Kernel Name", *names)),
            ",".join(f'"{unit}"' for unit in ("", "", *["request"] * len(names))),
            ",".join(
                f'"{value}"' for value in ("0", "strided_by_8(float *, float *)", "1", "32", "1", "4", "0", "1,024")
            ),
        )
    )
    counted = gpu_counters.read(printed)["strided_by_8"]
    assert counted["load", "global", "sectors"] == 32
    assert counted["store", "shared", "passes"] == 1024


def test_what_was_counted_by_hand_is_added_up_for_a_kernel() -> None:
    counted = gpu_counters.by_hand_in_all(gpu_counters.kernels()["strided_by_8"])
    assert gpu_counters.said(counted, counted).startswith("load global requests 1/1, load global sectors 32/32")


def test_a_broken_kernel_names_the_twins_checks() -> None:
    assert gpu_findings.twins_check(gpu_findings.BROKEN / "large_block.cu") == "bad-launch, unchecked-error"
    assert all((gpu_findings.BROKEN / f"{name}.cu").exists() for name in gpu_findings.LEFT_OUT)
