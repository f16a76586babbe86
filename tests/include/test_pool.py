"""opbridge/pool.h: the threads of a process."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest


@pytest.mark.parametrize(
    ("flags", "arguments"),
    [(["-O2"], []), (["-O1", "-g", "-fsanitize=thread"], ["without-forks"])],
    ids=["plain", "thread sanitizer"],
)
def test_the_pool_bears_many_callers_nesting_and_forks(
    build: Callable[..., Path], flags: list[str], arguments: list[str]
) -> None:
    made = build("pool_stress.cpp", "-pthread", *flags)
    done = subprocess.run([str(made), *arguments], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, "ok\n", "")


def test_the_pool_is_one_for_the_process(build: Callable[..., Path]) -> None:
    made = build("pool_stress.cpp", "-pthread", "-fPIC", "-shared", "-fvisibility=hidden")
    symbols = subprocess.run(["nm", "-D", "-C", made], capture_output=True, text=True, check=True).stdout
    assert re.search(r" u ob::pool_v1::pool$", symbols, re.MULTILINE)


@pytest.mark.parametrize(
    ("asked", "printed", "said"),
    [
        ("3", "3", ""),
        ("1", "1", ""),
        ("none", str(len(os.sched_getaffinity(0))), "OPBRIDGE_NUM_THREADS is 'none'; expected a number from 1 to 4096"),
    ],
)
def test_a_standalone_kernel_brings_its_own_threads(
    build: Callable[..., Path], asked: str, printed: str, said: str
) -> None:
    made = build("standalone.cpp", "-pthread")
    environment = os.environ | {"OPBRIDGE_NUM_THREADS": asked}
    done = subprocess.run([str(made)], capture_output=True, text=True, env=environment, timeout=60)
    assert (done.returncode, done.stdout) == (0, f"{printed}\n")
    assert said in done.stderr
    assert bool(said) == bool(done.stderr)
