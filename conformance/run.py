"""Compare every operator of PyTorch's test samples in MindSpore and NumPy with PyTorch: `make conformance`.

An interrupted run continues.  --retry repeats entries that did not pass.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import select
import subprocess
import sys
import threading
from collections.abc import Iterable
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

import report
from worker import tasks

HERE = Path(__file__).parent
RESULTS = HERE.parent / "build" / "conformance" / "results.jsonl"
DOCUMENT = HERE.parent / "docs" / "evidence" / "conformance.md"

_ENTRIES_A_PROCESS = 60
"""MindSpore keeps what it compiles for every shape, for good."""
_SECONDS_AN_ENTRY = 600


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="conformance/run.py", description=__doc__)
    parser.add_argument("--only", metavar="REGEX", default="", help="the entries whose whole name matches")
    parser.add_argument("--samples", type=int, metavar="N", help="at most so many samples an entry")
    parser.add_argument("--jobs", type=int, metavar="N", default=os.cpu_count(), help="processes (default: one a core)")
    parser.add_argument("--results", type=Path, metavar="FILE", default=RESULTS, help=f"default: {RESULTS}")
    parser.add_argument("--retry", action="store_true", help="run again what did not pass")
    parser.add_argument("--fresh", action="store_true", help="forget earlier results")
    parser.add_argument("--write", action="store_true", help=f"write the table into {DOCUMENT.name}")
    options = parser.parse_args(arguments)

    options.results.parent.mkdir(parents=True, exist_ok=True)
    if options.fresh:
        options.results.unlink(missing_ok=True)
    known = _earlier(options.results)
    wanted = tasks(lambda name: not options.only or re.fullmatch(options.only, name) is not None, options.samples)
    if not wanted:
        parser.error(f"no entry is called {options.only}")
    missing = [
        task for task in wanted if _key(task) not in known or (options.retry and not report.passed(known[_key(task)]))
    ]
    if missing:
        known |= _run(missing, options.jobs, options.results, len(wanted) - len(missing))
    judged = [known[_key(task)] for task in wanted]
    print(report.summary(judged))
    if options.write:
        report.write(DOCUMENT, judged)
    return 0 if report.share(judged) >= report.REACH else 1


def _key(task: dict[str, Any]) -> tuple[Any, ...]:
    return task["entry"], task["dtype"], task["samples"]


def _earlier(path: Path) -> dict[tuple[Any, ...], dict[str, Any]]:
    found = {}
    if path.exists():
        for line in path.read_text().splitlines():
            try:
                result = json.loads(line)
            except ValueError:
                continue  # the last line of a killed run
            found[_key(result)] = result
    return found


def _run(
    missing: Iterable[dict[str, Any]], jobs: int, results: Path, before: int
) -> dict[tuple[Any, ...], dict[str, Any]]:
    queue: SimpleQueue[dict[str, Any]] = SimpleQueue()
    total = before
    for task in missing:
        queue.put(task)
        total += 1
    done: dict[tuple[Any, ...], dict[str, Any]] = {}
    lock = threading.Lock()

    def finish(result: dict[str, Any]) -> None:
        with lock, results.open("a") as file:
            file.write(json.dumps(result) + "\n")
            done[_key(result)] = result
            _progress(before + len(done), total, result)

    threads = [threading.Thread(target=_feed, args=(queue, finish), daemon=True) for _ in range(jobs)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return done


def _feed(queue: SimpleQueue[dict[str, Any]], finish: Any) -> None:
    """Run one worker after another, each with its share of the queue."""
    while not queue.empty():
        worker = subprocess.Popen(
            [sys.executable, HERE / "worker.py"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=os.environ | {"GLOG_v": "4"},
        )
        assert worker.stdin is not None
        assert worker.stdout is not None
        try:
            for _ in range(_ENTRIES_A_PROCESS):
                try:
                    task = queue.get_nowait()
                except Empty:
                    break
                try:
                    print(json.dumps(task), file=worker.stdin, flush=True)
                    answered = select.select([worker.stdout], [], [], _SECONDS_AN_ENTRY)[0]
                    answer = worker.stdout.readline() if answered else ""
                except BrokenPipeError:
                    answered, answer = True, ""
                if not answer:
                    worker.kill()
                    how = f"ended with {worker.wait()}" if answered else f"did not end in {_SECONDS_AN_ENTRY} s"
                    finish(task | {"checks": {"process": {"failed": 1}}, "reasons": {"process": f"the process {how}"}})
                    break
                finish(json.loads(answer))
        finally:
            worker.kill()
            worker.wait()
            worker.stdin.close()
            worker.stdout.close()


def _progress(done: int, total: int, result: dict[str, Any]) -> None:
    width = 30
    bar = "█" * (done * width // total)
    mark = "" if report.passed(result) else "  not passed"
    line = f"{bar:<{width}} {done}/{total}  {result['entry']} {result['dtype']}{mark}"
    if sys.stderr.isatty():
        print(f"\r\033[K{line[:110]}", end="\n" if mark or done == total else "", file=sys.stderr, flush=True)
    elif mark or done % 100 == 0:
        print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
