"""`make quick` chooses the tests that mirror what changed, nearest first."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def quick() -> ModuleType:
    spec = importlib.util.spec_from_file_location("quick", ROOT / "tools" / "quick.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_file_of_the_same_name_comes_first_and_then_its_folder(quick: ModuleType) -> None:
    chosen = [str(path) for path in quick.tests_of([Path("src/opbridge/build/toolchains/nvcc.py")])]
    assert chosen[:2] == ["tests/test_architecture.py", "tests/build/toolchains/test_nvcc.py"]
    assert "tests/build/toolchains/test_host.py" in chosen
    assert len(chosen) == len(set(chosen))


def test_those_that_name_a_module_follow(quick: ModuleType) -> None:
    assert Path("tests/native/test_contracts.py") in quick.tests_of([Path("src/opbridge/native/contracts.py")])


def test_a_changed_test_and_a_changed_page_are_run(quick: ModuleType) -> None:
    chosen = quick.tests_of([Path("tests/waist/test_op.py"), Path("docs/cuda.md")])
    assert chosen == [Path("tests/test_architecture.py"), Path("tests/waist/test_op.py"), Path("tests/test_docs.py")]
