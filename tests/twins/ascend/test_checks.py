"""Each broken kernel of the catalogue is reported as its own last comment says; the right ones are left in peace.

Builds two libraries and starts a process a kernel: some seconds, more at first.
"""

from __future__ import annotations

import ctypes
import os
import re
import subprocess
from pathlib import Path

import pytest
from subprocesses import python

from opbridge.build.toolchains import BuildRequest, build

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
BROKEN = HERE / "broken"
CASES = sorted(path.stem for path in BROKEN.glob("*.cpp"))
MARK = "// Reported:\n"


def built(source: str) -> Path:
    return build(BuildRequest((HERE / source,), f"{Path(source).stem}.so", language="ascend-twin")).path


@pytest.fixture(scope="module")
def catalogue() -> Path:
    return built("catalogue.cpp")


@pytest.fixture(scope="module")
def silent() -> Path:
    return built("silent.cpp")


def run(
    library: Path, function: str, *arguments: object, after: str = "", **variables: str
) -> subprocess.CompletedProcess[str]:
    """Calls a function in a process of its own, as a program of the user's would."""
    code = f"import ctypes; library = ctypes.CDLL({str(library)!r}); result = library.{function}{arguments}; {after}"
    environment = {name: value for name, value in os.environ.items() if not name.startswith("OPBRIDGE_TWIN")}
    return python(code, env=environment | variables, timeout=60)


def reported(stderr: str) -> str:
    return re.sub(r"0x[0-9a-f]{9,}", "0x…", stderr)


def expected(case: str) -> str:
    comment = (BROKEN / f"{case}.cpp").read_text().partition(MARK)[2]
    return "".join(line.removeprefix("// ") for line in comment.splitlines(keepends=True))


def test_the_catalogue_has_every_broken_kernel() -> None:
    assert re.findall(r'#include "broken/(\w+)\.cpp"', (HERE / "catalogue.cpp").read_text()) == CASES


def test_every_check_is_explained_and_has_a_kernel() -> None:
    source = ROOT / "src" / "opbridge" / "twins" / "ascend" / "runtime" / "report.cpp"
    checks = set(re.findall(r'return \{\s*"([a-z-]+)"', source.read_text()))
    section = (ROOT / "docs" / "ascend-checks.md").read_text().partition("## The checks")[2].partition("\n## ")[0]
    explained = re.findall(r"^\| `([a-z-]+)` \|", section, re.MULTILINE)
    shown = {name for case in CASES for name in re.findall(r" \[([a-z-]+)\]$", expected(case), re.MULTILINE)}
    assert sorted(explained) == sorted(checks)
    assert shown == checks


@pytest.mark.parametrize("case", CASES)
def test_a_broken_kernel_is_reported(catalogue: Path, case: str) -> None:
    variables = dict(re.findall(r"^// Variable: (\w+)=(\w+)$", (BROKEN / f"{case}.cpp").read_text(), re.MULTILINE))
    done = run(catalogue, case, **variables)
    assert reported(done.stderr) == expected(case)
    assert done.returncode == 86


PAIRS = {
    "flag_of_others": "missing-sync",
    "one_element_more": "global-race",
    "padded_between_blocks": "misaligned",
    "short_offset": "out-of-bounds",
    "wrapped_offset": "global-race",
    "sum_of_all_blocks": "global-race",
    "mask_of_another_type": "bad-parameter",
    "one_repeat_more": "out-of-bounds",
    "widened": "out-of-bounds",
    "first_turn": "unpaired-flag",
    "one_half_for_two_flags": "missing-sync",
    "gathered": "out-of-bounds",
    "past_the_queue": "missing-sync",
    "queued_when_free": "wrong-queue",
    "less_than_nothing": "out-of-bounds",
    "loaded_over_zeros": "missing-sync",
    "moved_down": "bad-parameter",
    "all_ones": "unset-variable",
    "padded_with_nothing": "uninitialised-local",
    "one_line_for_two": "shared-cache-line",
}


