"""Send 1,000 requests from 32 clients to `opbridge judge --serve`: count and time the verdicts.

The answers need no build, because this measures the service and not the twin: answers that inspect the call stack, that
are invalid Python, or that use Triton, each content four times.
"""

from __future__ import annotations

import http.client
import json
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

REQUESTS, CLIENTS, QUEUE, SAME = 1_000, 32, 20, 4
TASK = """
import torch
class Model(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x)
def get_inputs():
    return [torch.rand(16, 2048)]
def get_init_inputs():
    return []
"""
KINDS = {
    "cheating": "import sys\nsys._getframe()\nclass ModelNew: pass\n",
    "broken": "class ModelNew(:\n",
    "undecided": "import triton\nclass ModelNew: pass\n",
}


def requests() -> list[tuple[str, str]]:
    """Yield each request with the expected verdict."""
    contents = [
        (verdict, f"{source}# {number}\n")
        for number in range(REQUESTS // SAME // len(KINDS) + 1)
        for verdict, source in KINDS.items()
    ][: REQUESTS // SAME]
    return contents * SAME


def handed_in(port: int, sent: tuple[str, str]) -> tuple[bool, int, float]:
    """Return whether the right verdict came, the number of rejected tries, and the seconds."""
    verdict, answer = sent
    body = json.dumps({"reference": TASK, "answer": answer})
    started, away = time.perf_counter(), 0
    while True:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=600)
        connection.request("POST", "/judgements?wait=300", body, {"Content-Type": "application/json"})
        reply = connection.getresponse()
        said = json.loads(reply.read())
        connection.close()
        if reply.status != 503:
            return said.get("verdict") == verdict, away, time.perf_counter() - started
        away += 1
        time.sleep(int(reply.headers["Retry-After"]) / 10)


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "opbridge", "judge", "--serve", folder, "--port", "0"]
        words = ["--jobs", "2", "--queue", str(QUEUE)]
        with subprocess.Popen([*command, *words], stdout=subprocess.PIPE, text=True) as server:
            assert server.stdout is not None
            port = int(server.stdout.readline().partition(",")[0].rpartition(":")[2])
            started = time.perf_counter()
            with ThreadPoolExecutor(CLIENTS) as clients:
                done = list(clients.map(lambda sent: handed_in(port, sent), requests()))
            seconds = time.perf_counter() - started
            server.send_signal(signal.SIGTERM)
            ended = server.wait(60)
        kept = len(list(Path(folder, "verdicts").glob("*.json")))
    contents = len(set(requests()))
    right = sum(fits for fits, _, _ in done)
    times = sorted(spent for _, _, spent in done)
    away = sum(count for _, count, _ in done)
    print(f"{len(done)} requests from {CLIENTS} clients in {seconds:.1f} s, {right} with the right verdict")
    print(f"{kept} verdicts kept of {contents} contents; {away} times sent away by a full queue, exit code {ended}")
    print(f"a request: median {statistics.median(times):.3f} s, 99 % within {times[len(times) * 99 // 100]:.3f} s")
    return 0 if right == REQUESTS and kept == contents and ended == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
