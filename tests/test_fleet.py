"""Processes that start at once on one empty cache: one of them compiles, and all have the operator."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from forked_python import PYTHON
from subprocesses import succeed

_COUNT = 12
_PROCESS = """
import numpy
import opbridge as ob
input()
op = ob.load("scale.cpp", schema="fleet::scale(Tensor x, float by) -> Tensor", out="x")
print(op(numpy.ones(3), 2.5))
"""
_KERNEL = """
#include <opbridge/kernel.h>
void scale(ob::In<double> x, ob::Out<double> out, double by) {
  for (int64_t i = 0; i < out.numel(); ++i) out[i] = x[i] * by;
}
OB_KERNEL(scale)
"""


@pytest.fixture
def compiler(tmp_path: Path) -> Path:
    """g++, which notes each source that it compiles in `compiled`."""
    path = tmp_path / "g++"
    note = f'case " $* " in *" -c "*) echo >> {tmp_path}/compiled;; esac'
    path.write_text(f'#!/bin/sh\n{note}\nexec {shutil.which("g++")} "$@"\n')
    path.chmod(0o755)
    return path


@pytest.mark.cases(1)
@pytest.mark.parametrize("caches", [1, 3], ids=["one cache", "three machines and a shared cache"])
def test_a_fleet_compiles_once(tmp_path: Path, compiler: Path, caches: int) -> None:
    (tmp_path / "scale.cpp").write_text(_KERNEL)
    environment = os.environ | {"CXX": str(compiler)}
    if caches > 1:
        published(tmp_path, environment)
        environment |= {"OPBRIDGE_SHARED_CACHE": str(tmp_path / "shared")}
    processes = [
        subprocess.Popen(
            [PYTHON, "-c", _PROCESS],
            cwd=tmp_path,
            env=environment | {"OPBRIDGE_CACHE_DIR": str(tmp_path / f"cache-{i % caches}")},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for i in range(_COUNT)
    ]
    for process in processes:
        print(file=process.stdin, flush=True)
    assert [process.communicate(timeout=120)[0] for process in processes] == ["[2.5 2.5 2.5]\n"] * _COUNT
    # What all kernels have in common, and the kernel.
    assert (tmp_path / "compiled").read_text().count("\n") == 2


def published(folder: Path, environment: dict[str, str]) -> None:
    """Has one machine fill the shared cache."""
    program = """
import opbridge as ob
from opbridge.build.cache import Cache
from opbridge.build.cache.shared import SharedCache
from pathlib import Path
ob.load("scale.cpp", schema="fleet::scale(Tensor x, float by) -> Tensor", out="x")
cache = Cache()
for entry in cache.entries():
    assert cache.publish(entry.path, SharedCache(Path("shared")))
"""
    cache = {"OPBRIDGE_CACHE_DIR": str(folder / "ci")}
    succeed(program, cwd=folder, env=environment | cache)