def test_of_two_kernels_that_differ_in_one_mistake_only_the_wrong_one_is_told_of() -> None:
    library = ctypes.CDLL(str(built("pairs.cpp")))
    library.pairs.restype = ctypes.c_char_p
    found = dict(line.split(": ") for line in library.pairs().decode().splitlines())
    verdicts = {name: tuple(set(side.split()) for side in line.split("|")) for name, line in found.items()}
    assert verdicts == {name: ({check}, set()) for name, check in PAIRS.items()}


@pytest.mark.parametrize("threads", ["1", "2"])
@pytest.mark.parametrize("function", ["silent", "silent_on_any_blocks"])
def test_right_kernels_are_left_in_peace(silent: Path, function: str, threads: str) -> None:
    done = run(silent, function, after="raise SystemExit(result)", OPBRIDGE_NUM_THREADS=threads)
    assert (done.returncode, done.stderr) == (0, "")


def test_what_the_compiler_would_order_is_told_of_where_a_project_turns_that_off(silent: Path) -> None:
    flags = ("--cce-auto-sync=off",)
    without = build(BuildRequest((HERE / "silent.cpp",), "silent.so", language="ascend-twin", flags=flags)).path
    told = run(without, "silent")
    missing = set(re.findall(r"silent.cpp:\d+, (\w+) on PIPE_(\w+), block", told.stderr))
    assert told.returncode == 86
    assert missing > {("GetValue", "S"), ("SetValue", "S"), ("Adds", "V"), ("Muls", "V"), ("DataCopy", "MTE3")}
    for library in (silent, without):
        assert run(library, "silent_without_auto_sync").stderr == ""
    assert run(silent, "silent_without_auto_sync", OPBRIDGE_ASCEND_AUTO_SYNC="0").stderr == ""


def test_results_stay_those_of_the_number_of_blocks_that_was_asked_for(silent: Path) -> None:
    done = run(silent, "silent_on_any_blocks", after="raise SystemExit(result)", OPBRIDGE_TWIN_CHECKS="blocks")
    assert (done.returncode, done.stderr) == (0, "")


def test_without_checks_a_missing_flag_goes_unnoticed(catalogue: Path) -> None:
    done = run(catalogue, "no_flag_after_copy", OPBRIDGE_TWIN_CHECKS="0")
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("soc", "chip", "kilobytes"),
    [
        ("", "Ascend910B", 192),
        ("Ascend910B3", "Ascend910B", 192),
        ("Ascend910_93", "Ascend910_93", 192),
        ("Ascend310P3", "Ascend310P", 256),
        ("Ascend950", "Ascend950", 248),
    ],
)
def test_each_chip_has_local_memory_of_its_own(silent: Path, soc: str, chip: str, kilobytes: int) -> None:
    size = kilobytes * 1024
    fits = run(silent, "aclrtlaunch_fill", 1, None, size, OPBRIDGE_ASCEND_SOC=soc)
    assert (fits.returncode, fits.stderr) == (0, "")
    larger = run(silent, "aclrtlaunch_fill", 1, None, size + 32, OPBRIDGE_ASCEND_SOC=soc)
    assert f"0 of the {size} bytes of {chip} are in use" in larger.stderr
    assert larger.returncode == 86


def test_a_chip_that_nobody_knows_is_refused(catalogue: Path) -> None:
    done = run(catalogue, "flag_left_set", OPBRIDGE_ASCEND_SOC="Ascend1")
    assert 'OPBRIDGE_ASCEND_SOC is "Ascend1", expected Ascend910B' in done.stderr


def test_a_host_gets_the_reports_and_the_process_goes_on(catalogue: Path) -> None:
    done = run(
        catalogue,
        "ob_ascend_attach_host",
        after="library.empty_queue(); take = library.ob_ascend_take_reports; take.restype = ctypes.c_char_p; "
        "print(take().decode(), take())",
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"{expected('empty_queue')} None\n"
