"""The support pages have the table that tools/support_table.py makes, and the tests that it names exist."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def support() -> Any:
    spec = importlib.util.spec_from_file_location("support_table", ROOT / "tools" / "support_table.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look themselves up
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("language", ["en", "zh"])
def test_both_pages_have_the_table_of_today(support: Any, language: str) -> None:
    page = support.PAGES[language].read_text(encoding="utf-8")
    assert support.table(language) in page, "run python tools/support_table.py"


def test_what_is_called_tested_has_tests(support: Any) -> None:
    for row in support.ROWS:
        assert len(row.cells) == len(support.COLUMNS), row.en
        for cell in row.cells:
            assert bool(cell.tests) is ("tested" in cell.en or "not yet run" in cell.en), (row.en, cell)
            assert (ROOT / "tests" / cell.tests).exists(), cell.tests
