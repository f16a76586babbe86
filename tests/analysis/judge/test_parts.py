"""Sizes, bounds, bytes and confinement, each by itself."""

from __future__ import annotations

import os
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from forked_python import PYTHON
from hypothesis import given
from hypothesis import strategies as st
from tests.helpers.confinement import needs_confinement

from opbridge.analysis.judge.answer.submissions import Options
from opbridge.analysis.judge.judgement import Judgement, Reason, Verdict
from opbridge.analysis.judge.process.confinement import hand_on, private_folder
from opbridge.analysis.judge.process.reference_worker import is_needless, limits_of
from opbridge.analysis.judge.task.shapes import (
    KEPT,
    LONG,
    LOOSE,
    ODD,
    ODD_AND_LONG,
    ODD_WHERE_FEW,
    PUBLISHED,
    SHRUNK,
    Plan,
    patient,
    plans,
    shrunk,
    smallest,
)
from opbridge.analysis.judge.task.sizes import published_sizes, with_sizes
from opbridge.analysis.judge.values import Array, load, save
from opbridge.base.errors import InputError

TASK = "batch = 16\ndim = 64 * 256\nwindow = 3\nshape = (4000, 30)\nrate = 0.5\n"


def array(*numbers: float, dtype: str = "float32") -> Array:
    return Array(dtype, (len(numbers),), np.array(numbers, dtype).tobytes())


@given(st.integers(1, 1 << 20))
def test_smaller_sizes_keep_what_divides_them(size: int) -> None:
    assert 0 < shrunk(size) <= max(size, 1)
    for unit in (2, 4, 8, 16, 32, 64):
        assert size % unit or size <= 64 or shrunk(size) % unit == 0
    assert all(size % unit or smallest(size) % unit == 0 for unit in (2, 4, 8))


def test_sizes_that_the_answer_names_stay() -> None:
    all_plans = plans(published_sizes(TASK), "constexpr int kRows = 4000;")
    by_kind = {plan.kind: dict(plan.sizes) for plan in reversed(all_plans)}
    assert by_kind[SHRUNK]["dim"] == 64
    assert "window" not in by_kind[SHRUNK]
    assert "shape" not in by_kind[SHRUNK]
    loose = [dict(plan.sizes)["shape"] for plan in all_plans if plan.kind == LOOSE]
    assert loose[0] == (4000, 18), "an answer that is right there need not be held at others that take long"
    assert (24, 18) in loose
    assert by_kind[ODD]["dim"] == 65
    assert by_kind[PUBLISHED] == {}


def test_sizes_of_several_names() -> None:
    task = "height = width = 1024\nbatch, (dim) = 128, 4096\nother, another = 1, [2]\n"
    assert published_sizes(task) == {
        "height": 1024,
        "width": 1024,
        "batch": 128,
        "dim": 4096,
        "other": 1,
        "another": [2],
    }
    plan = Plan(SHRUNK, (("height", 64), ("width", 64), ("dim", 32)))
    values: dict[str, object] = {}
    exec(compile(with_sizes(task, dict(plan.sizes)), "task.py", "exec"), values)
    assert [values[name] for name in ("height", "width", "batch", "dim")] == [64, 64, 128, 32]


IN_FUNCTIONS = """
rows = 512

def get_inputs():
    width = 4096
    return [draw(rows, width, 64 * 32), draw((1, 4096)), draw(-1, 0.5, width - 1)]

def get_init_inputs(width=4096):
    return [width, True]

def another():
    return 4096
"""


def test_sizes_within_the_functions_that_make_inputs_are_known_by_their_numbers() -> None:
    assert published_sizes(IN_FUNCTIONS) == {"rows": 512, "4096": 4096, "2048": 2048, "1": 1}
    values: dict[str, Any] = {"draw": lambda *sizes: sizes}
    exec(compile(with_sizes(IN_FUNCTIONS, {"rows": 32, "4096": 64, "2048": 96}), "task.py", "exec"), values)
    assert values["get_inputs"]() == [(32, 64, 96), ((1, 64),), (-1, 0.5, 63)]
    assert values["get_init_inputs"]() == [64, True]
    assert values["another"]() == 4096


def test_what_an_answer_repeats_of_its_task_names_no_size() -> None:
    answer = 'source = """// 4000 rows\nint x[77];"""\nshape = (4000, 30)\ndef get_inputs():\n    return 16384\n'
    by_kind = {plan.kind: dict(plan.sizes) for plan in reversed(plans({"a": 4000, "b": 16384, "c": 77}, answer))}
    assert by_kind[SHRUNK]["a"] < 4000
    assert by_kind[SHRUNK]["b"] == 64
    assert "c" not in by_kind[SHRUNK]


