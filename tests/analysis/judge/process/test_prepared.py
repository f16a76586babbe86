"""Which judgements share the processes that are prepared for them; none of them starts here."""

from __future__ import annotations

import os

import pytest

from opbridge.analysis.judge.process.prepared import _Shared


def test_judgements_share_what_is_prepared() -> None:
    shared = _Shared()
    with shared.used() as one, shared.used() as other:
        assert one is other
    with shared.used() as later:
        assert later is one


def test_another_environment_has_processes_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    shared = _Shared()
    with shared.used() as one:
        monkeypatch.setenv("OPBRIDGE_TWIN_TIMEOUT", "3")
        with shared.used() as other:
            assert other is not one
    with shared.used() as later:
        assert later is not one
        monkeypatch.setenv("PWD", os.sep)
        with shared.used() as same:
            assert same is later


def test_what_failed_is_prepared_again() -> None:
    shared = _Shared()
    with pytest.raises(OSError, match="no memory"), shared.used() as one:
        raise OSError("no memory")
    with shared.used() as later:
        assert later is not one
