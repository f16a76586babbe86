"""Provide `PYTHON`, which runs a program as `sys.executable` does and starts with its frameworks imported.

Each program is a process of its own, forked from one whose imports are done.  Tests of what only a new process shows
(what it imports, signals of a terminal, limits of a shell, LD_PRELOAD) use `sys.executable`.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
PYTHON = str(HERE.parents[2] / "build" / "forked_python" / "python")
"""The client, which becomes `sys.executable` where no server runs."""
FORKS, COSTS = "OPBRIDGE_TESTS_FORKS", "OPBRIDGE_TESTS_FORK_COSTS"


class ForkServer:
    """The server for one run of the tests; its variables reach every worker and every client."""

    def __init__(self) -> None:
        _build_client()
        self._folder = tempfile.TemporaryDirectory(prefix="opbridge-forks-")
        self.costs = Path(self._folder.name, "costs")
        self.costs.touch()
        place = f"{self._folder.name}/socket"
        command = [sys.executable, str(HERE / "server.py"), place]
        self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == b"listening\n"
        os.environ |= {FORKS: place, COSTS: str(self.costs)}

    def stop(self) -> None:
        """End the server; the processes that it forks from end with it."""
        self._process.kill()
        self._process.communicate()
        for name in (FORKS, COSTS):
            os.environ.pop(name, None)
        self._folder.cleanup()


def _build_client() -> None:
    source, client = HERE / "client.c", Path(PYTHON)
    stamp = client.with_name("made-for")
    wanted = f"{sys.executable}\n{source.read_text()}"
    if client.exists() and stamp.exists() and stamp.read_text() == wanted:
        return
    client.parent.mkdir(parents=True, exist_ok=True)
    made = client.with_name(f"python-{os.getpid()}")
    subprocess.run(["cc", "-O1", f'-DPYTHON="{sys.executable}"', str(source), "-o", str(made)], check=True)
    made.rename(client)
    stamp.write_text(wanted)
