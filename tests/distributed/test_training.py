"""examples/transformer, trained for real: on gloo processes of torchrun's, and in JAX over eight devices."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path

import pytest
from forked_python import PYTHON

HERE = Path(__file__).parent
TRAIN = HERE.parents[1] / "examples" / "transformer" / "train.py"
PYTEST = ("-m", "pytest", "-x", "-q", "-p", "no:cacheprovider")
SECONDS = 400
"""That a run may take before something hangs; on an idle machine it takes twenty."""


def run(*arguments: str | Path, **variables: str) -> str:
    environment = os.environ | {"OMP_NUM_THREADS": "1", "PYTHON_EXEC": PYTHON, **variables}
    process = subprocess.Popen(
        [PYTHON, *map(str, arguments)],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        output, _ = process.communicate(timeout=SECONDS)
    except subprocess.TimeoutExpired:
        process.terminate()  # torchrun ends its processes then; killed, it could not
        pytest.fail(f"nothing after {SECONDS} s:\n{process.communicate()[0]}")
    assert process.returncode == 0, output
    return output


def torchrun(processes: int, *arguments: str | Path, **variables: str) -> str:
    launcher = ("-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(processes))
    return run(*launcher, *arguments, **variables)


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where four processes left the losses of one process, and a checkpoint after step 4."""
    folder = tmp_path_factory.mktemp("trained")
    torchrun(4, *PYTEST, HERE / "on_processes.py", TRAINED=str(folder))
    return folder


def test_on_four_processes(trained: Path) -> None:
    """What is tested is in on_processes.py."""
    assert sorted(path.name for path in trained.iterdir()) == ["losses.json", "step-4"]


@pytest.mark.matrix("on_processes.py loads a checkpoint of one division into another")
def test_a_killed_process_costs_the_steps_since_the_checkpoint(trained: Path) -> None:
    """Two processes go on from what four saved; one is killed after step 11, and both from what they saved after 9."""
    told = torchrun(
        *(2, "--max-restarts", "1", TRAIN),
        *("--parallel", "tensor", "--checkpoints", trained, "--steps", "14", "--kill-at", "11"),
    )
    steps = [(int(step), float(loss)) for step, loss in re.findall(r"^step +(\d+)  loss ([\d.]+)$", told, re.MULTILINE)]
    assert [step for step, _ in steps] == [*range(5, 12), *range(10, 14)]
    alone = json.loads((trained / "losses.json").read_text())
    assert [loss for _, loss in steps] == pytest.approx([alone[step] for step, _ in steps], rel=1e-4)


def test_in_jax_over_eight_devices() -> None:
    # Compiled in half the time: what XLA's partitioners do is no part of the level.
    flags = "--xla_force_host_platform_device_count=8 --xla_backend_optimization_level=0"
    run(*PYTEST, HERE / "on_eight_devices.py", XLA_FLAGS=flags)