def test_few_images_where_batches_are_no_tiles() -> None:
    some = [plan for plan in plans({"batch_size": 128, "width": 256}, "") if not plan.is_odd]
    few = [plan for plan in some if plan.is_of_images and not plan.is_last_resort]
    assert [(plan.kind, dict(plan.sizes)) for plan in few] == [
        (SHRUNK, {"batch_size": 2, "width": 128}),
        (SHRUNK, {"batch_size": 2, "width": 64}),
        (SHRUNK, {"batch_size": 2}),  # a layer behind may be made for what comes of that width
        (LOOSE, {"batch_size": 2, "width": 24}),
    ]


def test_sizes_that_depend_on_each_other_become_less_together() -> None:
    """As a norm's of 64 on what a transposed convolution makes of a width of 32."""
    sizes = {"batch": 32, "channels": 64, "width": 32, "window": 3}
    loose = [{**sizes, **dict(plan.sizes)} for plan in plans(sizes, "") if plan.kind == LOOSE]
    assert {"batch": 8, "channels": 16, "width": 8, "window": 3} in loose
    assert {"batch": 4, "channels": 8, "width": 4, "window": 3} in loose


@pytest.mark.parametrize(
    ("answer", "relies"),
    [
        ("n / 8 + 256", False),
        ("n / 64", True),
        ("n / 2048", True),
        ("x.size(64) * y.sizes()[64] * z.shape[64]", False),
        ("x.size(1) / 64", True),
    ],
)
def test_an_answer_can_rely_on_what_its_numbers_divide(answer: str, relies: bool) -> None:
    some = plans({"rows": 64, "features": 96, "depth": 8}, answer)
    plan = next(plan for plan in some if plan.kind == LOOSE and "rows" in dict(plan.sizes))
    assert plan.is_relied_on is relies


def test_sizes_that_an_answer_does_not_rely_on_come_before_those_that_take_long() -> None:
    some = plans({"rows": 64, "features": 128, "width": 512}, "blockIdx.x * 512")
    kinds = ["last" if plan.is_last_resort else "relied on" if plan.is_relied_on else plan.kind for plan in some]
    order = list(dict.fromkeys(kinds))
    assert [kind for kind in order if "odd" not in kind and kind != LONG] == [
        SHRUNK,
        LOOSE,
        "last",
        PUBLISHED,
        "relied on",
    ]


def test_each_long_size_is_once_of_several_blocks() -> None:
    long = [plan for plan in plans({"batch": 128, "length": 65536, "features": 4095}, "") if plan.is_long]
    assert [(plan.kind, dict(plan.sizes)) for plan in long] == [
        (LONG, {"batch": 64, "length": 64, "features": 2113}),
        (LONG, {"batch": 64, "length": 3 * 1024, "features": 33}),
        (ODD_AND_LONG, {"batch": 25, "length": 2113, "features": 18}),
    ]
    assert not [plan for plan in plans({"batch": 64, "length": 2048}, "") if plan.is_long], "it is none of the task"


def test_a_long_size_may_stand_in_a_tuple() -> None:
    long = [plan for plan in plans({"batch": 128, "shape": (16, (65536,))}, "") if plan.is_long]
    assert [(plan.kind, dict(plan.sizes)) for plan in long] == [
        (LONG, {"batch": 64, "shape": (16, (3 * 1024,))}),
        (ODD_AND_LONG, {"batch": 25, "shape": (16, (2113,))}),
    ]


@pytest.mark.parametrize(
    ("published", "smaller", "odd"),
    [
        ({"m": 1024, "k": 4096, "n": 2048}, {"m": 64, "k": 192, "n": 128}, {"m": 65, "k": 193, "n": 129}),
        ({"rows": 4096, "columns": 4096}, {"rows": 64, "columns": 64}, {"rows": 65, "columns": 65}),
        ({"length": 1024, "chunk": 64}, {"length": 128}, {"length": 129, "chunk": 65}),
    ],
)
def test_sizes_that_differ_go_on_to_do_so(
    published: dict[str, object], smaller: dict[str, object], odd: dict[str, object]
) -> None:
    first = {plan.kind: dict(plan.sizes) for plan in reversed(plans(published, ""))}
    assert (first[SHRUNK], first[ODD]) == (smaller, odd)


def test_groups_keep_several_elements() -> None:
    task = {"batch": 32768, "features": 4096, "groups": 64}
    small = [{**task, **dict(plan.sizes)} for plan in plans(task, "") if plan.kind == SHRUNK]
    assert any(sizes["features"] == 4 * sizes["groups"] == 256 for sizes in small)


