"""Processes that are forks of one that has imported what they need."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from opbridge.base.errors import ToolchainError
from opbridge.verify.check.child_process import Child
from opbridge.verify.check.forked_processes import Forks

WORKER = """
import os, signal, subprocess, sys, time
from opbridge.verify.check.child_process import serve, told_more


def work(jobs, say):
    wait = told_more()
    (job,) = jobs
    if job == "imports":
        say(found="fractions" in sys.modules, variable=os.environ["OWN"], of_all=os.environ["OF_ALL"])
    if job == "told":
        say(told=wait(), rest=sys.stdin.read())
    if job == "writes a line without an end":
        while True:
            os.write(int(sys.argv[2]), b"x" * 60000)
    if job == "writes no JSON":
        os.write(int(sys.argv[2]), b"hello\\n")
        time.sleep(600)
    if job == "prints much":
        os.ftruncate(1, 600 << 20)
        os.lseek(1, 0, os.SEEK_END)
        os.write(1, b"the end")
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


def test_nothing_waits_for_a_child_that_does_not_listen(forks: Forks) -> None:
    with fork(forks, "exits") as child:
        child.tell(bytes(8 << 20))
        assert "exit code 3" in child.end()


@pytest.mark.parametrize("job", ["writes a line without an end", "writes no JSON"])
def test_what_is_no_message_ends_the_child(forks: Forks, job: str) -> None:
    with fork(forks, job) as child:
        assert list(child.messages()) == [{"ready": True}]
        assert child.end().startswith("it writes")


def test_only_the_end_of_what_it_prints_is_read(forks: Forks) -> None:
    with fork(forks, "prints much") as child:
        list(child.messages())
        assert child.end() == ""
        assert child.log() == "the end"


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
