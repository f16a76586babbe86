"""docs/rules.md says only what is true."""

from __future__ import annotations

import doctest
from pathlib import Path


def test_every_example_of_the_documentation_runs() -> None:
    page = Path(__file__).parents[2] / "docs" / "rules.md"
    outcome = doctest.testfile(str(page), module_relative=False)
    assert outcome.attempted > 15
    assert outcome.failed == 0
