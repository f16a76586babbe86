"""Commands notice before their work that its results cannot be written where -o says."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from opbridge.cli import COMMANDS, main, parser_of
from opbridge.cli.output_paths import require_writable_folder

WORK: dict[str, list[str]] = {
    "build": ["nowhere.yaml"],
    "wheel": ["nowhere.yaml"],
    "convert": ["nowhere:Net", "--input", "2,3"],
    "scan": ["nowhere:Net", "--input", "2,3"],
    "codegen": ["nowhere.yaml"],
    "twin op": ["nowhere"],
}
"""What cannot be done: whoever began with it would speak of that."""
PLACES = {
    "taken": "cannot write to taken: {here}/taken is a file",
    "taken/lib": "cannot write to taken/lib: {here}/taken is a file",
    "link/lib": "cannot write to link/lib: {here}/link is a link to a place that is not there",
    "pipe": "cannot write to pipe: {here}/pipe is not a folder",
    "/proc/nowhere/lib": "cannot write to /proc/nowhere/lib: ",
    "x" * 300: f"cannot write to {'x' * 300}: File name too long",
}


def writing_commands() -> Iterator[str]:
    """Every command whose -o names a folder."""
    for name in COMMANDS:
        yield from (" ".join([name, *more]) for more, parser in _parsers(parser_of(name)) if _takes_a_folder(parser))


def _parsers(parser: argparse.ArgumentParser) -> Iterator[tuple[list[str], argparse.ArgumentParser]]:
    yield [], parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            yield from (([name], parser) for name, parser in action.choices.items())


def _takes_a_folder(parser: argparse.ArgumentParser) -> bool:
    return any("-o" in action.option_strings and action.metavar == "DIR" for action in parser._actions)


def test_these_are_all_commands_that_write_a_folder() -> None:
    assert {*writing_commands()} == WORK.keys()


@pytest.mark.parametrize("command", WORK)
def test_before_its_work(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "taken").write_text("mine")
    (tmp_path / "link").symlink_to("nowhere")
    os.mkfifo(tmp_path / "pipe")
    before = sorted(tmp_path.iterdir())
    for place, said in PLACES.items():
        assert main([*command.split(), *WORK[command], "-o", place]) == 2
        out, err = capsys.readouterr()
        assert out == ""
        assert err.startswith(f"error: {said.format(here=tmp_path)}")
        assert err.endswith("name a folder that you may write to\n")
    assert sorted(tmp_path.iterdir()) == before


def test_what_can_be_written_is_left_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    require_writable_folder(tmp_path / "there", tmp_path / "new" / "lib", None)
    assert [path.name for path in tmp_path.iterdir()] == ["there"]
    assert not [*(tmp_path / "there").iterdir()]
