"""`shard` in PyTorch: on DTensors, with two and four processes."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from forked_python import PYTHON
from subprocesses import succeed

PROGRAMS = Path(__file__).parents[1] / "sharded" / "on_processes.py"


@pytest.mark.cases(1)
@pytest.mark.parametrize("processes", [2, 4])
def test_on_processes(processes: int) -> None:
    torchrun = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(processes)]
    tests = ["-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", str(PROGRAMS)]
    command = [PYTHON, *torchrun, *tests]
    run = subprocess.run(
        command, env=os.environ | {"OMP_NUM_THREADS": "1", "PYTHON_EXEC": PYTHON}, capture_output=True, text=True
    )
    assert run.returncode == 0, run.stdout + run.stderr


def test_dtensor_is_imported_where_a_manifest_is_gone(tmp_path: Path) -> None:
    shutil.copytree(PROGRAMS.parent, tmp_path / "sharded")
    program = """
import shutil, sys, torch, opbridge as ob
for _ in range(2):  # the second time from the catalog, without reading the manifest
    lib = ob.load(f"{sys.argv[1]}/ops.yaml")
lib.scaled_mul(torch.ones(2), torch.ones(2))
shutil.rmtree(sys.argv[1])
import torch.distributed.tensor
"""
    command = [PYTHON, "-W", "error", "-c", program, str(tmp_path / "sharded")]
    run = subprocess.run(command, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr


def test_dtensor_is_told_though_somebody_looked_for_it_before(tmp_path: Path) -> None:
    program = """
import importlib.util, sys, torch, opbridge as ob
lib = ob.load(f"{sys.argv[1]}/ops.yaml")
lib.scaled_mul(torch.ones(2), torch.ones(2))
assert importlib.util.find_spec("torch.distributed.tensor")
from torch.distributed.tensor import DTensor
print(torch.ops.sharded.scaled_mul.default in DTensor._op_dispatcher.sharding_propagator.op_strategy_funcs)
"""
    assert succeed(program, str(PROGRAMS.parent)) == "True\n"
