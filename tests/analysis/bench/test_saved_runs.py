"""Runs on disk: found by name, refused where they are something else."""

from __future__ import annotations

from pathlib import Path

import pytest
from runs import measured, run_of

from opbridge.analysis.bench.saved_runs import folder_of, history, read_run, save, saved, to_json
from opbridge.base.errors import InputError

RUN = run_of(measured(1e-6, ratio=0.5))


def test_what_was_saved_comes_back_and_stays_out_of_git(tmp_path: Path) -> None:
    folder = folder_of(tmp_path / "ops.yaml")
    save(RUN, "before", folder)
    assert saved("before", folder) == RUN
    assert (tmp_path / ".opbridge" / ".gitignore").read_text() == "*\n"


def test_history_is_in_the_order_of_time(tmp_path: Path) -> None:
    for name, date in (("b", "2026-11-20T10:00:00+00:00"), ("a", "2026-11-21T10:00:00+00:00")):
        save(run_of(measured(1e-6), date=date), name, tmp_path)
    assert list(history(tmp_path)) == ["b", "a"]
    assert history(tmp_path / "nowhere") == {}


def test_a_name_that_was_not_saved_is_said(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="save one: opbridge bench"):
        saved("before", tmp_path)
    save(RUN, "before", tmp_path)
    with pytest.raises(InputError, match="did you mean 'before'"):
        saved("befor", tmp_path)
    save(RUN, "after", tmp_path)
    with pytest.raises(InputError, match="there are after, before"):
        saved("x", tmp_path)


@pytest.mark.parametrize("name", ["", "../before", "a b", ".hidden", "a/b"])
def test_a_name_is_no_path(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match="cannot name a run"):
        save(RUN, name, tmp_path)


OTHERS = ["", "[]", "{}", '{"format": 1}', '{"format": 99}', to_json(RUN).replace('"median"', '"middle"')]


@pytest.mark.parametrize("text", OTHERS)
def test_what_is_no_run_is_refused_with_its_file(text: str, tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text(text)
    with pytest.raises(InputError, match=r"run\.json is not a run of this version"):
        read_run(tmp_path / "run.json")
