"""A backend on PrivateUse1 with 43 operators of all kinds: generated, built by its own setup.py and used."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest
from forked_python import PYTHON

pytestmark = pytest.mark.matrix("tests/codegen/test_eject.py and test_gradients.py build and run generated packages")

SAMPLE = Path(__file__).parent / "data" / "sample"
SCRIPTS = ("use.py", "use_launched.py")
CHECKS = [
    (script, check)
    for script in SCRIPTS
    for check in re.findall(r"^def (\w+)\(\) -> None:", (SAMPLE / script).read_text(), re.MULTILINE)
]


@pytest.fixture(scope="module")
def passed(sample_package: Path) -> dict[str, list[str]]:
    """The checks of each script that went well, up to the first that did not; its error is in the test's output."""
    python = sample_package / "python"
    found = {}
    for script in SCRIPTS:
        command = [PYTHON, "-W", "error", SAMPLE / script, python / "_sample.so", python]
        found[script] = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False).stdout.split()
    return found


@pytest.mark.parametrize(("script", "check"), CHECKS)
def test_the_backend_does_what_pytorch_does(script: str, check: str, passed: dict[str, list[str]]) -> None:
    assert check in passed[script]


def test_it_has_operators_enough_to_speak_of(sample_sources: Mapping[str, str]) -> None:
    registered = re.findall(r"m\.impl\(\"(\S+)\"", sample_sources["RegisterPrivateUse1.cpp"])
    assert len(registered) >= 40


def test_its_own_tests_pass(sample_package: Path, tmp_path: Path) -> None:
    command = [PYTHON, "-m", "pytest", "-q", "-p", "no:cacheprovider", sample_package / "tests"]
    settings = {"PYTHONPATH": str(sample_package / "python"), "PYTHONDONTWRITEBYTECODE": "1"}
    subprocess.run(command, cwd=tmp_path, env={**os.environ, **settings}, check=True)


def test_nothing_of_opbridge_is_needed(sample_sources: Mapping[str, str]) -> None:
    for text in sample_sources.values():
        assert not re.search(r"#include.*opbridge|import opbridge", text)
