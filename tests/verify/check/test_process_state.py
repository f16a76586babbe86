"""A kernel that does something to its process is named for it, and reaches nothing beyond the process of its check."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

import opbridge as ob
from opbridge.verify.check import Row, Status, check
from opbridge.waist.op import OpLibrary

SOURCE = Path(__file__).parent / "manners" / "kernels.cpp"

ILL_MANNERED = {
    "aborts": "the process dies of SIGABRT at kernels.cpp:",
    "exits": "the process ends with exit code 0, as by exit()",
    "exits_badly": "the process ends with exit code 3",
    "hangs": "no answer in 2 s",
    "forks": "starts a process",
    "forks_around_libc": "starts a process",
    "forks_and_waits": "starts a process",
    "bombs": "it starts more than 200 processes",
    "leaves_a_process": "starts a process",
    "closes_its_output": "closes files that it did not open (descriptor 1)",
    "closes_everything": "it closes files that it did not open",
    "leaves_files_open": "leaves 1 file open at every call",
    "moves": "changes the current folder from ",
    "sets": "changes the environment (MANNERS=none)",
    "unsets": "changes the environment (PATH is gone)",
    "handles": "changes the handler of SIGINT",
    "blocks": "changes whether SIGHUP, SIGINT",
    "speaks": "changes the locale from ",
    "masks": "changes the umask from ",
    "rounds": "changes the floating-point mode of its caller's thread",
    "fills_the_disk": "it writes a file of more than 4 GiB",
}
WELL_MANNERED = ("uses_threads", "uses_a_pool", "keeps_one_file", "cleans_up", "uses_openmp")


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> OpLibrary:
    folder = tmp_path_factory.mktemp("manners")
    os.symlink(SOURCE, folder / "kernels.cpp")
    lines = [
        f"  - {{func: {name}(Tensor x) -> Tensor, out: x, kernels: {{cpu: kernels.cpp}}, batch: elementwise}}\n"
        for name in (*ILL_MANNERED, *WELL_MANNERED, "fills_the_memory")
    ]
    (folder / "ops.yaml").write_text("namespace: manners\nops:\n" + "".join(lines))
    with pytest.MonkeyPatch.context() as changed:
        changed.setenv("CXXFLAGS", "-fopenmp")
        changed.setenv("LDFLAGS", "-fopenmp")
        loaded: OpLibrary = ob.load(folder / "ops.yaml", allow_outside=True)
        loaded.moves.numpy  # noqa: B018
    return loaded


@pytest.fixture(scope="module")
def rows(library: OpLibrary) -> dict[str, Row]:
    found = check([library[name] for name in ILL_MANNERED], frameworks=["numpy"], checks=["manners"], timeout=2.0)
    return {row.operator.partition("::")[2]: row for row in found}


@pytest.mark.parametrize("name", [*ILL_MANNERED])
def test_bad_manners_are_named(rows: dict[str, Row], name: str) -> None:
    row = rows[name]
    assert (row.check, row.status) == ("manners", Status.FAILED)
    assert row.message.startswith(ILL_MANNERED[name])


def test_good_manners_pass(library: OpLibrary) -> None:
    found = check([library[name] for name in WELL_MANNERED], frameworks=["numpy"], checks=["manners"])
    assert [(row.status, row.message) for row in found] == [(Status.PASSED, "on 5 inputs")] * len(WELL_MANNERED)


def test_memory_without_end_is_not_to_be_had(library: OpLibrary) -> None:
    (row,) = check(library.fills_the_memory, frameworks=["numpy"], checks=["manners"])
    assert row.failed
    assert "no memory" in row.message


def running_commands() -> Iterator[bytes]:
    """The command lines of all processes of the machine."""
    for name in filter(str.isdigit, os.listdir("/proc")):
        with suppress(OSError):  # it has ended
            yield Path(f"/proc/{name}/cmdline").read_bytes()


def test_a_kernel_that_forks_is_checked_to_the_end_and_leaves_nothing_behind(library: OpLibrary) -> None:
    found = check([library.forks, library.leaves_a_process], frameworks=["numpy"], timeout=20.0)
    passed = {row.check for row in found if row.operator == "manners::forks" and row.status is Status.PASSED}
    assert {"shapes", "bounds"} <= passed
    assert len({(row.operator, row.check) for row in found}) == len(found)
    assert not [command for command in running_commands() if b"sleep\0001000.25" in command]
