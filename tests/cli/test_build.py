"""`opbridge build` for many: so many compilers at a time, and results for other machines."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from subprocesses import python

from opbridge.build.cache import Cache

Opbridge = Callable[..., subprocess.CompletedProcess[str]]

KERNEL = """\
#include <opbridge/kernel.h>
void twice(ob::In<float> x, ob::Out<float> out) {
  ob::parallel_for(out.numel(), [&](int64_t i) { out[i] = x[i] + x[i]; });
}
OB_KERNEL(twice)
"""
MANIFEST = "namespace: fleet\nops:\n  - {func: twice(Tensor x) -> Tensor, out: x, kernels: {cpu: twice.cpp}}\n"

NODE = """
import logging, sys
logging.basicConfig(level="INFO", format="%(message)s", stream=sys.stdout)
import numpy, torch
import opbridge as ob
twice = ob.load("ops.yaml").twice
print(twice(numpy.ones(2, "f")), twice(torch.ones(2)))
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "ops.yaml").write_text(MANIFEST)
    (tmp_path / "twice.cpp").write_text(KERNEL)
    return tmp_path


@pytest.mark.filterwarnings("ignore")
def test_a_node_compiles_nothing_of_what_was_published(project: Path, opbridge: Opbridge) -> None:
    # Where PyTorch's adapter is, which takes long to compile.
    lasting = {"OPBRIDGE_CACHE_DIR": str(Cache().root)}
    key = opbridge("cache", "key", "ci.key").stdout
    publish = ("build", "ops.yaml", "--publish", "shared", "--sign", "ci.key")
    first = opbridge(*publish, **lasting)
    assert first.returncode == 0, first.stderr
    assert "results published into shared" in first.stdout
    again = opbridge(*publish, **lasting)
    assert "0 results published into shared, 3 were there" in again.stdout
    named = dict([re.search(r"export (OPBRIDGE_SHARED_CACHE_KEYS)=(\S+)", key).groups()])  # type: ignore[union-attr]
    node = {
        **os.environ,
        **named,
        "OPBRIDGE_CACHE_DIR": str(project / "node"),
        "OPBRIDGE_SHARED_CACHE": str(project / "shared"),
    }
    done = python(NODE, cwd=project, env=node)
    assert done.stdout.endswith("[2. 2.] tensor([2., 2.])\n"), done.stderr
    assert done.stdout.count(" from the shared cache") == 2
    assert "compiling" not in done.stdout + done.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["-j", "0"], "expected a number of compilers from 1 on, got '0'"),
        (["-j", "many"], "expected a number of compilers from 1 on, got 'many'"),
        (["-o", "lib", "--publish", "shared"], "give one of them"),
        (["--sign", "ci.key"], "--sign is for what --publish DIR adds"),
        (["--publish", "shared", "--sign", "none.key"], "make one: opbridge cache key none.key"),
    ],
)
def test_what_is_refused(project: Path, opbridge: Opbridge, arguments: list[str], words: str) -> None:
    refused = opbridge("build", "ops.yaml", *arguments)
    assert refused.returncode == 2
    assert words in refused.stderr


def test_no_more_compilers_at_a_time_than_asked(project: Path, opbridge: Opbridge) -> None:
    """A compiler of our own notes how many of it run."""
    compiler, running, log = project / "g++", project / "running", project / "log"
    running.mkdir()
    compiler.write_text(
        f"#!/bin/sh\ntouch {running}/$$\nls {running} | wc -l >> {log}\n"
        f'g++ "$@"\ncode=$?\nrm {running}/$$\nexit $code\n'
    )
    compiler.chmod(0o755)
    operators = []
    for name in ("one", "two", "three"):
        (project / f"{name}.cpp").write_text(KERNEL.replace("twice", name))
        operators.append(f"  - {{func: {name}(Tensor x) -> Tensor, out: x, kernels: {{cpu: {name}.cpp}}}}\n")
    (project / "ops.yaml").write_text("namespace: fleet\nops:\n" + "".join(operators))
    done = opbridge("build", "ops.yaml", "-j", "1", CXX=str(compiler))
    assert done.returncode == 0, done.stderr
    assert set(log.read_text().split()) == {"1"}


def test_a_formula_has_no_file_for_an_editor(tmp_path: Path, opbridge: Opbridge) -> None:
    (tmp_path / "ops.yaml").write_text("namespace: m\nops:\n  - {func: twice(Tensor x) -> Tensor, formula: 2 * x}\n")
    told = opbridge("build", "ops.yaml", "--compile-commands")
    assert told.returncode == 2
    assert "ops.yaml names no kernel files" in told.stderr


CUDA = """\
#include <opbridge/kernel.h>
__global__ void add(const float* x, float* out, int64_t n) {
  for (int64_t i = threadIdx.x; i < n; i += blockDim.x) out[i] = x[i] + x[i];
}
void twice(ob::In<float> x, ob::Out<float> out) {
  add<<<1, 64>>>(x.data(), out.data(), x.numel());
}
OB_KERNEL(twice)
"""


def test_what_a_twin_runs_is_built_ahead(project: Path, opbridge: Opbridge, cache_folder: Path) -> None:
    (project / "twice.cu").write_text(CUDA)
    (project / "ops.yaml").write_text(MANIFEST.replace("{cpu: twice.cpp}", "{cuda: twice.cu}"))
    done = opbridge("build", "ops.yaml", "--device", "cuda-twin")
    assert "1 of 1 kernel files ready" in done.stdout, done.stderr
    code = """
import logging; logging.basicConfig(level="INFO")
import opbridge; opbridge.load("ops.yaml", device="cuda-twin")
"""
    loading = python(code, cwd=project, env={**os.environ, "OPBRIDGE_CACHE_DIR": str(cache_folder)})
    assert (loading.returncode, loading.stderr) == (0, "")
