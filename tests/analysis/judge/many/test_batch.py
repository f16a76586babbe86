"""Folders of answers; those here are told without being run."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import attacks
import pytest

from opbridge.analysis.judge.answer.submissions import Options, Submission
from opbridge.analysis.judge.many.batch import Judged, answers_in, judge_all
from opbridge.analysis.judge.many.runners import Here
from opbridge.base.errors import InputError
from opbridge.cli import main

ONE, OTHER = list(attacks.SEEN_IN_THE_TEXT.values())[:2]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    task = tmp_path / "relu"
    task.mkdir()
    (task / "reference.py").write_text(attacks.TASK)
    (task / "one.py").write_text(ONE)
    (task / "same.py").write_text(ONE)
    (task / "other.py").write_text(OTHER)
    return tmp_path


def run(folder: Path, options: Options | None = None) -> dict[str, Judged]:
    told: list[Judged] = []
    done = judge_all(folder, Here(2), options or Options(), on_judged=told.append)
    assert sorted(told, key=lambda judged: judged.answer) == done
    return {judged.answer.stem: judged for judged in done}


def test_each_text_is_judged_once(folder: Path) -> None:
    found = run(folder)
    assert sorted(found) == ["one", "other", "same"]
    assert [found["one"].was_kept, found["same"].was_kept, found["other"].was_kept] == [False, True, False]
    assert len(list((folder / "verdicts").iterdir())) == 2


def test_who_was_stopped_goes_on(folder: Path) -> None:
    run(folder)
    (folder / "relu" / "new.py").write_text(OTHER + "\n")
    found = run(folder)
    assert {name for name, judged in found.items() if not judged.was_kept} == {"new"}


def test_places_are_of_each_file(folder: Path) -> None:
    for _ in range(2):
        found = run(folder)
        assert [found[name].judgement.reasons[0].place.split(":")[0] for name in ("one", "same")] == [
            "one.py",
            "same.py",
        ]


def test_what_may_change_a_verdict_is_judged_again(folder: Path) -> None:
    run(folder)
    assert not run(folder, Options(seed=1))["one"].was_kept
    assert not run(folder, Options(timeout=30))["one"].was_kept
    assert run(folder, Options())["one"].was_kept


def test_sizes_in_a_file_of_their_own_are_part_of_the_task(folder: Path) -> None:
    task, answer = folder / "relu" / "reference.py", folder / "relu" / "one.py"
    keys = {Submission.read(task, answer, Options()).key}
    task.with_suffix(".json").write_text("{}")
    keys.add(Submission.read(task, answer, Options()).key)
    assert len(keys) == 2


def test_an_answer_in_another_language_is_another(folder: Path) -> None:
    task = folder / "relu" / "reference.py"
    (folder / "relu" / "one.cu").write_text(ONE)
    keys = {Submission.read(task, task.with_name(name), Options()).key for name in ("one.py", "one.cu", "same.py")}
    assert len(keys) == 2


def test_launches_in_json_are_answers_and_a_task_s_own_json_is_none(folder: Path) -> None:
    beside = folder / "relu"
    before = answers_in(folder)
    (beside / "launches.json").write_text('{"sources": [], "entry": {"model": "ModelNew.py"}}')
    for name, text in (("reference.json", '{"single_input_configs": [{}]}'), ("list.json", "[1]"), ("none.json", "{")):
        (beside / name).write_text(text)
    assert set(answers_in(folder)) - set(before) == {(beside / "reference.py", beside / "launches.json")}


def test_damage_is_judged_again(folder: Path) -> None:
    before = run(folder)
    for file in (folder / "verdicts").iterdir():
        file.write_text("{")
    after = run(folder)
    assert not after["other"].was_kept
    assert after["other"].judgement.reasons == before["other"].judgement.reasons


def test_a_bad_task_is_no_verdict(folder: Path) -> None:
    (folder / "relu" / "reference.py").write_text("x = 1\n")
    assert run(folder)["one"].judgement.verdict.value == "undecided"
    assert not (folder / "verdicts").exists()


def test_the_command_shows_progress_and_writes_a_page(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = folder / "verdicts.html"
    assert main(["judge", str(folder), "--jobs", "2", "--page", str(page)]) == 1
    *lines, last, written = capsys.readouterr().out.splitlines()
    assert len(lines) == 3
    assert lines[2].startswith("3/3  relu/")
    assert last == "3 cheating"
    assert written.startswith(f"{page}: 3 answers, ")
    assert "0 of 3 answers are right" in page.read_text()


def test_the_command_prints_lines_of_json(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "relu" / "language.hip").write_text("#include <hip/hip_runtime.h>")
    assert main(["judge", str(folder), "--json"]) == 3
    found = {line["answer"]: line for line in map(json.loads, capsys.readouterr().out.splitlines())}
    assert sorted(found) == ["relu/language.hip", "relu/one.py", "relu/other.py", "relu/same.py"]
    assert found["relu/one.py"]["verdict"] == "cheating"
    assert found["relu/one.py"]["held"] == {"shapes": [], "published": "not run"}
    assert found["relu/language.hip"]["reasons"][0]["check"] == "language"


def test_who_stops_the_command_is_told_how_to_go_on(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def stops(self: Here, cases: object) -> Iterator[object]:
        raise KeyboardInterrupt
        yield

    run(folder)
    (folder / "relu" / "new.py").write_text(OTHER + "\n")
    monkeypatch.setattr(Here, "judged", stops)
    assert main(["judge", str(folder)]) == 130
    said = capsys.readouterr().err
    assert "stopped: 3 of 4 answers are judged" in said
    assert "the same command goes on" in said


def test_nothing_to_judge(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="nothing to judge"):
        run(tmp_path)
