"""A backend on PrivateUse1: generated, compiled and used."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

SAMPLE = Path(__file__).parent / "data" / "sample"
CHECKS = re.findall(r"^def (\w+)\(\) -> None:", (SAMPLE / "use.py").read_text(), re.MULTILINE)


@pytest.fixture(scope="module")
def passed(
    sample_sources: Mapping[str, str],
    build_backend: Callable[[Mapping[str, str]], Path],
    tmp_path_factory: pytest.TempPathFactory,
) -> list[str]:
    """The checks of use.py that went well, up to the first that did not; its error is in the test's output."""
    cpp = {name: text for name, text in sample_sources.items() if not name.startswith("python/")}
    library = build_backend({**cpp, "kernels.cpp": (SAMPLE / "kernels.cpp").read_text()})
    folder = tmp_path_factory.mktemp("python")
    (folder / "sample_ops.py").write_text(sample_sources["python/sample_ops/__init__.py"])
    command = [sys.executable, "-W", "error", SAMPLE / "use.py", library, folder]
    run = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    return run.stdout.split()


@pytest.mark.parametrize("check", CHECKS)
def test_the_backend_does_what_pytorch_does(check: str, passed: list[str]) -> None:
    assert check in passed


def test_no_name_of_opbridge_is_needed_to_build(sample_sources: Mapping[str, str]) -> None:
    for text in sample_sources.values():
        assert not re.search(r"#include.*opbridge", text)