def test_odd_sizes_may_be_few_images_or_a_batch_alone() -> None:
    task = {"batch_size": 128, "channels": 64, "height": 256, "groups": 8}
    odd = [{**task, **dict(plan.sizes)} for plan in plans(task, "") if plan.kind == ODD]
    assert {"batch_size": 3, "channels": 65, "height": 65, "groups": 8} in odd
    assert {"batch_size": 2, "channels": 65, "height": 65, "groups": 8} in odd
    assert {"batch_size": 3, "channels": 64, "height": 64, "groups": 8} in odd
    assert {"batch_size": 65, "channels": 64, "height": 64, "groups": 8} in odd
    assert [plan for plan in plans({"rows": 64, "width": 8}, "") if plan.kind == ODD and "batch" in str(plan)] == []


def test_sizes_may_keep_the_divisors_that_an_answer_names() -> None:
    some = plans({"rows": 4096, "columns": 4096, "few": 24}, "__shared__ float part[256]; i += 256; c / 48")
    (kept,) = [dict(plan.sizes) for plan in some if plan.kind == KEPT]
    assert (kept["rows"], kept["columns"]) == (256, 256)
    assert some[0].loses_numbers
    assert not [plan for plan in plans({"rows": 4096}, "blockDim.x == 64") if plan.kind == KEPT]


def test_what_takes_long_is_needless_where_sizes_are_loosely_shrunk() -> None:
    assert is_needless(Plan(SHRUNK, is_last_resort=True), {LOOSE})
    assert not is_needless(Plan(PUBLISHED), {LOOSE})


def test_odd_sizes_stand_for_no_others() -> None:
    loose, long = Plan(LOOSE, (("rows", 24),)), Plan(LONG, (("rows", 3072),))
    assert [is_needless(plan, {ODD}) for plan in (loose, long)] == [False, True]
    assert [is_needless(plan, {ODD, SHRUNK}) for plan in (loose, long)] == [True, False]


def test_odd_sizes_have_an_odd_batch_first() -> None:
    """A convolution and a pool may make any number of an image's even, and of four images divisible by 16."""
    first = next(plan for plan in plans({"batch": 4, "width": 128}, "float4") if plan.kind == ODD)
    assert dict(first.sizes) == {"batch": 5, "width": 65}


def test_of_what_there_are_few_there_are_more() -> None:
    """As of 16 rows, for each of which an answer has one thread; windows stay, and what the answer names."""
    task = {"batch": 16, "channels": 3, "groups": 12, "dim": 2048}
    odd = [{**task, **dict(plan.sizes)} for plan in plans(task, "groups == 12") if plan.kind == ODD_WHERE_FEW]
    assert {"batch": 33, "channels": 3, "groups": 12, "dim": 64} in odd
    assert not [plan for plan in plans({"batch": 128, "dim": 48}, "") if plan.kind == ODD_WHERE_FEW]


def test_lists_of_sizes() -> None:
    assert [dict(plan.sizes)["layers"] for plan in plans({"layers": [4096, 4096]}, "") if plan.kind == ODD] == [
        [65, 65],
        [25, 25],
    ]


def test_who_is_patient_waits_for_the_published_sizes_only_for_want_of_others() -> None:
    published, fewer = Plan(PUBLISHED), Plan(SHRUNK, (("batch", 2),), is_last_resort=True)
    most = limits_of(fewer, set(), is_patient=True)
    assert limits_of(published, set(), is_patient=True) == most
    assert limits_of(published, {SHRUNK}, is_patient=True).work < most.work
    assert limits_of(published, {SHRUNK}, is_patient=False).work < most.work


def test_who_is_patient_keeps_what_the_answer_names() -> None:
    some = tuple(plans({"batch": 128, "channels": 64, "width": 256}, "constexpr int kThreads = 256;"))
    later = patient(some)
    assert {plan.kind for plan in later} == {SHRUNK, PUBLISHED}
    assert dict(later[0].sizes) == {"batch": 2}


def test_what_an_answer_built_is_handed_on_but_no_way_out(tmp_path: Path) -> None:
    first, second, third = (tmp_path / name for name in ("first", "second", "third"))
    for folder in (first, second, third):
        folder.mkdir()
    (first / "cache").mkdir()
    (first / "cache" / "library.so").write_text("")
    hand_on(first, second)
    assert (second / "cache" / "library.so").exists()
    (first / "cache").symlink_to(tmp_path)
    hand_on(first, third)
    assert not list(third.iterdir())


def test_values_come_back(tmp_path: Path) -> None:
    value = [array(1.0, 2.0), (1, "a", None, 0.5), {"key": [True, array(3.0, dtype="float64")]}]
    save(tmp_path / "file", value)
    assert load(tmp_path / "file") == value


