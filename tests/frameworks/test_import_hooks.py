"""Something runs once a module is imported, whoever imports it."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from opbridge.frameworks.import_hooks import when_imported


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A module that can be imported, and is not yet."""
    (tmp_path / "imported_later.py").write_text("value = 1\n")
    monkeypatch.syspath_prepend(tmp_path)
    finders = list(sys.meta_path)
    yield "imported_later"
    sys.modules.pop("imported_later", None)
    sys.meta_path[:] = finders


def test_behind_the_import_and_in_order(module: str) -> None:
    seen: list[tuple[str, int]] = []
    for name in "ab":
        when_imported(module, lambda name=name: seen.append((name, sys.modules[module].value)))  # type: ignore[misc]
    assert seen == []
    importlib.import_module(module)
    assert seen == [("a", 1), ("b", 1)]
    importlib.import_module(module)
    assert len(seen) == 2


def test_to_look_for_it_is_not_to_import_it(module: str) -> None:
    seen: list[str] = []
    when_imported(module, lambda: seen.append("imported"))
    assert importlib.util.find_spec(module) is not None
    assert importlib.util.find_spec(module) is not None
    assert seen == []
    importlib.import_module(module)
    importlib.reload(sys.modules[module])
    assert seen == ["imported"]


def test_an_import_that_fails_is_waited_for_again(module: str, tmp_path: Path) -> None:
    (tmp_path / "imported_later.py").write_text("raise ValueError('not yet')\n")
    seen: list[str] = []
    when_imported(module, lambda: seen.append("imported"))
    with pytest.raises(ValueError, match="not yet"):
        importlib.import_module(module)
    assert seen == []
    # Longer, so that what Python compiled before is not taken for it.
    (tmp_path / "imported_later.py").write_text("value = 'this time it is whole'\n")
    importlib.import_module(module)
    assert seen == ["imported"]


def test_at_once_where_it_is_imported_already(module: str) -> None:
    importlib.import_module(module)
    seen: list[str] = []
    when_imported(module, lambda: seen.append("now"))
    assert seen == ["now"]


def test_nothing_stays_behind_in_the_machinery_of_imports(module: str) -> None:
    before = list(sys.meta_path)
    when_imported(module, lambda: None)
    importlib.import_module(module)
    assert sys.meta_path == before


def test_a_module_that_is_not_there_is_missed_as_ever(module: str) -> None:
    when_imported("no_such_module_anywhere", lambda: None)
    with pytest.raises(ModuleNotFoundError, match="No module named 'no_such_module_anywhere'"):
        importlib.import_module("no_such_module_anywhere")
