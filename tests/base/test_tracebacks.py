"""A notebook and pytest show of an error the user's own lines, then what is wrong."""

from __future__ import annotations

import re
import traceback
from collections.abc import Callable
from pathlib import Path

import pytest

import opbridge as ob
from opbridge.base import errors
from opbridge.base.errors import OpbridgeError, UnsupportedError
from opbridge.base.tracebacks import users_part

BROKEN = "#include <opbridge/kernel.h>\n\nvoid f(ob::In<float> x, ob::Out<float> o) { o[0] = xx[0]; }\nOB_KERNEL(f)\n"


def compiles_what_is_broken(folder: Path) -> object:
    return ob.inline(BROKEN, schema="tracebacks::f(Tensor x) -> Tensor", out="x")


def loads_a_wrong_manifest(folder: Path) -> object:
    (folder / "ops.yaml").write_text("namespace: tracebacks\nops:\n  - {func: f(Tensr x) -> Tensor, kernels: {}}\n")
    return ob.load(folder / "ops.yaml")


def loads_broken_files(folder: Path) -> object:
    operators = []
    for name in ("a", "b"):
        (folder / f"{name}.cpp").write_text(BROKEN)
        operators.append(f"  - {{func: {name}(Tensor x) -> Tensor, out: x, kernels: {{cpu: {name}.cpp}}}}\n")
    (folder / "ops.yaml").write_text("namespace: tracebacks\nops:\n" + "".join(operators))
    return ob.load(folder / "ops.yaml")


def calls_with_too_little(folder: Path) -> object:
    return ob.load(folder / "nothing.cpp")


MISTAKES = [compiles_what_is_broken, loads_a_wrong_manifest, loads_broken_files, calls_with_too_little]
Mistake = Callable[[Path], object]
COLOUR = re.compile(r"\033\[[\d;]*m")


@pytest.mark.parametrize("mistake", MISTAKES)
def test_only_the_users_frames_are_left(mistake: Mistake, tmp_path: Path) -> None:
    with pytest.raises(OpbridgeError) as failure:
        mistake(tmp_path)
    entry = Path(errors.__file__).name
    shown = traceback.extract_tb(users_part(failure.tb))
    here = test_only_the_users_frames_are_left.__name__
    plain = [Path(frame.filename).name for frame in traceback.extract_tb(failure.tb)]
    assert plain == [Path(__file__).name, Path(__file__).name, entry]
    assert [frame.name for frame in shown] == [here, mistake.__name__]
    assert [entry.frame.code.name for entry in failure.traceback.filter(failure)] == [here, mistake.__name__]


def test_all_frames_are_shown_on_request(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("OPBRIDGE_TRACEBACK", "full")
    with pytest.raises(OpbridgeError) as failure:
        loads_a_wrong_manifest(tmp_path)
    assert len(traceback.extract_tb(failure.tb)) > 4


class BrokenPath:
    def __fspath__(self) -> str:
        raise UnsupportedError("a user's own code")


def test_what_opbridge_calls_of_the_users_is_shown() -> None:
    with pytest.raises(UnsupportedError) as failure:
        ob.load(BrokenPath())
    shown = [frame.name for frame in traceback.extract_tb(users_part(failure.tb))]
    assert shown == [test_what_opbridge_calls_of_the_users_is_shown.__name__, "__fspath__"]


def test_an_error_that_is_not_opbridges_keeps_its_frames() -> None:
    with pytest.raises(AttributeError) as failure:
        ob.Op.nothing  # noqa: B018
    assert len(failure.traceback.filter(failure)) == len(failure.traceback)


def test_a_text_is_called_by_its_name_and_not_by_its_place_in_the_cache(tmp_path: Path) -> None:
    with pytest.raises(OpbridgeError, match=r"^f\.cpp:3:52: error: .xx. was not declared"):
        compiles_what_is_broken(tmp_path)


def test_a_notebook_shows_the_cell_and_the_message() -> None:
    shell_of = pytest.importorskip("IPython.core.interactiveshell", reason="pip install ipython").InteractiveShell
    shell = shell_of.instance()
    shown: list[str] = []
    shell._showtraceback = lambda kind, value, lines: shown.extend(COLOUR.sub("", "\n".join(lines)).splitlines())
    shell.run_cell(f"import opbridge as ob\nob.inline({BROKEN!r}, schema='tracebacks::f(Tensor x) -> Tensor', out='x')")
    cell, message = (
        next(i for i, line in enumerate(shown) if part in line) for part in ("Cell", "BuildError: f.cpp:3:52")
    )
    assert cell < message < cell + 6
    assert not any("src/opbridge" in line for line in shown[:message])