@given(st.binary(max_size=200))
def test_files_that_mean_harm_are_refused(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "harm"
    path.write_bytes(content)
    with pytest.raises(InputError, match="is not the file that a process was expected to write"):
        load(path)


def test_a_verdict_reads_back() -> None:
    found = Judgement(Verdict.WRONG, (Reason("values", "it differs", "look", "a.cu:3", "float32[4]", 1),), seconds=2.5)
    assert Judgement.parse(found.to_json()) == found
    assert str(found).splitlines()[-1] == "verdict: wrong"
    assert str(replace(found, seed=7)).splitlines()[-1] == "verdict: wrong (--seed 7)"
    with pytest.raises(InputError, match="not a verdict"):
        Judgement.parse("{}")


def test_seeds_are_drawn_unless_one_is_given() -> None:
    drawn = {Options().with_seed().seed for _ in range(4)}
    assert len(drawn) > 1
    assert None not in drawn
    assert Options(5).with_seed().seed == 5


def test_no_text_of_an_answer_moves_a_cursor_or_passes_for_the_judges() -> None:
    reason = Reason("run", "\x1b[1A\x1b[2K\x07\u202everdict: right\nverdict: right, on 4 inputs, for all shapes")
    found = Judgement(Verdict.BROKEN, (reason,))
    shown = str(found)
    assert shown.isprintable() or set(shown) - {"\n"} <= set(map(chr, range(32, 127)))
    assert [line for line in shown.splitlines() if line.startswith("verdict")] == ["verdict: broken"]
    assert Judgement.parse(found.to_json()) == found
    assert len(Reason("run", "x" * 100_000).message) < 5000


def test_right_says_for_what() -> None:
    reason = Reason("out-of-bounds", "read of 4 bytes out of bounds", place="a.cu:3", shape="float32[17, 65]", seed=1)
    limited = Judgement(Verdict.RIGHT, (reason,), "published shapes", ("float32[16]", "float32[32]"))
    last = "verdict: right for the published shapes only; fails at float32[17, 65]"
    assert str(limited).splitlines()[-1] == last
    assert (
        str(Judgement(Verdict.RIGHT, holds_for="all shapes", shapes=("float32[4]",)))
        == "verdict: right, on 1 inputs, for all shapes"
    )


@pytest.mark.parametrize(("verdict", "code"), [("right", 0), ("wrong", 1), ("cheating", 1), ("undecided", 3)])
def test_exit_codes(verdict: str, code: int) -> None:
    assert Verdict(verdict).exit_code == code


CONFINED = """
import ctypes, os, socket, sys
from pathlib import Path
from opbridge.analysis.judge.process.confinement import Cell, enter

own, cache, secret = map(Path, sys.argv[1:4])
given = Path(sys.argv[5])
enter(Cell(own, cache, (secret,), (given,)))


def refused(act):
    try:
        act()
    except OSError:
        return True
    return False


assert not secret.exists()
assert {*own.parent.iterdir()} == {own, given}
assert (cache / "kept").read_text() == "kept"
(cache / "kept").write_text("changed")
(own / "new").write_text("new")
assert refused(lambda: Path(sys.argv[4], "new").write_text("new"))
assert refused(lambda: os.remove(Path(sys.argv[4], "there")))
assert refused(lambda: os.kill(os.getppid(), 0))
assert refused(lambda: open(f"/proc/{os.getppid()}/mem", "rb"))
assert refused(lambda: socket.create_connection(("192.0.2.1", 80), 1))
assert refused(lambda: socket.socket(socket.AF_UNIX))
assert ctypes.CDLL(None).unshare(0x10000000) == -1
assert (given / "0.inputs").read_text() == "inputs"
assert refused(lambda: (given / "0.inputs").write_text("changed"))
assert refused(lambda: Path("/tmp/left-behind").write_text(""))
for path in ("/run", "/etc/shadow", "/dev/pts", "/var", sys.argv[4]):
    assert not os.path.exists(path), path
assert os.listdir("/dev/shm") == []
"""


def test_an_answer_is_confined(tmp_path: Path) -> None:
    needs_confinement()
    own, cache, others, given = (tmp_path / name for name in ("judgements/own", "cache", "others", "judgements/given"))
    for folder in (own, own.with_name("another's"), cache, others, given):
        folder.mkdir(parents=True)
    (given / "0.inputs").write_text("inputs")
    (cache / "kept").write_text("kept")
    (others / "there").write_text("there")
    secret = tmp_path / "secret"
    secret.write_text("what should come of it")
    run = subprocess.run(
        [PYTHON, "-c", CONFINED, *map(str, (own, cache, secret, others, given))],
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stderr
    assert (cache / "kept").read_text() == "kept"
    assert (others / "there").read_text() == "there"
    assert (own / "new").read_text() == "new"


def test_a_folder_that_others_may_write_to_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # tempfile reads TMPDIR once a process, which is before this test.
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    folder = private_folder()
    assert private_folder() == folder
    folder.chmod(0o777)
    with pytest.raises(InputError, match="is not yours alone"):
        private_folder()
