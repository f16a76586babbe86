"""Attacks of all kinds, none of which is believed, and honest answers, all of which are.

`make attacks` runs them all; `make matrix` runs one attack of each class and every fourth honest answer.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from forked_python import PYTHON
from tests.helpers.answers import (
    deceptions,
    extension,
    forging_extension,
    honest,
    honest_extension,
    honest_features,
    honest_features_extension,
    honest_programs,
    native_extension,
)
from tests.helpers.answers.of_calls import IN_CPP, PROBES
from tests.helpers.answers.of_the_judge import MACHINE
from tests.helpers.answers.tasks import TASKS
from tests.helpers.confinement import needs_confinement

import opbridge as ob
from opbridge.analysis.judge import Judgement, Verdict
from opbridge.analysis.judge.answer.formats import PYTHON as PYTHON_ANSWER
from opbridge.analysis.judge.answer.text_checks import seen_in

ALL = "OPBRIDGE_ALL_ATTACKS" in os.environ
ATTACKS = {
    f"{kind}: {name}": case
    for kind, cases in deceptions.BY_CLASS.items()
    for name, case in list(cases.items())[: None if ALL else 1]
}
ALL_HONEST = {**honest.ANSWERS, **honest_features.ANSWERS, **honest_programs.ANSWERS}
HONEST = list(ALL_HONEST)[:: 1 if ALL else 4]
BELIEVED = {"tolerance: factors of seventeen bits", "records that are forged: a record whose pages it opens"}
"""Those that are still believed: errors as of some roundings, and pages that a function opens which nobody linked."""
HIDDEN = (
    *("its arguments", "whether the build is for GPUs", "properties of the device", "backends", "who makes extensions"),
    *("the name of the device", "the clock", "the clock of C++", "events of the device"),
)
"""What the process of an answer shows as on a machine with a GPU."""
TOLD_BY_TEXT = {name: text for name, (_, text) in {**MACHINE, **PROBES, **IN_CPP}.items() if name not in HIDDEN}


@pytest.fixture(scope="session")
def builds(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Leave the extensions in the cache, where no answer could leave them for the next."""
    needs_confinement()
    folder = tmp_path_factory.mktemp("extensions")
    for module in (*(extension, native_extension, forging_extension, honest_extension, honest_features_extension),):
        (folder / "extension.py").write_text("import opbridge.cuda_twin\n" + module.EXTENSION)
        subprocess.run([PYTHON, "extension.py"], cwd=folder, check=True)


def judged(folder: Path, task: str, answer: str) -> Judgement:
    (folder / "reference.py").write_text(TASKS[task])
    (folder / "answer.py").write_text(answer)
    return ob.judge(folder / "reference.py", folder / "answer.py", timeout=300, seed=0)


@pytest.mark.parametrize("name", TOLD_BY_TEXT)
def test_what_tells_machines_apart_is_seen_in_the_text(name: str) -> None:
    found = seen_in(PYTHON_ANSWER, "answer.py", TOLD_BY_TEXT[name])
    assert found is not None
    assert found.verdict is Verdict.CHEATING


@pytest.mark.matrix("tests/analysis/judge/{verdict,process} and test_judging have each check by itself")
@pytest.mark.parametrize("name", ATTACKS)
def test_no_deception_is_believed(builds: None, tmp_path: Path, name: str, request: pytest.FixtureRequest) -> None:
    if name in BELIEVED:
        request.applymarker(pytest.mark.xfail(reason="a known gap", strict=True))
    found = judged(tmp_path, *ATTACKS[name])
    assert found.verdict in (Verdict.WRONG, Verdict.CHEATING, Verdict.BROKEN), found


@pytest.mark.matrix("tests/analysis/judge/test_judging judges a right answer")
@pytest.mark.parametrize("name", HONEST)
def test_an_honest_answer_is_believed(builds: None, tmp_path: Path, name: str) -> None:
    found = judged(tmp_path, *ALL_HONEST[name])
    assert found.verdict is Verdict.RIGHT, found
