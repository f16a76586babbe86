"""Processes that are forks of one that has imported what they need."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from opbridge.base.errors import ToolchainError
from opbridge.verify.check.child import Child
from opbridge.verify.check.forking import Forks

WORKER = """
import os, signal, subprocess, sys, time
from opbridge.verify.check.child import serve, told_more


def work(jobs, say):
    wait = told_more()
    (job,) = jobs
    if job == "imports":
        say(found="fractions" in sys.modules, variable=os.environ["OWN"], of_all=os.environ["OF_ALL"])
    if job == "told":
        say(told=wait(), rest=sys.stdin.read())
    if job == "dies":
        os.kill(os.getpid(), signal.SIGSEGV)
    if job == "exits":
        sys.exit(3)
    if job == "leaves one behind":
        read, write = os.pipe()
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                os.write(write, str(os.getpid()).encode())
                time.sleep(600)
            os._exit(0)
        say(left=int(os.read(read, 20)))


serve(work)
"""


@pytest.fixture(scope="module")
def forks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Forks]:
    folder = tmp_path_factory.mktemp("module")
    (folder / "forked_worker.py").write_text(WORKER)
    path = os.pathsep.join((str(folder), os.environ.get("PYTHONPATH", "")))
    with Forks(["fractions"], {"PYTHONPATH": path, "OF_ALL": "all"}) as forks:
        yield forks


def fork(forks: Forks, job: str) -> Child:
    return Child("forked_worker", [job], {"OWN": job}, 60, forks.start, is_told_more=True)


def test_a_fork_has_what_was_imported(forks: Forks) -> None:
    with fork(forks, "imports") as child:
        assert list(child.messages())[1:] == [{"found": True, "variable": "imports", "of_all": "all"}]
        assert child.end() == ""


def test_it_is_told_more(forks: Forks) -> None:
    with fork(forks, "told") as child:
        child.tell({"trials": (1, 2)})
        assert list(child.messages())[1:] == [{"told": {"trials": [1, 2]}, "rest": ""}]


@pytest.mark.parametrize(("job", "end"), [("dies", "dies of SIGSEGV"), ("exits", "ends with exit code 3")])
def test_how_it_ends(forks: Forks, job: str, end: str) -> None:
    with fork(forks, job) as child:
        assert len(list(child.messages())) == 1
        assert end in child.end()


def test_two_at_a_time(forks: Forks) -> None:
    with fork(forks, "told") as first, fork(forks, "told") as second:
        second.tell(2)
        assert list(second.messages())[1]["told"] == 2
        first.tell(1)
        assert list(first.messages())[1]["told"] == 1


def test_what_leaves_its_group_ends_with_it(forks: Forks) -> None:
    with fork(forks, "leaves one behind") as child:
        left = next(said["left"] for said in child.messages() if "left" in said)
        assert child.end() == ""
    with pytest.raises(ProcessLookupError):
        os.kill(left, 0)


def test_a_dead_one_begins_again(forks: Forks) -> None:
    process = forks._process
    assert process is not None
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    with fork(forks, "imports") as child:
        assert len(list(child.messages())) == 2


def test_why_there_are_none_is_said_to_each_who_asks(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "refusing.py").write_text(
        "from opbridge.base.errors import UnsupportedError\nraise UnsupportedError('no')"
    )
    with Forks(["refusing"], {"PYTHONPATH": str(tmp_path)}) as forks:
        for _ in range(2):
            with pytest.raises(ToolchainError, match=r"^no$"):
                fork(forks, "imports")
    assert capfd.readouterr().err == ""
