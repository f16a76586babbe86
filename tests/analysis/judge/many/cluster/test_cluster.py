"""Many answers on a cluster of Ray's on this machine, of which a worker is killed while it judges."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import attacks
import pytest

pytest.importorskip("ray", reason="it has an environment of its own: make ray")

WORKERS, ANSWERS = 4, 60
SECONDS = 120.0


def eventually(holds: object, what: str) -> None:
    assert callable(holds)
    end = time.monotonic() + SECONDS
    while not holds():
        assert time.monotonic() < end, what
        time.sleep(0.05)


def below(pid: int) -> set[int]:
    """All processes that have come of one."""
    found: set[int] = set()
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in map(int, task.read_text().split()):
            found |= {child} | below(child)
    return found


def judging(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().startswith(b"ray::judge_submission")
    except OSError:
        return False


@pytest.fixture(scope="module")
def cluster() -> Iterator[tuple[str, int]]:
    """Its address, and the process that all others come of."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [
        str(Path(sys.executable).with_name("ray")),
        "start",
        "--head",
        "--block",
        f"--port={port}",
        "--node-ip-address=127.0.0.1",
    ]
    words = [
        f"--num-cpus={WORKERS}",
        "--include-dashboard=false",
        "--disable-usage-stats",
        "--node-ip-address=127.0.0.1",
    ]
    if not Path(command[0]).exists():
        command[:1] = [sys.executable, "-m", "ray.scripts.scripts"]
    process = subprocess.Popen([*command, *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert process.stdout is not None
    with process:
        for line in process.stdout:
            if "Ray runtime started" in line:
                break
        yield f"127.0.0.1:{port}", process.pid
        process.send_signal(signal.SIGTERM)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "reference.py").write_text(attacks.TASK)
    text = next(iter(attacks.SEEN_IN_THE_TEXT.values()))
    for number in range(ANSWERS):
        (tmp_path / f"answer_{number}.py").write_text(f"{text}\n# {number}\n")
    return tmp_path


def test_a_killed_worker_loses_nothing_and_nothing_is_judged_twice(cluster: tuple[str, int], folder: Path) -> None:
    address, root = cluster
    command = [sys.executable, "-m", "opbridge", "judge", str(folder), "--ray", address]
    kept = folder / "verdicts"
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as asking:
        stopped = 0

        def stop_one() -> bool:
            nonlocal stopped
            stopped = next(filter(judging, below(root)), 0)
            return bool(stopped)

        eventually(stop_one, "no worker judges")
        os.kill(stopped, signal.SIGSTOP)
        eventually(lambda: len(list(kept.glob("*.json"))) > ANSWERS // 4, "the others do not go on")
        os.kill(stopped, signal.SIGKILL)
        assert asking.stdout is not None
        *lines, last = asking.stdout.read().splitlines()
    assert last == f"{ANSWERS} cheating"
    # Beside which Ray says that a worker was killed while it executed a task.
    names = [told[1] for line in lines if (told := re.match(r"\d+/\d+ +(\S+) ", line))]
    assert sorted(names) == sorted(path.name for path in folder.glob("answer_*.py"))
    assert len(list(kept.glob("*.json"))) == ANSWERS
    assert all(json.loads(file.read_text())["verdict"] == "cheating" for file in kept.glob("*.json"))
    before = {file: file.stat().st_mtime_ns for file in kept.iterdir()}
    again = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    assert again.stdout.endswith(f"{ANSWERS} cheating\n")
    assert {file: file.stat().st_mtime_ns for file in kept.iterdir()} == before
