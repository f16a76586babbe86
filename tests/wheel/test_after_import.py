"""Actions that wait for somebody else's import."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from opbridge.wheel.after_import import run_after_import

NAME = "opbridge_test_late_module"


@pytest.fixture
def late(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A module that can be imported, and is not yet."""
    (tmp_path / f"{NAME}.py").write_text("value = 1\n")
    monkeypatch.syspath_prepend(tmp_path)
    yield NAME
    sys.modules.pop(NAME, None)


def test_actions_run_in_order_once_the_module_is_whole(late: str) -> None:
    seen: list[str] = []
    run_after_import(late, lambda: seen.append(f"first {sys.modules[late].value}"))
    run_after_import(late, lambda: seen.append("second"))
    # Looking for a module does not import it, and must not use the actions up.
    assert importlib.util.find_spec(late) is not None
    assert seen == []
    importlib.import_module(late)
    assert seen == ["first 1", "second"]
    importlib.reload(sys.modules[late])
    assert seen == ["first 1", "second"]


def test_a_module_that_is_not_there_is_missed_as_ever() -> None:
    run_after_import("opbridge_test_no_such_module", lambda: None)
    with pytest.raises(ModuleNotFoundError, match="No module named 'opbridge_test_no_such_module'"):
        importlib.import_module("opbridge_test_no_such_module")
