"""Time counts where a process could have gone on, and not where the machine was busy with others."""

from __future__ import annotations

import subprocess
import sys

import pytest

from opbridge.verify.check.timeouts import Sample, Thread, Waiting


@pytest.mark.parametrize(
    ("computed", "waited", "is_ready", "counts"),
    [
        (0.5, 1.5, True, 0.5),  # it had a quarter of a processor
        (0.0, 0.0, True, 0.0),  # others had all of them, and it still waits
        (0.0, 0.0, False, 2.0),  # it sleeps
        (0.1, 0.0, False, 2.0),  # it looks now and then whether it may go on
        (2.0, 0.0, True, 2.0),
    ],
)
def test_what_counts(computed: float, waited: float, is_ready: bool, counts: float) -> None:
    before = Sample(10.0, {"7": Thread(30.0, 5.0, True)})
    after = Sample(12.0, {"7": Thread(30.0 + computed, 5.0 + waited, is_ready)})
    assert after.counts_since(before) == counts


def test_the_thread_that_waited_most_decides() -> None:
    idle, begun = Thread(0.0, 0.0, False), Thread(0.5, 0.25, True)
    assert Sample(2.0, {"7": idle, "8": begun}).counts_since(Sample(1.0, {"7": idle})) == 0.75


def test_processes_are_looked_at() -> None:
    program = "import sys; total = sum(range(10**7)); print(total, flush=True); sys.stdin.read()"
    with subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        (found,) = Sample.of([process.pid]).threads.values()
        process.communicate()
    assert found.computed > 0
    assert not Sample.of([process.pid]).threads, "it has ended"


def test_a_sign_begins_anew() -> None:
    waiting = Waiting(list)
    assert waiting.look() == 0, "from the first look on"
    assert waiting.look() > 0
    waiting.begin_anew()
    assert waiting.look() == 0
