"""Whole files of declarations as a library of the simulated npu; run by `make declarations`, and not by `make test`.

Every generated file compiles without a warning, every kernel registers, and those of PyTorch's operators give what
PyTorch gives on the CPU: through the generated wrapper, and through the generated kernel, with its sizes and element
types, where there is one.  What a backend's authors write themselves is stood for, see stand_ins.py.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from tests.codegen.whole.building import failures
from tests.codegen.whole.stand_ins import with_stand_ins

from opbridge.codegen.backend import Backend
from opbridge.codegen.generator import sources
from opbridge.codegen.inputs import Inputs, Wish

HERE = Path(__file__).parent
SAMPLE = tuple(HERE.parent / "data" / name for name in ("op_plugin.yaml", "backend.yaml", "deprecated.yaml"))
FILES = [Path(name) for name in os.environ.get("OPBRIDGE_DECLARATIONS", "").split()] or [*SAMPLE]
BUILT = HERE.parents[2] / "build" / "declarations"
REACH = 0.95
_ROUNDS = 40
"""A process that ends with a crash has told of one operator more than the one before."""


@pytest.fixture(scope="module")
def backend() -> Backend:
    return Inputs.read(FILES, Wish()).backend()


@pytest.fixture(scope="module")
def said_by_the_compiler(backend: Backend) -> dict[str, str]:
    BUILT.mkdir(parents=True, exist_ok=True)
    return failures(BUILT, with_stand_ins(backend, sources(backend)))


@pytest.fixture(scope="module")
def outcomes(backend: Backend, said_by_the_compiler: dict[str, str]) -> dict[str, str]:
    """What became of each operator of PyTorch's, and of each kernel."""
    assert not said_by_the_compiler
    wanted, results = BUILT / "wanted.json", BUILT / "results.jsonl"
    kernels = [[operator.schema.full_name, kernel.key] for operator in backend.operators for kernel in operator.kernels]
    names = [operator.schema.full_name for operator in backend.operators if not operator.is_custom]
    wanted.write_text(json.dumps({"kernels": kernels, "operators": names}))
    results.unlink(missing_ok=True)
    command = [sys.executable, HERE / "inside.py", BUILT / "library.so", wanted, results]
    for _ in range(_ROUNDS):
        if subprocess.run(command, check=False).returncode == 0:
            break
    return dict(json.loads(line) for line in results.read_text().splitlines())


def test_every_file_compiles_without_a_warning(said_by_the_compiler: dict[str, str]) -> None:
    assert said_by_the_compiler == {}


def test_every_kernel_registers(outcomes: dict[str, str]) -> None:
    kernels = {name: outcome for name, outcome in outcomes.items() if " for " in name}
    print(f"\n{sum(outcome == 'right' for outcome in kernels.values())} of {len(kernels)} kernels register")
    assert kernels == dict.fromkeys(kernels, "right")


def test_pytorchs_operators_give_what_pytorch_gives(outcomes: dict[str, str]) -> None:
    operators = {name: outcome for name, outcome in outcomes.items() if " for " not in name}
    for name, outcome in operators.items():
        if outcome != "right":
            print(f"{name}: {outcome}")
    counted = Counter(outcome.partition(":")[0] for outcome in operators.values())
    print(f"\n{counted['right']} of {len(operators)} operators give what PyTorch gives: {dict(counted)}")
    assert counted["right"] >= REACH * (len(operators) - counted["not on the CPU"])
