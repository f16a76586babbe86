"""Time counts where a process could have gone on, and not where the machine was busy with others."""

from __future__ import annotations

import subprocess
import sys

import pytest

from opbridge.check.patience import Sample, Waiting


@pytest.mark.parametrize(
    ("computed", "is_ready", "counts"),
    [
        (0.25, True, 0.25),  # it had a quarter of a processor
        (0.0, True, 0.0),  # others had all of them
        (0.0, False, 2.0),  # it sleeps
        (0.25, False, 0.25),  # it waits for a thread of its own
        (7.5, True, 2.0),  # on four processors
    ],
)
def test_what_counts(computed: float, is_ready: bool, counts: float) -> None:
    before, after = Sample(10.0, 30.0, False), Sample(12.0, 30.0 + computed, is_ready)
    assert after.counts_since(before) == counts


def test_what_a_process_computed_stays_when_it_has_ended() -> None:
    assert Sample(2.0, 0.0, True).counts_since(Sample(1.0, 5.0, True)) == 0.0


def test_processes_are_looked_at() -> None:
    program = "import sys; total = sum(range(10**7)); print(total, flush=True); sys.stdin.read()"
    with subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        found = Sample.of([process.pid])
        process.communicate()
    assert found.computed > 0
    assert Sample.of([process.pid]).computed == 0, "it has ended"


def test_a_sign_begins_anew() -> None:
    waiting = Waiting(list)
    assert waiting.look() == 0, "from the first look on"
    assert waiting.look() > 0
    waiting.begin_anew()
    assert waiting.look() == 0
